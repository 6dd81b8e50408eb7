"""Ruff, mypy and stubtest, all of them whatever fails: what `make python-lint` runs at the project's root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

FOLDERS = ("python", "tests", "demo", "benches", "packaging")
TYPED_TESTS = (
    "history",
    "peer",
    "clients",
    "cluster",
    "proof",
    "wire",
    "crash",
    "interop",
    "metadata",
    "scan",
    "spark",
    "testing",
)
TYPED_BENCHES = (
    "load",
    "attacks",
    "control",
    "many_topics",
    "transactions",
    "compaction",
    "quotas",
    "tls",
    "administration",
    "test_broker.py",
    "test_brokers",
)
# kafka-python and aiokafka have no types, confluent-kafka re-exports without saying so
CLIENTS = ("--implicit-reexport", "--allow-untyped-calls", "--disable-error-code=import-untyped")
TYPED = [
    "tests/conftest.py",
    *(f"tests/{folder}" for folder in TYPED_TESTS),
    "demo",
    "packaging",
    *(f"benches/{folder}" for folder in TYPED_BENCHES),
]

COMMANDS: list[tuple[str, list[str]]] = [
    ("", [str(BIN / "ruff"), "check", "--quiet", *FOLDERS]),
    ("", [str(BIN / "ruff"), "format", "--check", "--quiet", *FOLDERS]),
    ("", [str(BIN / "mypy"), "--strict", "python/kafkastore"]),
    ("tests:benches", [str(BIN / "mypy"), "--strict", *CLIENTS, "--explicit-package-bases", *TYPED]),
    (
        "benches/spark:tests:benches",
        [str(BIN / "mypy"), "--strict", *CLIENTS, "--explicit-package-bases", "benches/spark"],
    ),
    ("", [str(BIN / "python"), "-m", "mypy.stubtest", "kafkastore._core"]),
]


def main() -> int:
    failed = 0
    for path, command in COMMANDS:
        environment = {**os.environ, "MYPYPATH": path} if path else dict(os.environ)
        failed |= subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
