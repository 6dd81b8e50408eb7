"""Which files of an exported partition are there already."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkastore.scanning.parquet_files import exported_files


def put(folder: Path, *ranges: tuple[int, int]) -> None:
    """Makes files with the offsets [first, last]."""
    for first, last in ranges:
        (folder / f"{first:020}-{last:020}.parquet").touch()


def test_files_that_follow_each_other_are_found_in_order_with_the_offsets_of_their_names(tmp_path: Path) -> None:
    put(tmp_path, (10, 10), (0, 9), (15, 20))
    (tmp_path / f".{21:020}-{30:020}.parquet.partial").touch()
    found = exported_files(tmp_path)
    assert [(one.start_offset, one.end_offset) for one in found] == [(0, 10), (10, 11), (15, 21)]


@pytest.mark.parametrize("later", [(9, 19), (9, 9), (0, 10)])
def test_files_with_one_offset_in_common_are_refused(tmp_path: Path, later: tuple[int, int]) -> None:
    put(tmp_path, (0, 9), later)
    with pytest.raises(ValueError, match=r"has offsets that .*0-00000000000000000009\.parquet has, too"):
        exported_files(tmp_path)
