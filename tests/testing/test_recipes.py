"""The files of docs/testing-recipes.md, run as the page says by the test runner of their language."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import kafkastore
from peer.cache import cache_folder
from peer.frameworks import frameworks
from peer.go_program import ENVIRONMENT, GO_SOURCES
from peer.jars import jars
from peer.java_programs import QUICK_JVM
from peer.other_programs import kafkajs_program
from testing.recipes import dependencies, recipes, run, write

IN_PYTHON = ("test_aiokafka.py", "test_faststream.py", "test_faust.py", "test_quix_streams.py")
RUN_BELOW = {"src/test/java/OrdersTest.java", "orders_test.go", "orders.test.mjs", "orders.rs", *IN_PYTHON}
RUN_BESIDE_SPARK = {"test_pyspark.py"}
"""`tests/spark/test_recipe.py` does."""
RUST_LIMIT_S = 600


def test_each_file_of_the_page_is_run() -> None:
    assert recipes().keys() == RUN_BELOW | RUN_BESIDE_SPARK


def test_junit(tmp_path: Path) -> None:
    name = "src/test/java/OrdersTest.java"
    write(tmp_path, name)
    quick = [f"-J{option}" for option in QUICK_JVM]
    run(tmp_path, ["javac", *quick, "-proc:none", "-d", "classes", "-cp", f"{jars()}/*", name])
    launcher = ["-cp", f"{jars()}/*", "org.junit.platform.console.ConsoleLauncher", "execute", "--details=summary"]
    printed = run(tmp_path, ["java", *QUICK_JVM, *launcher, "-cp", "classes", "--scan-class-path"])
    assert "[         1 tests successful      ]" in printed


def test_go(tmp_path: Path) -> None:
    """With the modules and the compiled packages of `go_program`."""
    write(tmp_path, "orders_test.go")
    for name in ("go.mod", "go.sum"):
        (tmp_path / name).write_bytes((GO_SOURCES / name).read_bytes())
    printed = run(tmp_path, ["go", "test", "-v", "-trimpath", "-vet=off", "."], ENVIRONMENT)
    assert "--- PASS: TestRecordIsRead" in printed


def test_node(tmp_path: Path) -> None:
    write(tmp_path, "orders.test.mjs")
    (tmp_path / "node_modules").symlink_to(Path(kafkajs_program()[1]).with_name("node_modules"))
    assert "# pass 1\n" in run(tmp_path, ["node", "--test"])


def test_frameworks_of_python(tmp_path: Path) -> None:
    """One run of pytest, with the plugin that is there where kafkastore is installed."""
    write(tmp_path, *IN_PYTHON)
    plugins = ["-p", "kafkastore.testing.pytest_plugin", "-p", "no:cacheprovider"]
    variables = {
        "PYTHONPATH": f"{frameworks()}:{Path(kafkastore.__file__).parents[1]}",
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    printed = run(tmp_path, [sys.executable, "-m", "pytest", "-q", *plugins, *IN_PYTHON], variables)
    assert f"{len(IN_PYTHON)} passed" in printed


@pytest.mark.proof
@pytest.mark.timeout(RUST_LIMIT_S)
def test_rust(tmp_path: Path) -> None:
    """Its client is compiled, for most of a minute."""
    write(tmp_path / "tests", "orders.rs")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").touch()
    package = '[package]\nname = "orders"\nversion = "0.1.0"\nedition = "2024"\n\n'
    (tmp_path / "Cargo.toml").write_text(package + dependencies())
    target = {"CARGO_TARGET_DIR": str(cache_folder() / "recipe-of-rust")}
    printed = run(tmp_path, ["cargo", "test", "--test", "orders"], target, RUST_LIMIT_S)
    assert "test record_is_read ... ok" in printed
