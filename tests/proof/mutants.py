"""Small bugs, one at a time, and the tests that must notice them.

    cd tests && python -m proof.mutants [NAME ...] [--target-dir DIR]

``mutant_table.py`` has the mutants. Each is put into a copy of the sources, never into the tree itself, and its tests
are run; first they are run without it, since a test that fails anyway notices nothing. All mutants of Rust are compiled
at once, and a variable of the environment says which of them a run has. A line for each mutant says ``killed`` or
``lived``; the exit status is 1 when one lived or does not fit the sources any more.

Python needs what the tests need, in the interpreter that runs this, and the compiled module in ``python/kafkastore``
or in that interpreter's environment. The mutants of Rust are built in DIR (``target`` by default).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from proof.mutant_table import MUTANTS, Mutant
from proof.phases import CARGO, CARGO_VARIABLES

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "python" / "kafkastore"
CHOSEN = "KAFKASTORE_MUTANT"
"""Which mutant a run of the Rust tests has."""

TESTS_FAILED = 1
"""pytest's exit status; others mean that it could not run them."""


def _package_of(manifest: Path) -> str:
    name: str = tomllib.loads(manifest.read_text())["package"]["name"]
    return name


APART = [
    argument
    for manifest in sorted(ROOT.glob("rust/*/Cargo.toml"))
    for argument in ("--config", f"profile.dev.package.{_package_of(manifest)}.codegen-units=255")
]
"""Of 256, so that cargo keeps these builds apart from those of the tree: it names builds by the package, not by its
folder, and would take the tests with mutants for those of the tree when these have changed."""

LIMIT_S = 300


class UnfitError(Exception):
    """A mutant that cannot be tried: its text or its tests are gone, or its tests fail without it."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m proof.mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *(one.name for one in MUTANTS)])
    parser.add_argument(
        "--target-dir", type=Path, default=ROOT / "target", help="where cargo builds the mutants of Rust"
    )
    options = parser.parse_args(arguments)
    wanted = [one for one in MUTANTS if not options.names or one.name in options.names]
    of_rust = [one for one in wanted if one.is_rust]
    of_python = [one for one in wanted if not one.is_rust]
    lived = 0
    for mutants, world in ((of_python, _Python), (of_rust, lambda: _Rust(of_rust, options.target_dir))):
        if mutants:
            lived += _try_all(mutants, world())
    print(f"{len(wanted)} mutants, {lived} of which lived or do not fit")
    return 1 if lived else 0


def _try_all(mutants: Sequence[Mutant], world: _Python | _Rust) -> int:
    """How many of them lived, or could not be tried."""
    lived = 0
    with world:
        try:
            world.check(mutants)
        except UnfitError as error:
            print(error)
            return len(mutants)
        for mutant in mutants:
            begun = time.monotonic()
            try:
                outcome = "killed" if world.kills(mutant) else "LIVED"
            except UnfitError as error:
                outcome = f"DOES NOT FIT: {error}"
            lived += outcome != "killed"
            print(f"{mutant.name}: {outcome} ({time.monotonic() - begun:.1f} s; {mutant.why})", flush=True)
    return lived


def mutated(mutant: Mutant, text: str, replacement: str) -> str:
    """``text``, a source file's content, with the mutant's replacement. Raises UnfitError."""
    count = text.count(mutant.text)
    if count != 1:
        raise UnfitError(f"{mutant.file} has its text {count} times")
    return text.replace(mutant.text, replacement)


class _Python:
    """A copy of the package, in which one file at a time is changed."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="kafkastore-mutants-")
        self._package = Path(self._folder.name) / "kafkastore"
        self._changes = 0

    def __enter__(self) -> Self:
        shutil.copytree(PACKAGE, self._package, ignore=shutil.ignore_patterns("_core*.so", "jars"))
        compiled = next(PACKAGE.glob("_core*.so"), None) or _installed_core()
        (self._package / compiled.name).symlink_to(compiled)
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def check(self, mutants: Sequence[Mutant]) -> None:
        tests = list(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
        status, output = self._run(tests)
        if status != 0:
            raise UnfitError(f"the tests fail without any mutant:\n{output}")

    def kills(self, mutant: Mutant) -> bool:
        path = self._package / Path(mutant.file).relative_to("python/kafkastore")
        whole = path.read_text()
        self._write(path, mutated(mutant, whole, mutant.replacement))
        try:
            status, output = self._run(mutant.tests)
        finally:
            self._write(path, whole)
        if status not in (0, TESTS_FAILED):
            raise UnfitError(f"pytest ended with {status}:\n{output}")
        return status == TESTS_FAILED

    def _write(self, path: Path, text: str) -> None:
        """The time of the file is a new one: bytecode of another content with its length is not taken for its own."""
        path.write_text(text)
        self._changes += 1
        at = time.time() + self._changes
        os.utime(path, (at, at))

    def _run(self, tests: Sequence[str]) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly"]
        command += ["-o", f"pythonpath={self._folder.name}", *tests]
        return _run(command, {"PYTHONPATH": self._folder.name})


def _installed_core() -> Path:
    found = importlib.util.find_spec("kafkastore._core")
    assert found is not None, "kafkastore._core is not built; make build"
    assert found.origin is not None
    return Path(found.origin)


class _Rust:
    """A copy of the sources with all mutants, of which one or none is chosen when the tests run."""

    def __init__(self, mutants: Sequence[Mutant], target_dir: Path) -> None:
        self._mutants = mutants
        self._target_dir = target_dir.absolute()
        self._sources = self._target_dir / "mutants"
        """Always the same folder: cargo compiles what has changed."""
        self._programs: dict[str, str] = {}
        """The unit tests of each crate."""
        self._unfit: dict[str, UnfitError] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The copy stays for the next run."""

    def check(self, mutants: Sequence[Mutant]) -> None:
        self._copy()
        self._build()
        for mutant in mutants:
            if self._has_failure(mutant, None):
                raise UnfitError(f"{mutant.name}: its tests fail without it")

    def kills(self, mutant: Mutant) -> bool:
        if mutant.name in self._unfit:
            raise self._unfit[mutant.name]
        return self._has_failure(mutant, mutant.name)

    def _copy(self) -> None:
        files = self._contents()
        for path in sorted(self._sources.rglob("*.rs")):
            if str(path.relative_to(self._sources)) not in files:
                path.unlink()
        for name, content in files.items():
            path = self._sources / name
            if not path.exists() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def _contents(self) -> dict[str, bytes]:
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        found = {name: (ROOT / name).read_bytes() for name in names.split("\0") if (ROOT / name).is_file()}
        for mutant in self._mutants:
            choice = f'if std::env::var_os("{CHOSEN}").is_some_and(|one| one == "{mutant.name}")'
            replacement = f"{choice} {{ {mutant.replacement} }} else {{ {mutant.text} }}"
            try:
                found[mutant.file] = mutated(mutant, found[mutant.file].decode(), replacement).encode()
            except UnfitError as error:
                self._unfit[mutant.name] = error
        return found

    def _build(self) -> None:
        command = [*CARGO, *APART, "--lib", "--no-run", "--message-format=json-render-diagnostics"]
        environment = {**os.environ, **CARGO_VARIABLES, "CARGO_TARGET_DIR": str(self._target_dir)}
        done = subprocess.run(
            command, cwd=self._sources, env=environment, check=False, stdout=subprocess.PIPE, text=True
        )
        if done.returncode != 0:
            raise UnfitError("the sources with the mutants of Rust are not compiled")
        self._programs = dict(_executables(done.stdout))

    def _has_failure(self, mutant: Mutant, chosen: str | None) -> bool:
        if mutant.name in self._unfit:
            return False
        crate = mutant.tests[0].partition("::")[0]
        tests = [one.removeprefix(f"{crate}::") for one in mutant.tests]
        status, output = _run([self._programs[crate], "--exact", *tests], {CHOSEN: chosen or ""}, self._sources)
        if f"running {len(mutant.tests)} test" not in output:
            raise UnfitError(f"{mutant.name}: its tests are gone:\n{output}")
        return status != 0


def _executables(output: str) -> Iterator[tuple[str, str]]:
    """(crate, its program)"""
    for line in output.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["kind"] != ["bin"]:
            yield message["target"]["name"], message["executable"]


def _run(command: Sequence[str], more: Mapping[str, str], folder: Path = ROOT) -> tuple[int, str]:
    """The exit status and the end of the output; a run that hangs has failed."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **more},
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return TESTS_FAILED, "it hangs"
    return done.returncode, done.stdout


if __name__ == "__main__":
    sys.exit(main())
