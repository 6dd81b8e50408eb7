"""The record of `make proof` is refused for each reason that it can be refused for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from proof import groups, phases, prove, record
from proof.groups import Group, Step
from proof.prove import Report

FOLDER = "x"
FILE = f"tests/{FOLDER}/test_x.py"
GROUP = Group(("src",), [Step("x", ["true"], (FOLDER,))])


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one source, one test and one commit."""
    monkeypatch.setattr(record, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    file = tmp_path / FILE
    file.parent.mkdir(parents=True)
    file.write_text("def test_one(): ...\nclass TestTwo:\n    def test_two(self): ...\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, 0)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, number: int) -> None:
    (folder / "src" / "file").write_text(str(number))
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", str(number))


def entry(**changes: Any) -> dict[str, Any]:
    tests = {FILE: "test_one test_two"}
    commit = record.git("rev-parse", "HEAD")
    counts = {"passed": 2, "failed": 0, "skipped": 0}
    return {"commit": commit, "has_changes": False, **counts, "findings": [], "tests": tests, **changes}


def problems(kept: dict[str, Any] | None) -> list[str]:
    return list(record._problems("x", GROUP, kept))


def test_whole_record_of_this_commit_is_taken(tree: Path) -> None:
    assert problems(entry()) == []


def test_group_without_record_is_named(tree: Path) -> None:
    assert problems(None) == ["was never run"]


def test_record_of_a_failure_names_what_failed(tree: Path) -> None:
    assert problems(entry(failed=1, findings=[f"{FILE}::test_one: no"])) == [f"failed: {FILE}::test_one: no"]


def test_record_of_skipped_tests_or_of_none_is_refused(tree: Path) -> None:
    assert problems(entry(skipped=2)) == ["skipped 2 tests"]
    assert problems(entry(passed=0)) == ["passed no test"]


def test_damaged_record_is_refused(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "RECORD", tree / "record.json")
    for text in ("{", "[]", '{"rust": {}}'):
        record.RECORD.write_text(text)
        with pytest.raises(ValueError, match=r"record|Expecting"):
            record.read()


def test_file_that_is_not_collected_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    case = '<testcase classname="" name="tests.proof.test_record"><error message="no name"/></testcase>'
    path.write_text(f"<testsuite>{case}</testsuite>")
    report = Report()
    report.of_pytest(path)
    (finding,) = report.findings
    assert finding == "tests/proof/test_record.py::tests.proof.test_record: no name"
    assert report.failed == 1


def test_record_of_uncommitted_sources_is_refused(tree: Path) -> None:
    assert problems(entry(has_changes=True)) == ["ran on sources that are no commit's"]


def test_record_without_a_test_of_the_tree_names_it(tree: Path) -> None:
    (problem,) = problems(entry(tests={FILE: "test_one"}))
    assert problem == f"1 tests are not in its record, {FILE}::test_two the first"


def test_record_of_a_commit_that_is_not_in_the_history_is_refused(tree: Path) -> None:
    (problem,) = problems(entry(commit="0" * 40))
    assert problem.endswith("which is not in this history")


def test_record_of_a_side_branch_or_of_no_commit_is_refused(tree: Path) -> None:
    kept = entry()
    git(tree, "checkout", "--quiet", "-b", "side")
    commit(tree, 1)
    aside = entry()
    git(tree, "checkout", "--quiet", "-")
    assert problems(kept) == []
    assert problems(aside) == [f"ran on {aside['commit']}, which is not in this history"]
    assert problems(entry(commit="")) == ["ran on no commit, which is not in this history"]


def test_what_cargo_ignores_is_skipped_and_what_a_step_plays_is_in_its_record() -> None:
    report = Report()
    report.of_program(
        Step("x", ["true"], plays={"table.py": ["one", "two"]}), "test result: 3 passed; 0 failed; 4 ignored", 0
    )
    assert (report.passed, report.failed, report.skipped, report.tests) == (3, 0, 4, {"table.py": {"one", "two"}})


def test_ci_asks_the_record() -> None:
    asked = [line for line in (phases.ROOT / ".ci" / "run").read_text().splitlines() if "-m proof check" in line]
    assert asked
    assert all("failed+=" in line for line in asked)


def test_what_failed_tests_left_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove, "LEFT", tmp_path / "left")
    monkeypatch.setattr(record, "write", lambda name, entry: None)
    write = ["python3", "-c", "import os, sys; open(f'{os.environ[\"TMPDIR\"]}/log', 'w').write('x'); sys.exit(1)"]
    group = Group((), [Step("good", ["true"]), Step("make bad", write)])
    assert not prove.prove("x", group)
    assert [str(file.relative_to(tmp_path)) for file in (tmp_path / "left").rglob("log")] == ["left/make-bad/log"]


def test_every_test_is_in_one_lane_and_in_one_group() -> None:
    lanes = [folder for lane in phases.lanes(()) for phase in lane for folder in phase.folders]
    proven = [folder for group in groups.groups().values() for step in group.steps for folder in step.folders]
    there = {path.relative_to(phases.TESTS).parts[0] for path in phases.TESTS.rglob("test_*.py")}
    assert sorted(lanes) == sorted(proven) == sorted(there)


def test_group_answers_for_what_its_steps_collect_and_play() -> None:
    assert GROUP.sources == ["src", f"tests/{FOLDER}"]
    assert "tests/proof/mutant_table.py" in groups.groups()["mutants"].sources


def test_clone_without_history_is_not_asked_how_far_behind_it_is(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = entry()
    commit(tree, 1)
    git(tree, "clone", "--quiet", "--depth=1", tree.as_uri(), "shallow")
    monkeypatch.setattr(record, "ROOT", tree / "shallow")
    assert problems(kept) == []


def test_record_counts_the_commits_of_its_sources_only(tree: Path) -> None:
    kept = entry()
    for number in range(1, record.MOST_COMMITS + 1):
        commit(tree, number)
    (tree / "other").write_text("")
    git(tree, "add", "-A")
    git(tree, "commit", "--quiet", "-m", "other")
    assert problems(kept) == []
    commit(tree, record.MOST_COMMITS + 1)
    assert problems(kept) == ["is 61 commits of its sources behind (60 at the most)"]
