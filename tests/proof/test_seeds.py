"""The first seed of a run: from the commit, from chance, or given."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from proof import seeds


def commit(folder: Path, message: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", *who, "commit", "--quiet", "--allow-empty", "--no-gpg-sign", "--message", message]
    subprocess.run(command, cwd=folder, check=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without a commit, in which no variable of a surrounding git command counts."""
    monkeypatch.delenv("GIT_DIR", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    made = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", str(made)], check=True)
    return made


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_each_commit_has_a_seed_of_its_own(folder: Path) -> None:
    assert seeds.seed_of_commit(folder) == seeds.NO_COMMIT
    commit(folder, "one")
    first = seeds.seed_of_commit(folder)
    assert first == seeds.seed_of_commit(folder)
    commit(folder, "two")
    assert len({first, seeds.seed_of_commit(folder), seeds.NO_COMMIT}) == 3


def test_sources_without_git_have_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert seeds.seed_of_commit(tmp_path) == seeds.NO_COMMIT
    monkeypatch.setenv("PATH", "")
    assert seeds.seed_of_commit(tmp_path) == seeds.NO_COMMIT


def test_given_seed_is_the_first_and_a_drawn_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(seeds.VARIABLE, "17")
    assert seeds.first_seed() == 17
    monkeypatch.delenv(seeds.VARIABLE)
    drawn = iter((4, 5))
    monkeypatch.setattr(seeds, "played", lambda part, whole: lambda: next(drawn))
    assert (seeds.first_seed(), seeds.first_seed()) == (4, 4)


def test_proof_draws_another_seed_each_time() -> None:
    assert len({seeds.drawn_seed() for _ in range(4)}) > 1
