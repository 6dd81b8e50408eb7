"""Mistakes reach the user of a query as one sentence inside Spark's own error."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from spark.rows import read

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from spark.conftest import Written

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": "nobody"}, "there is no topic nobody in .*; name a topic or log directory that is there"),
        ({"assign": '{"flights":[0,7]}'}, r"has partitions \[0, 1, 2\] of flights, not \[7\]; assign those"),
        (
            {"subscribe": "flights", "startingOffsets": '{"flights":{"0":1,"1":1}}'},
            "startingOffsets: JSON must name exactly the partitions read, and lacks flights-2; add it, -2 being",
        ),
        (
            {"subscribe": "flights", "endingOffsetsByTimestamp": '{"flights":{"0":1,"1":1,"2":1,"3":1}}'},
            "endingOffsetsByTimestamp: JSON must name exactly the partitions read, and has flights-3; it is not read",
        ),
        ({"subscribe": "flights", "path": "/nowhere"}, "/nowhere"),
        ({"subscribe": "flights", "minPartitions": "many"}, "minPartitions: 'many' is no whole number above 0"),
        ({}, "subscribe, subscribePattern, assign: none is given"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_mistake_is_one_sentence(
    spark: SparkSession, written: Written, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(Exception, match=sentence):
        read(spark, written, **options).count()


def test_offsets_behind_the_end_are_refused(spark: SparkSession, written: Written) -> None:
    behind = '{"flights":{"0":0,"1":0,"2":999999}}'
    with pytest.raises(Exception, match="999999"):
        read(spark, written, "flights", startingOffsets=behind).count()
    with pytest.raises(Exception, match="999999"):
        read(spark, written, "flights", endingOffsets=behind).count()


def test_a_damaged_batch_fails_the_query_naming_file_and_position(
    spark: SparkSession, written: Written, tmp_path: Path
) -> None:
    import shutil

    log_dirs = [tmp_path / folder.name for folder in written.log_dirs]
    for source, target in zip(written.log_dirs, log_dirs, strict=True):
        shutil.copytree(source, target)
    (folder,) = [log_dir / "codecs-1" for log_dir in log_dirs if (log_dir / "codecs-1").exists()]
    log = min(folder.glob("*.log"))
    data = bytearray(log.read_bytes())
    data[200] ^= 1
    log.write_bytes(data)
    damaged = replace(written, log_dirs=log_dirs)
    with pytest.raises(Exception, match=rf"{log.name} is corrupt at position 0"):
        read(spark, damaged, "codecs").collect()  # a count may need no more than headers
