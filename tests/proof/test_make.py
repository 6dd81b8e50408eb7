"""What the commands of the Makefile would do, in a tree of which nothing is built."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Makefile and links to what it reads; PySpark is installed in .venv."""
    folder = tmp_path_factory.mktemp("a tree")
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("rust", "python", "java", "tests", "benches", "demo", "fuzz", "packaging"):
        (folder / name).symlink_to(ROOT / name)
    for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml", "requirements.txt"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv" / "lib" / "python3.11" / "site-packages" / "pyspark" / "jars").mkdir(parents=True)
    return folder


def commands(tree: Path, *arguments: str) -> str:
    done = subprocess.run(["make", "-n", *arguments], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_clean_keeps_the_records_of_make_run(tree: Path) -> None:
    removed = [line for line in commands(tree, "clean").splitlines() if line.startswith("rm ")]
    made = ["_core.*.so", "spark/jars"]  # in the package
    folders = ["target", ".venv", ".venv-tests", ".venv-wheel", "dist", *(f"python/kafkastore/{one}" for one in made)]
    assert removed == ["rm -rf " + " ".join(folders)]


def test_environment_of_another_folder_is_made_anew_by_a_build_and_left_alone_by_everything_else(tree: Path) -> None:
    python = tree / ".venv" / "bin"
    python.mkdir()
    stamps = [python / name for name in (".broker-requirements", ".built", ".compiled")]
    try:
        for at, stamp in enumerate(stamps):
            stamp.touch()
            os.utime(stamp, (2**32 + at, 2**32 + at))
        (tree / ".venv" / ".folder").write_text(f"{tree}\n")
        assert "rm -rf" not in commands(tree, "build")
        (tree / ".venv" / ".folder").write_text("/another\n")
        assert all(one in commands(tree, "build") for one in ("rm -rf .venv;", "pip install", "maturin develop"))
        assert "rm -rf" not in commands(tree, "help")
        assert stamps[0].exists()
    finally:
        shutil.rmtree(python)
        (tree / ".venv" / ".folder").unlink()


def test_build_stays_in_its_folder_whatever_the_shell_has_for_others(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = ("CONDA_PREFIX", "VIRTUAL_ENV", "PIP_USER", "CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_TARGET")
    for name in ("CARGO_TARGET_DIR", *others):
        monkeypatch.setenv(name, "other")
    shown = "--eval=shown: ; @printenv " + " ".join(["CARGO_TARGET_DIR", *others]) + " || true"
    done = subprocess.run(
        ["make", "--no-print-directory", shown, "shown"], cwd=tree, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{tree}/target\n"


def test_run_with_a_file_takes_its_listeners_and_folders(tree: Path) -> None:
    data, listener = "--override log.dirs=data ", "--override listeners=PLAINTEXT://localhost:"
    assert all(one in commands(tree, "run") for one in (data, listener + "9092"))
    told = commands(tree, "run", "CONFIG=s.properties")
    assert '"s.properties"' in told
    assert "--override" not in told
    assert listener + "9192" in commands(tree, "run", "CONFIG=s.properties", "PORT=9192")


@pytest.mark.parametrize("name", ["with blank", "a,b", "$HOME", "`id`", "ä"])
def test_folder_of_any_name_is_the_one_that_is_used(tmp_path: Path, name: str) -> None:
    """Whatever CDPATH says, and though a shell reads what make writes."""
    folder, other = tmp_path / name, tmp_path / "other"
    for one in (folder, other):
        (one / "tests").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "rust").mkdir()
    (folder / "python").mkdir()
    (folder / ".venv").mkdir()
    (folder / ".venv" / ".folder").write_text(f"{folder}\n")
    shown = "shown: ; @cd tests && pwd && cd .. && $(call is_own,.venv) && echo is own"
    done = subprocess.run(
        ["make", "--silent", "--eval", shown, "shown"],
        cwd=folder, env={**os.environ, "CDPATH": str(other)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == f"{folder}/tests\nis own\n", done.stderr


@pytest.mark.parametrize(("command", "further"), [("run", ""), ("build", ""), ("wheel", "ziglang==")])
def test_broker_is_built_once_and_from_its_own_requirements(tree: Path, command: str, further: str) -> None:
    """Whatever else is installed in .venv; the jar for Spark is a command of its own."""
    lines = commands(tree, command)
    assert lines.count("maturin ") == 1
    assert "cargo " not in lines
    assert "-r requirements.txt" in lines
    assert further in lines
    assert lines.count("pip install") == 1 + bool(further)


@pytest.mark.parametrize(
    ("command", "requirements"),
    [("demo", "demo/requirements.txt"), ("bench", "benches/requirements.txt"), ("cluster", "benches/requirements.txt")],
)
def test_command_installs_what_it_needs_and_no_more(tree: Path, command: str, requirements: str) -> None:
    lines = commands(tree, command)
    assert f"-r {requirements}" in lines
    assert "tests/requirements.txt" not in lines
    assert lines.count("pip install") == 2


def test_no_target_of_cargo_is_a_library_that_the_wheel_could_be_taken_for() -> None:
    """maturin builds the library of the package, and fails where another target has such a type."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    manifest = tomllib.loads((ROOT / project["tool"]["maturin"]["manifest-path"]).read_text())
    assert manifest["lib"]["path"] == "lib.rs"
    assert not manifest.keys() & {"bin", "example", "bench", "test"}


def test_ci_compiles_the_development_build_once(tree: Path) -> None:
    lines = commands(tree, "CI=true", "lint", "test-builds")
    assert lines.count('timed.py "rust build"') == 1
    assert "cargo clippy" not in lines
