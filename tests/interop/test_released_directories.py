"""The directories of every released version are opened by the present code, with all that is in them.

``docs/formats.md`` promises it. ``fixtures/released/make.py`` is the recipe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.formats.examples import KNOWN_FILES, SHAPED, manifest, shape
from fixtures.released.directories import STATES, ReleasedBroker, expected, unpack, versions
from fixtures.released.reading import contents
from interop.checking import assert_check_finds_nothing
from interop.test_directories import assert_dump_log_accepts
from peer.java_tools import JavaTools
from tidy.sources import ROOT

TROUBLE = re.compile(r"^(?!.*loop_lag).*\b(?:WARN|WARNING|ERROR|CRITICAL)\b.*$", re.MULTILINE)
"""A busy machine is none."""


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[ReleasedBroker, dict[str, Any]]]:
    version, state = request.param
    wanted = expected(version)
    broker = ReleasedBroker(tmp_path, wanted["settings"], unpack(version, state, tmp_path))
    with broker.running():
        yield broker, wanted


def assert_files_are_known(log_dir: Path) -> None:
    """Each file that today's broker has left has a row in docs/formats.md, and the form that belongs to its number."""
    names = sorted(str(path.relative_to(log_dir)) for path in log_dir.rglob("*") if path.is_file())
    unknown = [name for name in names if not KNOWN_FILES.fullmatch(name)]
    assert unknown == [], "a new kind of file: docs/formats.md needs a row for it, KNOWN_FILES its name"
    for name in SHAPED.keys() & set(names):
        row, code, number = SHAPED[name]
        assert shape((log_dir / name).read_text()) == manifest()[row][number]["written"], (
            f"{name} is written in another way, and its number is still {number}: raise it in {code}, read {number} as"
            " before, and say so in docs/formats.md and CHANGELOG.md"
        )


ALL = [(version, state) for version in versions() for state in STATES]


def test_this_version_has_directories_or_is_not_released() -> None:
    text = (ROOT / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    assert version is not None
    is_released = f"\n## {version[1]}, not released yet" not in (ROOT / "CHANGELOG.md").read_text()
    assert not is_released or version[1] in versions(), (
        f"{version[1]} is released, and tests/fixtures/released/{version[1]} is not there: its recipe is make.py"
    )
    assert versions()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("opened", ALL, ids="-".join, indirect=True)
def test_directories_of_a_released_version_have_all_that_was_in_them(
    opened: tuple[ReleasedBroker, dict[str, Any]], java: JavaTools
) -> None:
    broker, wanted = opened
    assert contents(broker, wanted["token"]) == wanted["contents"]
    assert broker.stop() == 0
    before = len(broker.output())
    broker.start()
    assert contents(broker, wanted["token"]) == wanted["contents"]
    assert broker.stop() == 0
    assert TROUBLE.findall(broker.output()[before:]) == []
    topics = set(wanted["contents"]["topics"])
    for log_dir in broker.log_dirs:
        assert_files_are_known(log_dir)
        assert_check_finds_nothing(log_dir)
        assert_dump_log_accepts(java, log_dir, topics)
