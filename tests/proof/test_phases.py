"""What ends a run of the tests with a failure although no test failed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from proof import phases
from proof.phases import Outcome, Phase, _of_cargo, _of_pytest

RESULT = "test result: ok. {} passed; {} failed; {} ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
CARGO = ("echo", RESULT.format(3, 0, 0))


def test_outcome_of_cargo_is_the_sum_over_its_programs() -> None:
    assert _of_cargo(RESULT.format(3, 0, 1) + RESULT.format(4, 2, 0), 101) == Outcome(7, 2, 1, 101)


@pytest.mark.parametrize(("variables", "status"), [({"CI": "true"}, 1), ({}, 0)])
def test_test_that_cargo_ignores_fails_the_run_in_ci(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], status: int
) -> None:
    monkeypatch.delenv("CI", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert _of_cargo(RESULT.format(3, 0, 1), 0).status == status


def test_run_of_pytest_that_left_no_report_has_failed(tmp_path: Path) -> None:
    assert _of_pytest(tmp_path / "none.xml", 0).status == 1


@pytest.mark.parametrize(("wanted", "status"), [("found", 0), ("misspelt", 1)])
def test_arguments_with_which_no_test_is_found_fail_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, status: int
) -> None:
    command = _pytest_of(tmp_path, "def test_found(): ...\n")
    other = _pytest_of(tmp_path / "other", "def test_other(): ...\n")

    def lanes(arguments: list[str]) -> list[list[Phase]]:
        of = [Phase(name, [*each, *arguments], ("x",)) for name, each in (("one", command), ("other", other))]
        return [[Phase("rust", CARGO)], of]

    monkeypatch.setattr(phases, "lanes", lanes)
    assert phases.main(["-k", wanted]) == status


def test_worker_that_dies_behind_its_last_test_fails_the_run(tmp_path: Path) -> None:
    hook = "import os\ndef pytest_sessionfinish(session):\n    hasattr(session.config, 'workerinput') and os._exit(3)\n"
    own = "from conftest_of_tests import pytest_testnodedown\n"
    command = _pytest_of(tmp_path, "def test_one(): ...\n")
    (tmp_path / "conftest.py").write_text(hook)
    command += ["-n", "1"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0, "pytest-xdist minds it itself"
    (tmp_path / "conftest_of_tests.py").symlink_to(Path(phases.TESTS) / "conftest.py")
    (tmp_path / "conftest.py").write_text(own + hook)
    environment = {"PYTHONPATH": f"{phases.TESTS}:{tmp_path}", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, check=False, capture_output=True, env=environment, text=True)
    assert done.returncode == 1, done.stdout + done.stderr


def _pytest_of(folder: Path, text: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    (folder / "test_it.py").write_text(text)
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / "test_it.py")]
