# One command each. `make help` lists them; .ci/run calls `make lint` and `make test`.
# Everything that is installed goes to .venv and to ${XDG_CACHE_HOME:-~/.cache}/kafkastore-tests, and is pinned: Python
# packages in requirements.txt (what a broker needs) and tests/requirements.txt (the Go compiler too; SPARK_VERSIONS
# below), crates in Cargo.lock, Apache Kafka in tests/peer/pom.xml, franz-go in tests/peer/go/go.mod.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
PORT ?= 9092
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH):$(HOME)/.cargo/bin
export VIRTUAL_ENV := $(CURDIR)/.venv
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME

# the newest of each that docs/spark.md promises and tests/requirements.txt has not
SPARK_VERSIONS ?= 3.5.9 4.0.5 4.1.4 4.3.0
# what needs no data source in Python
SPARK_3_TESTS := $(patsubst %,tests/spark/test_%.py,map_in_arrow options links claims versions \
  rows jvm_source stream mistakes)

RUST_SOURCES := $(shell find rust -name '*.rs') Cargo.toml Cargo.lock pyproject.toml
PYTHON_FOLDERS := python tests demo benches
TYPED_TESTS := tests/conftest.py $(addprefix tests/,history cluster peer clients wire crash interop metadata scan spark)
# kafka-python and aiokafka have no types, confluent-kafka re-exports without saying so
CLIENT_TYPES := --implicit-reexport --allow-untyped-calls --disable-error-code=import-untyped

.PHONY: help build wheel run test rust-test rust-test-build python-test client-test cluster zookeeper simulator-core \
  simulate clean-log compactions spark-versions demo bench transactions-bench bulk-load-bench attacks spark-bench \
  referee lint rust-lint python-lint python-types spark-jar test-spark-jar docs schema format cargo-bench \
  test-environment peers faults bounces damages clean compaction-bench export-kills pipeline-kills notebooks jni-fuzz \
  fuzz tls-bench

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

PYTHON_SOURCES := $(shell find python/kafkastore -name '*.py')

SPARK_JAR := python/kafkastore/spark/jars/kafkastore-spark.jar
HAS_JDK := $(shell command -v javac)
HAS_PYSPARK := $(wildcard .venv/lib/python3*/site-packages/pyspark/jars)

# where a JDK and PySpark are there already; CI tests a jar of its own
JAR_TOO := $(if $(CI),,$(if $(HAS_JDK),$(if $(HAS_PYSPARK),$(SPARK_JAR))))

build: $(BIN)/.compiled $(JAR_TOO) ## .venv with kafkastore and what a broker needs; makes .venv/bin/kafkastore

$(BIN)/.broker-requirements: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "kafkastore needs Python 3.11 or newer; set PYTHON" >&2; exit 1; }
	$(PYTHON) -m venv .venv || { $(call apt,python3-venv) && $(PYTHON) -m venv --clear .venv; }
	$(BIN)/pip install --quiet --no-deps -r requirements.txt
	touch $@

$(BIN)/.requirements: tests/requirements.txt $(BIN)/.broker-requirements
	@echo "installing what the tests need: some 1.5 GB, PySpark and Go among them"
	$(BIN)/pip install --quiet --no-deps -r tests/requirements.txt
	touch $@

$(BIN)/.built: $(BIN)/.broker-requirements $(RUST_SOURCES)
	@echo "building the broker: two minutes or so on two cores"
	PIP_QUIET=1 $(BIN)/maturin develop --release --locked
	touch $@

# bytecode at build time: a start must not compile what it imports, whatever PYTHONDONTWRITEBYTECODE says
$(BIN)/.compiled: $(BIN)/.built $(PYTHON_SOURCES)
	$(BIN)/python -m compileall -q python/kafkastore $(BIN)/../lib/python3*/site-packages/kio
	touch $@

wheel: $(if $(HAS_JDK),$(SPARK_JAR)) # with the jar for Spark where a JDK is
wheel: $(BIN)/.broker-requirements ## a wheel in ./dist, tagged with the oldest glibc that it runs on (manylinux)
	$(BIN)/maturin build --release --locked --out dist

run: build ## a broker on port 9092 (PORT=...), data in ./data (or what CONFIG=server.properties says)
	@echo "kafkastore on localhost:$(PORT). In another terminal, for instance:"
	@echo "  echo hello | kcat -b localhost:$(PORT) -t greetings -P"
	@echo "  kcat -b localhost:$(PORT) -t greetings -C -e"
	@echo "Ctrl-C stops it."
	@exec $(BIN)/kafkastore broker $(CONFIG) --override listeners=PLAINTEXT://localhost:$(PORT) \
	  $(if $(CONFIG),,--override log.dirs=$(CURDIR)/data)

# apt packages; as root, or through sudo (the second argument, when it must not ask)
apt = as=; [ "$$(id -u)" = 0 ] || as="$(or $(2),sudo)"; $$as apt-get update -qq && \
  DEBIAN_FRONTEND=noninteractive $$as apt-get install -y -qq --no-install-recommends $(1) >/dev/null

test-environment: build $(BIN)/.requirements peers

peers: $(BIN)/.requirements ## Java, Maven, kcat, Node.js, strace, ZooKeeper (apt), Kafka (Maven), franz-go, if missing
	@missing=; \
	command -v javac >/dev/null || missing="$$missing openjdk-17-jdk-headless"; \
	command -v mvn >/dev/null || missing="$$missing maven"; \
	command -v kcat >/dev/null || missing="$$missing kcat"; \
	command -v npm >/dev/null || missing="$$missing nodejs npm"; \
	command -v strace >/dev/null || missing="$$missing strace"; \
	[ -e /usr/share/java/zookeeper.jar ] || missing="$$missing libzookeeper-java"; \
	[ -z "$$missing" ] || { echo "installing$$missing"; $(call apt,$$missing); }
	@cd tests && ../$(BIN)/python -m peer.jars >/dev/null && ../$(BIN)/python -m peer.java_programs >/dev/null \
	  && ../$(BIN)/python -m peer.old_programs && ../$(BIN)/python -m peer.go_program

cluster: test-environment ## three brokers, 127.0.0.1:9092 to 9094, in ./data/cluster (STORE=sqlite: no ZooKeeper)
	@cd tests && exec ../$(BIN)/python -m cluster ../data/cluster $(or $(STORE),zookeeper)

faults: test-environment ## faults to three brokers: what was lost (RUNS=, STORE=sqlite, SCENARIOS=; needs root)
	@cd tests && ../$(BIN)/python -m cluster.faults $(if $(RUNS),--runs $(RUNS)) --store $(or $(STORE),zookeeper) \
	  $(SCENARIOS)

bounces: test-environment ## stops and kills of three brokers: what was lost or doubled (ROUNDS=, SEED=, STORE=)
	@cd tests && ../$(BIN)/python -m cluster.bounces $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(SEED),--seed $(SEED)) \
	  --store $(or $(STORE),sqlite)

damages: ## random damage to log directories: every record is served or named (DAMAGES=400, SEED=)
	@DAMAGES=$(or $(DAMAGES),400) $(if $(SEED),SEED=$(SEED)) cargo test --lib random_damage -- --nocapture

zookeeper: test-environment ## a ZooKeeper on 127.0.0.1:2181 for trials, data in ./data/zookeeper
	@echo "ZooKeeper on 127.0.0.1:2181. A metadata store in it, from Python:"
	@echo "  from kafkastore.config import BrokerConfig"
	@echo "  from kafkastore.metadata.zookeeper import ZookeeperStore"
	@echo "  from kafkastore.metadata.zookeeper_settings import read_settings"
	@echo "  store = ZookeeperStore(read_settings(BrokerConfig({'zookeeper.connect': '127.0.0.1:2181/kafkastore'}).get))"
	@echo "Ctrl-C stops it."
	@cd tests && exec ../$(BIN)/python -m peer.zookeeper ../data/zookeeper 2181

test: rust-test python-test ## everything: cargo test, pytest with every client

rust-test: ## cargo test, benches in smoke mode included
	cargo test --locked --all-targets --features jni --quiet

rust-test-build: # what rust-test compiles
	cargo test --locked --all-targets --features jni --quiet --no-run

SIMULATED := target/simulator/libkafkastore.so

# from what cargo test compiles its dependencies to; a copy, since what cargo leaves there may be a build with other
# features next time
$(SIMULATED): $(RUST_SOURCES)
	cargo rustc --locked --quiet --lib --features simulator --crate-type cdylib
	install -D target/debug/libkafkastore.so $@

simulator-core: $(SIMULATED) ## the data plane that tests/simulator drives step by step

CLEAN_LOG := target/debug/examples/clean_log

$(CLEAN_LOG): $(RUST_SOURCES) tests/interop/clean_log.rs
	cargo build --locked --quiet --features jni --example clean_log
	touch $@

clean-log: $(CLEAN_LOG) # the cleaner of one log that tests/interop runs beside Apache Kafka's

compactions: test-environment $(CLEAN_LOG) ## logs cleaned by Kafka's cleaner and ours: what differs (LOGS=600, SEED=)
	@cd tests && ../$(BIN)/python -m interop.compaction --logs $(or $(LOGS),600) $(if $(SEED),--seed $(SEED)) --shrink

# the source for Spark: classes and the library that they call, $(1), as the jar $(2); Spark's own jars are PySpark's
define spark_jar
	rm -rf $(2).d
	install -D $(1) "$(2).d/native/linux-$$(uname -m | sed s/x86_64/amd64/)/libkafkastore_jni.so"
	cp -r java/META-INF $(2).d
	javac -proc:none -nowarn --release 17 -d $(2).d -sourcepath java \
	  -cp "$$($(BIN)/python -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')/jars/*" \
	  java/io/kafkastore/spark/*.java
	jar --create --file $(2) -C $(2).d .
	rm -rf $(2).d
endef

JVM_SOURCES := $(shell find java -type f)
TEST_JNI := target/debug/examples/libkafkastore_jni.so
TEST_SPARK_JAR := target/jni/kafkastore-spark.jar

$(TEST_JNI): $(RUST_SOURCES) tests/spark/jni_library.rs
	cargo rustc --locked --quiet --features jni --example kafkastore_jni --crate-type cdylib
	touch $@

$(TEST_SPARK_JAR): $(TEST_JNI) $(JVM_SOURCES) $(BIN)/.requirements
	$(call spark_jar,$(TEST_JNI),$@)

test-spark-jar: $(TEST_SPARK_JAR) # the source for Spark as tests/spark runs it

export-kills: test-environment $(TEST_SPARK_JAR) ## exports killed at random: what was lost or doubled (KILLS=10, SEED=)
	@cd tests && ../$(BIN)/python -m spark.export_kills --kills $(or $(KILLS),10) $(if $(SEED),--seed $(SEED))

pipeline-kills: test-environment $(TEST_SPARK_JAR) ## Spark's drivers and executors killed (KILLS=10, SEED=, WORKS=)
	@cd tests && ../$(BIN)/python -m spark.pipeline_kills --kills $(or $(KILLS),10) $(if $(SEED),--seed $(SEED)) \
	  $(if $(WORKS),--works $(WORKS))

TRIPLE := $(shell uname -m)-unknown-linux-gnu
ASAN_JNI := target/asan/$(TRIPLE)/debug/examples/libkafkastore_jni.so

# Rust and the codecs' C with AddressSanitizer: the flags are of the nightly compiler, the sanitizer's library is gcc's
$(ASAN_JNI): $(RUST_SOURCES) tests/spark/jni_library.rs
	CFLAGS_$(subst -,_,$(TRIPLE))="-fsanitize=address -fno-omit-frame-pointer" RUSTC_BOOTSTRAP=1 \
	  RUSTFLAGS="-Zsanitizer=address -Zexternal-clangrt" CARGO_TARGET_DIR=target/asan cargo rustc --locked --quiet \
	  --target $(TRIPLE) --features jni --example kafkastore_jni --crate-type cdylib
	touch $@

jni-fuzz: test-environment $(TEST_SPARK_JAR) $(ASAN_JNI) ## natives fuzzed under AddressSanitizer (SECONDS=60, SEED=)
	@cd tests && ../$(BIN)/python -m spark.jni_fuzz --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED)) \
	  --library ../$(ASAN_JNI) $(FUZZ_ARGS)

FUZZ_TARGETS := $(notdir $(wildcard fuzz/corpus/*))
FUZZED = target/fuzz/corpus/$$target

fuzz: ## the targets of docs/fuzzing.md under AddressSanitizer (TARGET=, SECONDS=60); needs the nightly compiler
	@command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
	@for target in $(or $(TARGET),$(FUZZ_TARGETS)); do \
	  mkdir -p $(FUZZED); \
	  cargo +nightly fuzz run --target-dir target/fuzz $$target $(FUZZED) fuzz/corpus/$$target -- \
	    -max_total_time=$(or $(SECONDS),60) -max_len=16384 -timeout=20 -malloc_limit_mb=256; \
	done

notebooks: test-environment $(TEST_SPARK_JAR) ## runs docs/notebooks on a broker's files and keeps what they show
	@cd tests && PYTHONPATH=.. ../$(BIN)/python -m spark.notebooks

$(SPARK_JAR): $(RUST_SOURCES) $(JVM_SOURCES) $(BIN)/.requirements
	mkdir -p $(@D)
	cargo rustc --locked --quiet --profile jvm --lib --features jni --crate-type cdylib
	$(call spark_jar,target/jvm/libkafkastore.so,$@)

spark-jar: $(SPARK_JAR) ## the jar of format("kafkastore"), which a wheel takes along (needs a JDK)

simulate: build $(BIN)/.requirements $(SIMULATED) ## clusters in one process; SIMULATE_ARGS="--seeds 100000"
	@cd tests && exec ../$(BIN)/python -m simulator $(SIMULATE_ARGS)

TEST_PROGRAMS := $(SIMULATED) $(CLEAN_LOG) $(TEST_SPARK_JAR)

python-test: test-environment $(TEST_PROGRAMS) ## all of tests/, two files at a time (PYTEST_ARGS=...)
	$(BIN)/python -m pytest tests -q -p no:cacheprovider -n 2 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

client-test: test-environment $(CLEAN_LOG) ## only what a started broker serves; AGAINST=kafka: by Apache Kafka
	$(BIN)/python -m pytest tests/clients tests/wire tests/crash tests/interop tests/scan -q -p no:cacheprovider \
	  --against=$(or $(AGAINST),kafkastore) $(PYTEST_ARGS)

# PySpark and its py4j, and what it needs to be built; every other package is .venv's (the .pth file)
.venv/pyspark/%/.installed: $(BIN)/.requirements
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/pip install --quiet setuptools==80.9.0 wheel==0.45.1
	$(@D)/bin/pip install --quiet --no-build-isolation pyspark==$*
	$(@D)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >$@.folder
	own=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	  echo "import site; site.addsitedir('$$own')" >"$$(cat $@.folder)/kafkastore.pth"
	mv $@.folder $@

OTHER_SPARKS := $(SPARK_VERSIONS:%=.venv/pyspark/%/.installed)

spark-versions: test-environment $(TEST_SPARK_JAR) $(OTHER_SPARKS) ## tests/spark with other PySparks
	@failed=; for version in $(SPARK_VERSIONS); do \
	  case $$version in 3.5.*) tests="$(SPARK_3_TESTS)";; *) tests=tests/spark;; esac; \
	  echo "PySpark $$version"; \
	  KAFKASTORE=$(CURDIR)/$(BIN)/kafkastore .venv/pyspark/$$version/bin/python -m pytest $$tests -q -p no:cacheprovider \
	    $(PYTEST_ARGS) || failed="$$failed $$version"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

demo: build $(BIN)/.requirements ## the flights of 2013 through a broker and a group, Spark and DuckDB on its files
	@[ -n "$${JAVA_HOME:-}" ] || command -v java >/dev/null || { \
	  echo "installing openjdk-17-jdk-headless for Spark"; \
	  ( $(call apt,openjdk-17-jdk-headless,sudo -n) ) 2>/dev/null; } || true
	$(BIN)/python -m demo $(DEMO_ARGS)

bench: build $(BIN)/.requirements ## end to end beside Apache Kafka when Java is there; writes benches/record/<date>.md
	@! command -v java >/dev/null || ! command -v mvn >/dev/null || (cd tests && ../$(BIN)/python -m peer.jars >/dev/null)
	PYTHONPATH=tests:benches $(BIN)/python -m load $(BENCH_ARGS)

transactions-bench: test-environment ## transactional producers beside Apache Kafka (TRANSACTIONS_ARGS="--rounds 3")
	PYTHONPATH=tests:benches $(BIN)/python -m transactions $(TRANSACTIONS_ARGS)

tls-bench: test-environment ## TLS beside Apache Kafka (TLS_ARGS="--rounds 5"); TLS_MODULE=tls.rights: ACLs and quotas
	PYTHONPATH=tests:benches $(BIN)/python -m $(or $(TLS_MODULE),tls) $(TLS_ARGS)

compaction-bench: test-environment ## the log cleaner beside Apache Kafka (COMPACTION_ARGS="--records 100000000")
	PYTHONPATH=tests:benches $(BIN)/python -m compaction $(COMPACTION_ARGS)

bulk-load-bench: test-environment ## a bulk load beside the same records through producers (BULK_ARGS="--mb 2000")
	PYTHONPATH=tests:benches $(BIN)/python -m bulk_load $(BULK_ARGS)

attacks: test-environment ## dear requests and rude connections beside honest clients; ATTACKS="--attack NAME"
	PYTHONPATH=tests:benches $(BIN)/python -m attacks --kafka $(ATTACKS)

spark-bench: test-environment $(SPARK_JAR) ## Spark beside its connector; SPARK_BENCH_ARGS="--records N"
	PYTHONPATH=tests:benches $(BIN)/python benches/spark $(SPARK_BENCH_ARGS)

referee: build ## the fuller comparison of ../shared/peers/compare.sh, where that folder exists
	@[ -x ../shared/peers/compare.sh ] \
	  || { echo "../shared/peers/compare.sh is not here; make bench needs nothing else" >&2; exit 1; }
	cd ../shared/peers && KAFKASTORE=$(CURDIR)/$(BIN)/kafkastore \
	  ./compare.sh -n $(or $(ROUNDS),3) $(if $(SCENARIOS),-s $(SCENARIOS)) \
	  kafka './kafka/up.sh "$$DIR" "$$PORT" log.segment.delete.delay.ms=500' \
	  ours './kafkastore/up.sh "$$DIR" "$$PORT" log.segment.delete.delay.ms=500'

lint: rust-lint python-lint ## formats, clippy (pedantic), ruff, mypy (strict), the stub of kafkastore._core

rust-lint:
	cargo fmt --check
	cargo clippy --locked --quiet --all-targets --all-features -- -D warnings

python-lint: python-types build $(BIN)/.requirements
	$(BIN)/python -m mypy.stubtest kafkastore._core

python-types: $(BIN)/.requirements
	$(BIN)/ruff check $(PYTHON_FOLDERS)
	$(BIN)/ruff format --check --quiet $(PYTHON_FOLDERS)
	$(BIN)/mypy --strict python/kafkastore
	MYPYPATH=tests:benches $(BIN)/mypy --strict $(CLIENT_TYPES) --explicit-package-bases $(TYPED_TESTS) demo \
	  benches/load benches/attacks benches/control benches/many_topics benches/transactions benches/compaction \
	  benches/quotas benches/tls
	MYPYPATH=benches/spark:tests:benches $(BIN)/mypy --strict $(CLIENT_TYPES) --explicit-package-bases benches/spark

docs: build ## writes what pages have from programs: APIs, keys, the README's figures and tree
	PYTHONPATH=tests $(BIN)/python -m tidy.generated

schema: build $(BIN)/.requirements ## writes the types of requests and answers out of kio's dataclasses
	PYTHONPATH=tests $(BIN)/python -m tidy.request_types

format: $(BIN)/.requirements ## cargo fmt, ruff format
	cargo fmt
	$(BIN)/ruff check --fix --quiet $(PYTHON_FOLDERS)
	$(BIN)/ruff format --quiet $(PYTHON_FOLDERS)

cargo-bench: ## cargo bench; SMOKE=1 runs each once
	cargo bench --locked $(if $(SMOKE),-- --test)

clean: ## build outputs and the environment
	cargo clean --quiet
	rm -rf .venv data demo/output
