"""Bugs that the simulator plants stand behind seams, one in each layer that has any: elsewhere the code is the same
with the feature and without."""

from __future__ import annotations

import re

from tidy.sources import rust_sources

SEAM = "broker/planted.rs"
SEAMS = {SEAM, "storage/cleaner/planted.rs"}
FIXTURES = {f"{crate}/lib.rs" for crate in ("broker", "client", "scan", "storage")}
"""Which hand out what tests of crates above them build on."""


def _files_with(pattern: str) -> set[str]:
    return {"/".join(one.parts) for one in rust_sources() if re.search(pattern, one.code)}


def test_feature_of_the_simulator_is_asked_for_in_the_seam_and_where_the_module_is_added_alone() -> None:
    assert _files_with(r'feature = "testing"') - FIXTURES == SEAMS


def test_planted_bug_is_named_in_the_seam_and_by_the_simulator_alone() -> None:
    assert _files_with(r"\bBug::") - {"simulator/planted.rs"} == {SEAM}
