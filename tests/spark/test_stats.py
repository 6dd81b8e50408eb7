"""``kafkastore spark stats``: its figures equal those counted from what a consumer read and from the files
themselves."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from clients.conftest import CODECS
from kafkastore.cli import spark_stats
from kafkastore.spark.pipeline.stats import TopicStats, topic_stats
from spark.conftest import Record, Written
from spark.verb_arguments import parsed

BATCH_HEAD = struct.Struct(">qiibIhi")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta."""
CODEC_IDS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass
class Batches:
    """What the segment files of a topic have, read by a few lines of our own."""

    count: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)


def batches_of(log_dirs: Iterable[Path], topic: str) -> Batches:
    found = Batches()
    for path in (path for log_dir in log_dirs for path in log_dir.glob(f"{topic}-*/*.log")):
        data, position = path.read_bytes(), 0
        while position < len(data):
            _, length, _, _, _, attributes, _ = BATCH_HEAD.unpack_from(data, position)
            codec, size = CODEC_IDS[attributes & 7], length + 12
            found.count[codec] += 1
            found.bytes[codec] += size
            found.sizes[size.bit_length() - 1] += 1
            position += size
    return found


def by_name(found: Iterable[TopicStats]) -> Mapping[str, TopicStats]:
    return {one.topic: one for one in found}


def length(data: bytes | None) -> int:
    return len(data or b"")


def test_figures_equal_those_of_the_records_and_of_the_files(
    spark: SparkSession, written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    found = by_name(topic_stats(spark, [str(one) for one in written.log_dirs], top_keys=5))
    assert list(found) == sorted(written.records), "every topic but Kafka's own"
    for name, rows in written.records.items():
        topic = found[name]
        batches = batches_of(written.log_dirs, name)
        assert {codec: one.batches for codec, one in topic.batches.codecs.items()} == batches.count
        assert {codec: one.size_bytes for codec, one in topic.batches.codecs.items()} == batches.bytes
        assert topic.batches.size_classes == batches.sizes
        assert sum(one.records for one in topic.batches.codecs.values()) == len(rows) == topic.records
        assert topic.payload_bytes == sum(length(one.key) + length(one.value) for one in rows)
        assert topic.null_keys == sum(one.key is None for one in rows)
        assert topic.tombstones == sum(one.key is not None and one.value is None for one in rows)
        assert {one.partition: one.records for one in topic.partitions} == {
            **dict.fromkeys(range(len(topic.partitions)), 0),
            **Counter(one.partition for one in rows),
        }
        if rows:
            check_times_keys_and_sizes(topic, rows)
    assert set(found["codecs"].batches.codecs) == set(CODECS)
    assert found["empty"].records == 0
    assert found["empty"].rate == []
    check_output(spark, written, capsys)


def check_times_keys_and_sizes(topic: TopicStats, rows: list[Record]) -> None:
    times = [one.timestamp_ms for one in rows]
    assert (topic.first_timestamp_ms, topic.last_timestamp_ms) == (min(times), max(times))
    width = topic.bucket_ms
    assert {start: records for start, records, _ in topic.rate} == Counter(time // width * width for time in times)
    assert sum(size for _, _, size in topic.rate) == topic.payload_bytes
    assert len(topic.rate) <= 100
    keys = Counter(one.key for one in rows)
    ranked = sorted(keys.items(), key=lambda one: (-one[1], one[0] is not None, one[0]))
    assert [(one.key, one.records) for one in topic.heavy_keys] == ranked[:5]
    assert topic.distinct_keys == len(keys) - (None in keys), "an estimate that is exact for so few"
    sizes = sorted(len(one.value) for one in rows if one.value is not None)
    assert topic.value_sizes[0] == sizes[(len(sizes) - 1) // 2]
    assert topic.value_sizes[-1] == sizes[-1]


def check_output(spark: SparkSession, written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the command, as JSON and as a table; a key that is no text is named in hexadecimal."""
    given = [*map(str, written.log_dirs), "--topic", "codecs,append-time"]
    for arguments in ([*given, "--json"], given):
        asked = parsed(spark_stats.command, *arguments)
        assert spark_stats.run(spark, asked, spark_stats.understand(asked)) == 0
    codecs, append_time, head, *table = capsys.readouterr().out.splitlines()
    found = json.loads(codecs)
    assert (found["topic"], json.loads(append_time)["topic"]) == ("codecs", "append-time")
    assert found["records"] == len(written.records["codecs"])
    assert any("cleanup.policy=compact" in hint for hint in found["hints"]), "7 keys in 1500 records"
    assert head.split()[:3] == ["TOPIC", "PARTITIONS", "RECORDS"]
    assert table[0].split()[:3] == ["codecs", "2", str(found["records"])]
    heaviest = next(line for line in table if line.startswith("  heaviest keys: "))
    assert heaviest.startswith("  heaviest keys: null 18.0%, key-")
    named = (b"key-5", "key-5"), (b"\xff\x00", "0xff00"), (b"a\nb", "0x610a62"), (b"", "0x"), (None, "null")
    for key, text in named:
        assert spark_stats.key_text(key) == text
