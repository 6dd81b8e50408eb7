"""Segments that go between planning and reading: a failure, a warning, or nothing at all, as the options say."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kafkastore.spark import planning, scan_segments
from spark.rows import places, planned, read

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from spark.conftest import Written

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker


@pytest.fixture
def copied(written: Written, tmp_path: Path) -> Written:
    """The directories again, to delete from."""
    log_dirs = [tmp_path / folder.name for folder in written.log_dirs]
    for source, target in zip(written.log_dirs, log_dirs, strict=True):
        shutil.copytree(source, target)
    return type(written)(log_dirs, written.records)


def delete_first_segment(written: Written, partition: str) -> int:
    """As retention does; returns the offset that the partition then begins at."""
    (folder,) = [log_dir / partition for log_dir in written.log_dirs if (log_dir / partition).exists()]
    first, second = sorted(folder.glob("*.log"))[:2]
    for file in folder.glob(f"{first.stem}.*"):
        file.unlink()
    return int(second.stem)


def test_a_segment_deleted_after_planning_fails_the_query(spark: SparkSession, copied: Written) -> None:
    frame = planned(read(spark, copied, "flights"))
    begin = delete_first_segment(copied, "flights-1")
    with pytest.raises(
        Exception, match=rf"flights-1: offsets 0 to {begin} are lost.*data may have been lost.*failOnDataLoss"
    ):
        frame.collect()


def test_without_fail_on_data_loss_the_rest_is_read(spark: SparkSession, copied: Written) -> None:
    frame = planned(read(spark, copied, "flights", failOnDataLoss=False))
    begin = delete_first_segment(copied, "flights-1")
    assert begin > 0
    expected = [one[3:5] for one in copied.records["flights"] if one.partition != 1 or one.offset >= begin]
    assert places(frame) == expected


def test_lost_offsets_are_named_in_the_log(copied: Written, caplog: pytest.LogCaptureFixture) -> None:
    options = {"path": copied.path, "subscribe": "flights", "failOnDataLoss": "false"}
    shares = pa.record_batch({"splits": [share.encode() for share in planning.plan(options)]})
    begin = delete_first_segment(copied, "flights-2")
    with caplog.at_level(logging.WARNING, "kafkastore.spark"):
        rows = sum(batch.num_rows for batch in scan_segments(["offset"])([shares]))
    assert rows == sum(one.partition != 2 or one.offset >= begin for one in copied.records["flights"])
    assert [record.getMessage().split(" are gone")[0] for record in caplog.records] == [
        f"flights-2: offsets 0 to {begin}"
    ]


def test_a_start_below_the_log_start_is_a_loss_too(spark: SparkSession, copied: Written) -> None:
    begin = delete_first_segment(copied, "flights-0")
    zero = '{"flights":{"0":0,"1":0,"2":0}}'
    with pytest.raises(Exception, match=r"flights-0: offsets 0 to .*lost"):
        read(spark, copied, "flights", startingOffsets=zero).count()
    rest = read(spark, copied, "flights", startingOffsets=zero, failOnDataLoss=False)
    assert places(rest) == [one[3:5] for one in copied.records["flights"] if one.partition or one.offset >= begin]
    assert places(read(spark, copied, "flights")) == places(rest)  # earliest asks for nothing that is gone


def test_links_keep_what_was_planned_and_leave_nothing(spark: SparkSession, copied: Written, tmp_path: Path) -> None:
    link_dir = tmp_path / "links"
    frame = planned(read(spark, copied, "flights", linkDir=link_dir, minPartitions=4))
    assert len(list(link_dir.iterdir())) == 1
    delete_first_segment(copied, "flights-1")
    shutil.rmtree(next(log_dir / "flights-0" for log_dir in copied.log_dirs if (log_dir / "flights-0").exists()))
    assert places(frame) == [one[3:5] for one in copied.records["flights"]]
    assert list(link_dir.iterdir()) == []
