"""``kafkastore spark replay``: a slice of a topic is in another topic, with keys, headers, timestamps and
partitions."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from pyspark.sql import SparkSession

from clients.conftest import START_TIME_MS
from kafkastore.cli import spark_replay
from kafkastore.spark.pipeline.replay import OffsetRange, Replay, _pieces, plan_replay, replay_topic
from kafkastore.spark.pipeline.session import PipelineError
from peer.broker_factory import BrokerFactory
from peer.topics import create_topic, read_topic
from spark.conftest import SMALL_SEGMENTS, Record, Written, produce
from spark.verb_arguments import parsed

FROM_MS, TO_MS = START_TIME_MS + 300_000, START_TIME_MS + 900_000


def test_a_dry_run_says_what_a_slice_of_time_has_and_copies_nothing(
    spark: SparkSession, written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--topic", "flights", "--to-topic", "again", "--to-bootstrap-server", "h:1", "--dry-run"]
    bounds = [f"startingTimestamp={FROM_MS}", f"endingTimestamp={TO_MS}"]
    options = [part for bound in bounds for part in ("--option", bound)]
    log_dirs = list(map(str, written.log_dirs))
    asked = parsed(spark_replay.command, *log_dirs, *given, *options)
    assert spark_replay.run(spark, asked, spark_replay.understand(asked)) == 0
    rows = [one for one in written.records["flights"] if FROM_MS <= one.timestamp_ms < TO_MS]
    counts = Counter(one.partition for one in rows)
    lines = [
        f"flights-{number}: offsets {min(its)} to {max(its)}, {counts[number]} records"
        for number in sorted(counts)
        if (its := [one.offset for one in rows if one.partition == number])
    ]
    assert capsys.readouterr().out.splitlines() == [
        *lines,
        f"{len(rows)} records would be copied from flights to again",
    ]


def test_pieces_are_the_whole_range_once_and_no_piece_is_much_larger_than_the_limit() -> None:
    ranges = [
        OffsetRange(0, 10, 1010, 1000),
        OffsetRange(1, 0, 7, 7),
        OffsetRange(2, 5, 5, 0),
        OffsetRange(3, 0, 333, 333),
    ]
    for rate in (None, 1, 7, 100, 5000):
        pieces = list(_pieces(ranges, rate))
        offsets = [(one.partition, at) for piece in pieces for one in piece for at in range(one.start, one.end)]
        assert sorted(offsets) == sorted((one.partition, at) for one in ranges for at in range(one.start, one.end))
        for number in range(4):
            of_partition = [at for partition, at in offsets if partition == number]
            assert of_partition == sorted(of_partition)
        if rate is not None:
            assert max(sum(one.end - one.start for one in piece) for piece in pieces) <= rate + len(ranges)
    assert list(_pieces([OffsetRange(0, 5, 5, 0)], 10)) == []


def replay_of(broker_path: str, bootstrap: str, **changes: object) -> Replay:
    options = {"path": broker_path, "subscribe": "flights", "kafka.bootstrap.servers": bootstrap}
    bounds = {"startingTimestamp": str(FROM_MS), "endingTimestamp": str(TO_MS)}
    write = {"kafka.bootstrap.servers": bootstrap}
    return Replay({**options, **bounds}, "again", write, **changes)  # type: ignore[arg-type]


def test_a_copy_has_keys_values_headers_timestamps_and_partitions_and_keeps_to_the_rate(
    spark: SparkSession, broker_factory: BrokerFactory
) -> None:
    broker = broker_factory(kind="kafkastore")
    for topic in ("flights", "again"):
        create_topic(broker.bootstrap, topic, 3, SMALL_SEGMENTS)
    produce(broker, "flights", 3, 1200, "zstd")
    replay = replay_of(str(broker.log_dir), broker.bootstrap, keep_partitions=True, max_records_per_second=200)
    began = time.monotonic()
    report = replay_topic(spark, replay)
    taken_s = time.monotonic() - began
    rows = [Record.of(one) for one in read_topic(broker.bootstrap, "flights")]
    expected = sorted(map(content, (one for one in rows if FROM_MS <= one.timestamp_ms < TO_MS)))
    assert sorted(content(Record.of(one)) for one in read_topic(broker.bootstrap, "again")) == expected
    assert report.records == len(expected) == 600
    assert taken_s >= 600 / 200 * 0.9


def content(one: Record) -> tuple[object, ...]:
    return one.partition, one.timestamp_ms, one.key or b"", one.value or b"", one.headers or ()


def test_a_topic_is_not_copied_into_itself(spark: SparkSession, written: Written) -> None:
    options = {"path": written.path, "subscribe": "flights"}
    with pytest.raises(PipelineError, match="--to-topic flights is the topic that is read; name another one"):
        plan_replay(spark, Replay(options, "flights", {}))
