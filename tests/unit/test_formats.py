"""A format of ours changes only with its number, and what was ever written is read for ever (docs/formats.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.formats.examples import FORMATS, MANIFEST, SHAPED, Format, manifest, shown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
ADD = "PYTHONPATH=. ../.venv-tests/bin/python -m fixtures.formats.examples, in tests, adds its example"


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.row)
def test_format_is_written_as_before_or_has_a_new_number(one: Format) -> None:
    written = one.written()
    version = one.version(written)
    known = manifest().get(one.row, {})
    assert version in known, f"{one.row} has the new number {version}; {ADD}. It needs a line in CHANGELOG.md"
    assert written == known[version]["written"], (
        f"{one.row} is written in another way than before, and its number is still {version}. Directories of earlier"
        f" versions have the old form, and earlier versions read this one: raise the number in {one.code}, read"
        f" {version} as before, and say so in docs/formats.md and CHANGELOG.md; then {ADD}. Where no version was"
        f" released with {version}, take its entry out of {MANIFEST.name} instead"
    )


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.row)
def test_every_number_that_a_format_had_is_read_as_ever(one: Format) -> None:
    for version, example in manifest()[one.row].items():
        assert shown(one.read(example["written"].encode())) == example["read"], (
            f"number {version} of {one.row} is read in another way: directories that were written with it have lost"
            f" something. Mend {one.code}"
        )


def test_page_has_a_row_with_the_number_of_each_format() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    numbers = {one.row: one.version(one.written()) for one in FORMATS}
    numbers |= {row: number for row, _, number in SHAPED.values()}
    for row, number in numbers.items():
        found = [" ".join(cells[1:]) for cells in rows if cells[0].startswith(row)]
        assert found, f"{PAGE.name} has no row that begins with {row}"
        assert number in found[0] or number == "0", f"{PAGE.name}: the row of {row} does not have its number {number}"


def test_manifest_has_no_format_that_nothing_writes() -> None:
    assert manifest().keys() == {one.row for one in FORMATS} | {row for row, _, _ in SHAPED.values()}
