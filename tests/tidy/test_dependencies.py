"""``docs/internals/dependencies.md`` has each direct dependency and who uses it, and no lock file has a pre-release.

What ``deny.toml`` can say (licenses, sources, two versions of one crate) is not said here again.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from tidy.sources import ROOT, Source, report, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PAGE = ROOT / "docs" / "internals" / "dependencies.md"
LOCKS = (ROOT / "Cargo.lock", ROOT / "fuzz" / "Cargo.lock")
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
LOCKED = re.compile(r'^name = "(.+)"\nversion = "(.+)"\n(?:source = "(.+)")?', re.MULTILINE)


def rows(section: str) -> list[list[str]]:
    """The cells of the table under a heading."""
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    found = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return [[cells[0].strip("`"), *cells[1:]] for cells in found]


def read(manifest: Path) -> dict[str, Any]:
    return tomllib.loads(manifest.read_text())


def users() -> dict[str, str]:
    """Each crate of crates.io, and our crates that name it: ``broker, net; tests``."""
    known = read(ROOT / "Cargo.toml")["workspace"]["dependencies"]
    manifests = {path.parent.name: read(path) for path in sorted(ROOT.glob("rust/*/Cargo.toml"))}

    def of(name: str) -> str:
        product = [crate for crate, manifest in manifests.items() if name in manifest.get("dependencies", {})]
        tested = [crate for crate, manifest in manifests.items() if name in manifest.get("dev-dependencies", {})]
        parts = [", ".join(product)] if product else []
        return "; ".join([*parts, "tests"] if set(tested) - set(product) else parts)

    return {name: of(name) for name, where in known.items() if "path" not in where}


def test_crates_of_the_page_are_those_of_the_workspace_with_their_users() -> None:
    documented = rows("Crates")
    assert {name: used_by for name, used_by, _ in documented} == users()
    assert [name for name, *_ in documented] == sorted(name for name, *_ in documented)


def test_every_crate_of_the_workspace_is_used() -> None:
    assert [name for name, used_by in users().items() if not used_by] == []


def test_packages_of_the_page_are_those_that_a_broker_is_installed_with() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    required = [line.split("==")[0] for line in lines if line and not line.startswith("#")]
    assert [name for name, _ in rows("Packages")] == required


def unstable_crates(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for found in re.finditer(
            r'^name = "(.+)"\nversion = "(\d[^"]*)"\n(?:source = "(.+)")?', one.text, re.MULTILINE
        ):
            name, version, origin = found.groups()
            # what follows a plus sign is of the library that the crate wraps
            if "-" in version.split("+")[0]:
                yield f"{one.at(found.start())}: {name} {version} is a pre-release"
            if origin not in {None, CRATES_IO}:
                yield f"{one.at(found.start())}: {name} comes from {origin}, not from crates.io"


def test_locked_crates_are_stable_and_come_from_crates_io() -> None:
    sources = [source(path) for path in LOCKS]
    assert all(one.text.count("[[package]]") > 100 for one in sources)
    report(unstable_crates(sources))
