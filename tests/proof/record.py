"""The record of `make proof`, one file in the tree: for each group the commit that it ran on, the seconds, the tests,
the seeds and what failed, and the sources that it answers for.

To ``python -m proof check`` a group is wrong whose record is a failure, is of sources that no commit has, lacks a test
that the tree has, or is more than ``MOST_COMMITS`` commits of its sources behind, merges not counted; it names the
command that mends it. CI asks (``.ci/run``). Nothing else reads the record: a user's `make test` depends on no date and
no history.
"""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proof.groups import Group, groups

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("record.json")
MOST_COMMITS = 60
KEYS = {"commit", "has_changes", "passed", "failed", "skipped", "findings", "tests"}
"""Of an entry, what is looked at; ``tests`` are the names of each file's tests, with a blank between them."""


def read() -> dict[str, Any]:
    """Empty when there is none. Raises ValueError when it is not what `make proof` writes."""
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if not isinstance(found, dict) or not all(isinstance(one, dict) and one.keys() >= KEYS for one in found.values()):
        raise ValueError(f"{RECORD} is no record of make proof; restore it from git")
    return found


def write(name: str, entry: dict[str, Any]) -> None:
    RECORD.write_text(json.dumps({**read(), name: entry}, indent=1, sort_keys=True) + "\n")


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def tests_of(folder: str) -> dict[str, list[str]]:
    """The names of the tests in each file below ``tests/<folder>``, those of classes included."""
    found = {}
    for path in sorted((ROOT / "tests" / folder).rglob("test_*.py")):
        nodes = ast.walk(ast.parse(path.read_text()))
        names = {each.name for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
        found[str(path.relative_to(ROOT))] = sorted(name for name in names if name.startswith("test_"))
    return found


def tests_of_group(group: Group) -> dict[str, list[str]]:
    found = {file: names for step in group.steps for each in step.folders for file, names in tests_of(each).items()}
    return found | {file: list(names) for step in group.steps for file, names in step.plays.items()}


def is_in_history(commit: str) -> bool:
    command = ["git", "merge-base", "--is-ancestor", commit or "none", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def _problems(name: str, group: Group, entry: dict[str, Any] | None) -> Iterator[str]:
    if entry is None:
        yield "was never run"
        return
    if entry["failed"]:
        yield f"failed: {', '.join(entry['findings'])}"
    if entry["skipped"]:
        yield f"skipped {entry['skipped']} tests"
    if not entry["passed"]:
        yield "passed no test"
    if entry["has_changes"]:
        yield "ran on sources that are no commit's"
    missing = [
        f"{file}::{test}"
        for file, tests in tests_of_group(group).items()
        for test in tests
        if test not in entry["tests"].get(file, "").split()
    ]
    if missing:
        yield f"{len(missing)} tests are not in its record, {missing[0]} the first"
    if not is_in_history(entry["commit"]):
        if git("rev-parse", "--is-shallow-repository") != "true":
            yield f"ran on {entry['commit'] or 'no commit'}, which is not in this history"
        return
    behind = int(git("rev-list", "--no-merges", "--count", f"{entry['commit']}..HEAD", "--", *group.sources))
    if behind > MOST_COMMITS:
        yield f"is {behind} commits of its sources behind ({MOST_COMMITS} at the most)"


def problems() -> list[str]:
    """A sentence for each group and each thing that is wrong with its record."""
    entries = read()
    return [
        f"proof of {name} {problem}; `make proof GROUP={name}` and a commit of its record mend it"
        for name, group in groups().items()
        for problem in _problems(name, group, entries.get(name))
    ]
