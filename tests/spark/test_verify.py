"""``kafkastore spark verify``: silent on a healthy cluster, and every planted damage is named, with file and place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from cluster.cluster import Cluster
from kafkastore._core import BatchHeaders
from kafkastore.cli import spark_verify
from kafkastore.spark.pipeline.replicas import Finding
from kafkastore.spark.pipeline.verify import verify_cluster
from spark.verb_arguments import parsed

PARTITIONS = 6
RECORDS = 6000
SEGMENT = {"segment.bytes": "1048576", "index.interval.bytes": "1024"}
EPOCH_AT = 12
"""Where a batch has its leader epoch, which no CRC covers."""
POSITION_AT = 4
"""Where an entry of an offset index has the position of its batch."""


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """The log directories of three brokers that have stopped, with a topic of three replicas and several segments."""
    with Cluster(tmp_path_factory.mktemp("cluster")).running() as cluster:
        topic = NewTopic("flights", PARTITIONS, 3, config=SEGMENT)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([topic])["flights"].result(30)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "batch.size": 20_000})
        for number in range(RECORDS):
            producer.produce("flights", b"%d" % number * 1000, b"key-%d" % number, number % PARTITIONS)
            if number % 500 == 0:
                producer.flush()
        assert producer.flush(60) == 0
        assert cluster.stop() == [0, 0, 0]
        yield [broker.log_dir for broker in cluster.brokers]


def copy_of(healthy: list[Path], folder: Path) -> list[Path]:
    copies = [folder / f"broker-{number}" for number, _ in enumerate(healthy, 1)]
    for source, target in zip(healthy, copies, strict=True):
        shutil.copytree(source, target)
    return copies


def faults(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.severity == "fault"]


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def last_batch(path: Path) -> int:
    """Its position. No batch behind it shows that its leader epoch is wrong: only the other replicas do."""
    headers, position = BatchHeaders(str(path)), 0
    while chunk := headers.next_chunk():
        position = chunk[-1].position
    return position


def segments(log_dir: Path, partition: int) -> list[Path]:
    return sorted((log_dir / f"flights-{partition}").glob("*.log"))


def test_a_healthy_cluster_has_no_fault_and_all_replicas_are_compared(spark: SparkSession, healthy: list[Path]) -> None:
    report = verify_cluster(spark, list(map(str, healthy)), topic="flights", deep=True)
    assert faults(report.findings) == []
    assert report.faults == 0
    assert report.replicas == report.partitions == 3 * PARTITIONS
    assert report.records == 3 * RECORDS
    assert report.segments > 3 * PARTITIONS


def test_each_planted_damage_is_named(
    spark: SparkSession, healthy: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, three = copy_of(healthy, tmp_path)
    flipped = segments(one, 0)[0]
    flip(flipped, 500)
    lost = segments(two, 1)[1]
    for path in lost.parent.glob(f"{lost.stem}.*"):
        path.unlink()
    stale = segments(three, 2)[0].with_suffix(".index")
    flip(stale, POSITION_AT + 3)
    other = segments(two, 3)[0]  # well below every high watermark
    at = last_batch(other)
    flip(other, at + EPOCH_AT + 3)
    (one / "meta.properties").write_text((one / "meta.properties").read_text().replace("version=1", "version=9"))
    asked = parsed(spark_verify.command, str(one), str(two), str(three), "--json")
    spark_verify.understand(asked)
    assert spark_verify.run(spark, asked, None) == 1
    *found, summary = map(json.loads, capsys.readouterr().out.splitlines())
    named: dict[tuple[str, int | None], str] = {}
    for one_of in found:
        if one_of["severity"] == "fault":
            place = (one_of["path"], one_of["position"])
            named[place] = f"{named.get(place, '')}{one_of['message']}\n"
    assert summary["severity"] == "summary"
    assert summary["faults"] >= len(named) >= 5
    assert "stored crc" in named.pop((str(flipped), 0))
    before = segments(two, 1)[0]
    assert "batches are missing" in named.pop((str(before), before.stat().st_size))
    differs = [(place, message) for place, message in named.items() if "no batch at offset" in message]
    assert differs
    for place, message in differs:
        assert place == (str(two / "flights-1"), None)
        assert "which broker 1 has in" in message
        del named[place]
    assert "leader epoch 1; that of broker 1 has" in named.pop((str(other), at))
    assert "version" in named.pop((str(one / "meta.properties"), None))
    others = {path for path, _ in named if Path(path).parent != other.parent}  # what follows contradicts the epoch too
    assert others == {str(stale)}, "the stale index, and nothing else"


def test_a_live_cluster_is_no_fault_and_lagging_replicas_are_compared_below_the_watermark(
    spark: SparkSession, healthy: list[Path], tmp_path: Path
) -> None:
    """A follower that lacks the end of the log has a smaller high watermark; one whose log begins later has deleted."""
    one, two, three = copy_of(healthy, tmp_path)
    last = segments(two, 0)[-1]
    checkpoint = two / "replication-offset-checkpoint"
    lines = checkpoint.read_text().splitlines()
    lowered = [f"flights 0 {int(last.stem)}" if line.startswith("flights 0 ") else line for line in lines]
    checkpoint.write_text("\n".join(lowered) + "\n")
    for path in last.parent.glob(f"{last.stem}.*"):
        if path.suffix == ".log":
            path.write_bytes(b"")
        else:
            path.unlink()
    recovery = two / "recovery-point-offset-checkpoint"
    kept = recovery.read_text().replace(f"flights 0 {_end(lines)}", f"flights 0 {int(last.stem)}")
    recovery.write_text(kept)
    first = segments(three, 0)[0]
    for path in first.parent.glob(f"{first.stem}.*"):
        path.unlink()
    report = verify_cluster(spark, [str(one), str(two), str(three)], topic="flights")
    assert [it for it in faults(report.findings) if "offset" in it.message and "broker" in it.message] == []
    assert report.replicas == 3 * PARTITIONS


def _end(lines: list[str]) -> int:
    return next(int(line.split()[2]) for line in lines if line.startswith("flights 0 "))


def test_a_path_that_cannot_be_checked_is_wrong_usage(spark: SparkSession, healthy: list[Path]) -> None:
    asked = parsed(spark_verify.command, str(healthy[0]), "/nowhere")
    with pytest.raises(click.UsageError, match=r"/nowhere: No such file or directory; name the entries of log.dirs"):
        spark_verify.run(spark, asked, None)
    asked = parsed(spark_verify.command, str(healthy[0]), "--topic", "nobody")
    with pytest.raises(click.UsageError, match="there is no topic nobody here"):
        spark_verify.run(spark, asked, None)
