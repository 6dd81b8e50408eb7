"""What a release needs and no build: versions that agree, extras that are known, actions that are pinned."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest

from tidy.sources import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"


@pytest.fixture(scope="module")
def release_check() -> ModuleType:
    """The program of `make release-check`; its folder has the name of a package of others."""
    spec = spec_from_file_location("release_check", ROOT / "packaging" / "release_check.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_versions_agree(release_check: ModuleType) -> None:
    assert [row for row in release_check.versions(None) if not row.is_right] == []


def test_release_needs_a_date_and_directories_of_its_own(release_check: ModuleType) -> None:
    """A tag is refused until both are there."""
    rows = {row.what: row for row in release_check.versions("v0.0.0")}
    assert not rows["tag"].is_right
    if "not released yet" in rows["CHANGELOG.md"].detail:
        assert not rows["CHANGELOG.md"].is_right
        assert not rows["directories for later versions"].is_right


def test_every_extra_is_tried_and_has_a_row_in_its_page(release_check: ModuleType) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
    promised = release_check.PROMISES.keys() - {""}
    assert promised == extras - release_check.NOT_PROMISED
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "packages.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(promised)


def test_actions_of_the_release_are_pinned_by_commit() -> None:
    used = re.findall(r"uses: (\S+)(.*)", WORKFLOW.read_text())
    assert len(used) > 5
    assert [name for name, said in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) or " # v" not in said] == []
