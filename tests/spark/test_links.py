"""Leases on links: the last task removes them, age removes what was left, and nothing else is touched. No Spark runs
here.

spec: R5.3
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kafkastore.spark import links


def test_the_last_share_removes_the_lease(tmp_path: Path) -> None:
    folder = Path(links.take(str(tmp_path / "links"), [str(tmp_path / "data")]))
    (folder / "0.log").touch()
    shares = [links.Lease(str(folder), number, 3) for number in range(3)]
    for share in (shares[1], shares[1], shares[0]):  # one was run twice
        share.finish()
        assert (folder / "0.log").exists()
    shares[2].finish()
    assert not folder.exists()
    shares[2].finish()


def test_an_old_lease_goes_with_the_next_planning_and_a_young_one_stays(tmp_path: Path) -> None:
    log_dirs = [str(tmp_path / "data")]
    old, young = (Path(links.take(str(tmp_path), log_dirs)) for _ in range(2))
    other = tmp_path / "other"
    other.mkdir()
    long_ago = time.time() - links.MAX_AGE_S - 60
    for folder in (old, other):
        os.utime(folder, (long_ago, long_ago))
    third = Path(links.take(str(tmp_path), log_dirs))
    assert set(tmp_path.iterdir()) == {young, other, third}


def test_links_never_go_inside_a_log_directory(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "link").symlink_to(data)
    for inside in (data, data / "links", tmp_path / "other" / ".." / "data", tmp_path / "link" / "links"):
        with pytest.raises(ValueError, match=r"is inside the log directory .*; name a folder beside it"):
            links.take(str(inside), [str(data)])
    with pytest.raises(ValueError, match="is inside the log directory"):
        links.take(str(data / "links"), [str(tmp_path / "link")])
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"linkDir: .*file cannot be written"):
        links.take(str(tmp_path / "file"), [str(tmp_path / "data")])
