"""Whether this tree can be released, without releasing it: ``make release-check``.

Builds what an index would get (or takes it from ``--dist``), and looks at it as a user does: versions that agree, what
is in the wheels, what twine says of them, and each extra in an environment of its own, which imports what the extra
promises. Prints a table, and ends with status 1 when a row of it is wrong. It needs the registries of packages and
crates, and no other network. Never: uploads anything.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / "packaging" / "tools"
VERSION = (ROOT / "Cargo.toml", "workspace", "package", "version")
RELEASED = ROOT / "tests" / "fixtures" / "released"
MEGABYTE = 1 << 20
MOST_MB = {"wheel": 25, "sdist": 10}
"""Beyond these somebody should look at what is in it; an index takes 100."""

IN_THE_WHEEL = (
    r"kafkastore/_core\.abi3\.so",
    r"kafkastore/_core\.pyi",
    r"kafkastore/py\.typed",
    r"kafkastore/config/broker-configs\.tsv",
    r"kafkastore-[^/]+\.data/data/share/man/man1/kafkastore\.1",
    r"kafkastore-[^/]+\.dist-info/licenses/LICENSE",
    r"kafkastore-[^/]+\.dist-info/entry_points\.txt",
)
SPARK_JAR = r"kafkastore/spark/jars/kafkastore-spark\.jar"
"""In the wheels for Linux, whose natives it has. A wheel for macOS is looked at if there is one."""
NOT_IN_THE_WHEEL = re.compile(r"(^|/)(tests?|benches|fixtures|__pycache__)/|_simulator|\.(rs|pyc|java|env|key|pem)$")
IN_THE_SDIST = ("Cargo.lock", "LICENSE", "README.md", "pyproject.toml", "docs/man/kafkastore.1", "rust/python/lib.rs")

PROMISES = {
    "": "import kafkastore._core, kafkastore.server.broker; from kafkastore import scan, topics",
    "arrow": "import pyarrow.dataset; import kafkastore.scanning.dataset, kafkastore.scanning.parquet_files",
    "metrics": "import prometheus_client; import kafkastore.metrics.families, kafkastore.server.metrics",
    "pandas": "import pandas; import kafkastore.scanning.frames",
    "spark": "import pyspark.sql; import kafkastore.spark.map_in_arrow, kafkastore.spark.jvm",
    "sql": "import duckdb; import kafkastore.cli.sql_query, kafkastore.cli.sql_output",
    "testing": "import pytest; import kafkastore.testing.pytest_plugin",
    "tools": "import importlib.metadata as m; assert len(m.distribution('kafkastore-tools').entry_points) > 40",
}
"""What is imported in an environment with this extra."""
NOT_PROMISED = {"dev"}


class Row(NamedTuple):
    what: str
    is_right: bool
    detail: str


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command printed. Raises CalledProcessError, after its output was shown."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
        done.check_returncode()
    return done.stdout


# ---- versions
def version_of(manifest: Path, *keys: str) -> str:
    found = tomllib.loads(manifest.read_text())
    for key in keys[:-1]:
        found = found[key]
    return str(found[keys[-1]])


def versions(tag: str | None) -> Iterator[Row]:
    version = version_of(*VERSION)
    of_tools = version_of(TOOLS / "pyproject.toml", "project", "version")
    yield Row("version", True, f"{version}, of Cargo.toml; pyproject.toml takes it from there")
    yield Row("version of kafkastore-tools", of_tools == version, of_tools)
    heading = re.search(rf"^## {re.escape(version)}, (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    state = heading[1] if heading else "no heading with this version"
    has_date = re.fullmatch(r"\d{4}-\d\d-\d\d", state) is not None
    yield Row("CHANGELOG.md", has_date or (tag is None and state == "not released yet"), state)
    fixture = RELEASED / version / "directories.tar.xz"
    stands_in = RELEASED / f"{version}.dev" / "directories.tar.xz"
    is_there = fixture.exists() or (tag is None and stands_in.exists())
    yield Row("directories for later versions", is_there, str((fixture if fixture.exists() else stands_in).parent.name))
    if tag is not None:
        yield Row("tag", tag == f"v{version}", tag)


# ---- what is built
def build(dist: Path, *, with_sdist: bool, targets: list[str]) -> None:
    run("make", "--no-print-directory", "wheel", f"DIST={dist}")
    for target in targets:
        run("make", "--no-print-directory", "wheel", f"DIST={dist}", f"TARGET={target}")
    run("make", "--no-print-directory", "sdist", f"DIST={dist}")
    if with_sdist:
        with tempfile.TemporaryDirectory() as folder:
            (sdist,) = dist.glob("*.tar.gz")
            run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist)


def contents(dist: Path) -> Iterator[Row]:
    wheels, sdists = sorted(dist.glob("kafkastore-*.whl")), sorted(dist.glob("kafkastore-*.tar.gz"))
    yield Row("files for the index", bool(wheels and sdists), f"{len(wheels)} wheels, {len(sdists)} sdist")
    for wheel in wheels:
        names = zipfile.ZipFile(wheel).namelist()
        wanted = IN_THE_WHEEL if "-macosx_" in wheel.name else (*IN_THE_WHEEL, SPARK_JAR)
        missing = [one for one in wanted if not any(re.fullmatch(one, name) for name in names)]
        unwanted = [name for name in names if NOT_IN_THE_WHEEL.search(name)]
        unwanted += [name for name in names if SPARK_JAR not in wanted and re.fullmatch(SPARK_JAR, name)]
        said = [f"lacks {one}" for one in missing] + [f"has {one}" for one in unwanted[:3]]
        yield Row(f"in {wheel.name}", not said, "; ".join(said) or f"{len(names)} files")
        yield size(wheel, "wheel")
    for sdist in sdists:
        with tarfile.open(sdist) as archive:
            names = [name.partition("/")[2] for name in archive.getnames()]
        missing = [one for one in IN_THE_SDIST if one not in names]
        yield Row(f"in {sdist.name}", not missing, ", ".join(missing) or f"{len(names)} files")
        yield size(sdist, "sdist")


def size(path: Path, kind: str) -> Row:
    bytes_ = path.stat().st_size
    return Row(f"size of the {kind}", bytes_ < MOST_MB[kind] * MEGABYTE, f"{bytes_ / MEGABYTE:.1f} MiB")


def twine(dist: Path) -> Row:
    files = sorted(str(path) for path in dist.iterdir() if path.suffix in (".whl", ".gz"))
    said = run(sys.executable, "-m", "twine", "check", "--strict", *files)
    return Row("twine check --strict", "FAILED" not in said, f"{said.count('PASSED')} files passed")


# ---- each extra
def extras(dist: Path) -> Iterator[Row]:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
    unknown = known ^ (PROMISES.keys() | NOT_PROMISED) - {""}
    yield Row("extras that are tried", not unknown, ", ".join(sorted(unknown)) or ", ".join(sorted(known)))
    for extra, program in PROMISES.items():
        yield installed(dist, extra, program)


def installed(dist: Path, extra: str, program: str) -> Row:
    """A fresh environment with the wheel and this extra, from ``dist`` and the index."""
    what = f"pip install kafkastore[{extra}]" if extra else "pip install kafkastore"
    wanted = what.removeprefix("pip install ") + f"=={version_of(*VERSION)}"
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        begin = time.monotonic()
        try:
            run(python, "-m", "pip", "install", "--quiet", "--find-links", dist, wanted)
            seconds = time.monotonic() - begin
            run(python, "-c", program, cwd=Path(folder))
            run(Path(folder) / "bin" / "kafkastore", "--version", cwd=Path(folder))
            if extra == "sql":
                run(python, ROOT / "packaging" / "smoke.py", cwd=Path(folder))
            if extra == "tools":
                run(Path(folder) / "bin" / "kafka-topics", "--version", cwd=Path(folder))
        except subprocess.CalledProcessError as error:
            return Row(what, False, " ".join(map(str, error.cmd))[-100:])
        site = next((Path(folder) / "lib").glob("python*/site-packages"))
        mb = sum(path.lstat().st_size for path in site.rglob("*")) / MEGABYTE
        count = len(list(site.glob("*.dist-info")))
    return Row(what, True, f"{count} packages, {mb:.0f} MiB, {seconds:.0f} s")


# ---- all of it
def rows(options: argparse.Namespace) -> Iterator[Row]:
    yield from versions(options.tag)
    dist = options.dist
    if dist is None:
        dist = ROOT / "target" / "release-check"
        for old in dist.glob("*"):
            old.unlink()
        yield from tried("build", lambda: build(dist, with_sdist=options.sdist, targets=options.target or []))
    yield from contents(dist)
    yield twine(dist)
    yield from extras(dist)


def tried(what: str, step: Callable[[], None]) -> Iterator[Row]:
    begin = time.monotonic()
    try:
        step()
    except subprocess.CalledProcessError as error:
        yield Row(what, False, " ".join(map(str, error.cmd)))
    else:
        yield Row(what, True, f"{time.monotonic() - begin:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=Path, help="a folder with what was built already; nothing is built then")
    parser.add_argument("--sdist", action="store_true", help="build a wheel from the sdist, too")
    parser.add_argument("--target", action="append", help="a wheel for this target, too: aarch64-unknown-linux-gnu")
    parser.add_argument("--tag", help="the tag of the release: then CHANGELOG.md has its date, and its directories")
    options = parser.parse_args()
    wrong = 0
    for row in rows(options):
        wrong += not row.is_right
        print(f"{'ok   ' if row.is_right else 'WRONG'}  {row.what:<60} {row.detail}", flush=True)
    print("ready to be released" if not wrong else f"{wrong} rows are wrong: not to be released")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
