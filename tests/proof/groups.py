"""The groups of `make proof`: what each runs in full, and which sources it answers for.

Whoever changes the sources of a group runs it in full (`make proof GROUP=cluster`) before the change is called done.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proof import seeds
from proof.mutant_table import MUTANTS
from proof.phases import CARGO, CARGO_VARIABLES, pytest_command
from proof.scope import VARIABLE

ENGINE = ("rust", "Cargo.toml", "Cargo.lock")
CONTROL = ("python/kafkastore",)
BROKER = (*ENGINE, *CONTROL)
PEERS = ("tests/peer", "tests/conftest.py")
TOPIC_NAMES = ("tests/crash/test_topic_names.py", "tests/crash/test_topic_names_of_clusters.py")

TEST_LIMIT_S = 1800
"""Of a test in full, unless its own limit is longer; a part has its limit at the test."""


@dataclass(frozen=True)
class Step:
    """A command at the project's root. A step of pytest says which folders it collects, another may say by file what
    it plays."""

    name: str
    command: Sequence[str]
    folders: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    plays: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    of: Sequence[str]
    """Paths of git that it answers for, beside the folders and files of its steps."""
    steps: Sequence[Step]
    needs_wheel: bool = False

    @property
    def sources(self) -> list[str]:
        own = [f"tests/{folder}" for step in self.steps for folder in step.folders]
        return list(dict.fromkeys([*self.of, *own, *(file for step in self.steps for file in step.plays)]))


def _pytest(*folders: str, workers: int = 2, arguments: Sequence[str] = ()) -> Step:
    variables = {VARIABLE: "whole", seeds.VARIABLE: str(seeds.drawn_seed())}
    return Step("+".join(folders), pytest_command(folders, workers, arguments), folders, variables)


def _mutants() -> Step:
    names = {"tests/proof/mutant_table.py": [one.name for one in MUTANTS]}
    return Step("mutants", [sys.executable, "-m", "proof.mutants"], environment={"PYTHONPATH": "tests"}, plays=names)


def _make(target: str, *arguments: str, is_seeded: bool = False) -> Step:
    variables = {"SEED": str(seeds.drawn_seed())} if is_seeded else {}
    return Step(f"make {target}", ["make", "--no-print-directory", target, *arguments], environment=variables)


def _cargo() -> Step:
    variables = {"PROPTEST_CASES": "1024", "DAMAGES": "400", "FUZZ_RUNS": "100000"}
    return Step("cargo test", CARGO, environment={**CARGO_VARIABLES, **variables, "FUZZ_SEED": str(seeds.drawn_seed())})


def groups() -> dict[str, Group]:
    """By name, in the order in which `make proof` runs them."""
    return {
        "rust": Group(
            (*ENGINE, "tests/data_plane", "tests/storage", "tests/wire/*.rs", "tests/fuzz", "fuzz/corpus"), [_cargo()]
        ),
        "unit": Group((*CONTROL, "demo"), [_pytest("unit", "history", "proof", "tidy")]),
        "mutants": Group((*BROKER, *PEERS, *TOPIC_NAMES, "tests/proof/mutants.py", "tests/unit"), [_mutants()]),
        "simulator": Group(BROKER, [_pytest("simulator")]),
        "parity": Group((*CONTROL, *PEERS), [_pytest("parity")]),
        "interop": Group((*BROKER, *PEERS), [_pytest("interop", "metadata")]),
        "scan": Group((*ENGINE, "python/kafkastore/scanning", *PEERS), [_pytest("scan")]),
        "spark": Group(
            (*ENGINE, *(f"python/kafkastore/{one}" for one in ("spark", "loading", "scanning")), "java", *PEERS),
            [
                _pytest("spark"),
                *(_make(target, is_seeded=True) for target in ("pipeline-kills", "export-kills", "jni-fuzz")),
            ],
        ),
        "clients": Group((*BROKER, *PEERS), [_pytest("clients", "wire", "crash", workers=3)], needs_wheel=True),
        "tools": Group((*BROKER, *PEERS), [_pytest("testing", "tools")]),
        # one file has half of it
        "cluster": Group(
            (*BROKER, *PEERS), [_pytest("cluster", workers=3, arguments=("--dist", "load"))], needs_wheel=True
        ),
        "benches": Group((*ENGINE, "benches"), [_make("cargo-bench", "SMOKE=1")]),
    }
