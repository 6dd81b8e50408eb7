"""A directory that Apache Kafka wrote is opened and served by ours with every record, and the other way round.

Formats are Kafka's, its indexes are used; LSO and aborted transactions from its files
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from interop.checking import assert_check_finds_nothing
from interop.contents import DELETED_BEFORE, create, fill, keep_as_it_is, read_all, topics_of
from interop.transplant import partition_folders, read_checkpoint, transplant
from peer.broker_process import BrokerProcess, wait_until
from peer.java_tools import JavaRecord, JavaTools
from peer.topics import end_offsets
from proof.scope import played

if TYPE_CHECKING:
    from pathlib import Path

    from peer.broker_factory import BrokerFactory

AT_ONCE = {
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "200",
    "log.flush.offset.checkpoint.interval.ms": "200",
}
"""Kafka writes no checkpoint in its first 30 s; then, before a kill, that of the recovery points too, which are those
of the last roll."""

STOPS = ("cleanly", "killed")
"""Each side of an exchange in `make test`: what a killed Apache Kafka left has most for ours to recover (a clean
directory is opened in ``test_legacy_directory.py``), and kafka-dump-log judges what a clean stop of ours left."""

Read = dict[tuple[str, str], list[JavaRecord]]


def write_and_read(factory: BrokerFactory, java: JavaTools, kind: str, stop: str) -> tuple[BrokerProcess, Read]:
    """A broker of that kind with all contents, now stopped; and what was read of it."""
    soon = {
        "log.flush.start.offset.checkpoint.interval.ms": "200"
    }  # a kill forgets a log start that is not yet in the checkpoint
    source = factory(soon | AT_ONCE if kind == "kafka" else soon, kind=kind)
    topics = topics_of(kind)
    create(source, topics)
    fill(source, java)
    if kind == "kafka":
        keep_as_it_is(source)
    read = read_all(source, java, topics)
    wait_until(lambda: checkpointed_log_start(source) == str(DELETED_BEFORE), 30, "the log start in its checkpoint")
    if stop == "cleanly":
        source.stop()
    else:
        source.kill()
    return source, read


def checkpointed_log_start(broker: BrokerProcess) -> str | None:
    return read_checkpoint(broker.log_dir / "log-start-offset-checkpoint").get("deleted-heads 0")


def serve_elsewhere(factory: BrokerFactory, source: BrokerProcess, kind: str) -> BrokerProcess:
    """A broker of that kind on the source's logs."""
    target = factory(kind=kind)
    topics = topics_of(source.kind)
    create(target, topics, **{"cleanup.policy": "delete"})
    target.stop()
    transplant(source.log_dir, target.log_dir, {topic.name for topic in topics})
    return target.start()


def assert_same(expected: Read, found: Read) -> None:
    for key, records in expected.items():
        assert len(found[key]) == len(records), f"{key}: {len(found[key])} records of {len(records)}"
        assert found[key] == records, key


def assert_contents_are_what_they_should_be(read: Read) -> None:
    """The fixture itself: several segments' worth, a deleted head, holes, and two views of the transactions."""
    assert read["deleted-heads", "read_uncommitted"][0].offset == DELETED_BEFORE
    assert read["append-time", "read_uncommitted"][0].timestamp_type == "LogAppendTime"
    if ("transactions", "read_committed") in read:
        assert len(read["transactions", "read_uncommitted"]) == 4 * 50 + 30
        assert len(read["transactions", "read_committed"]) == 2 * 40 + 4 * 10
        offsets = [record.offset for record in read["compacted", "read_uncommitted"]]
        assert offsets[-1] - offsets[0] >= len(offsets), "no holes: nothing was compacted"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stop", played(STOPS[1:], STOPS))
def test_directory_of_apache_kafka_is_served_whole(
    broker_factory: BrokerFactory, java: JavaTools, against: str, stop: str
) -> None:
    source, expected = write_and_read(broker_factory, java, "kafka", stop)
    assert_contents_are_what_they_should_be(expected)
    assert_check_finds_nothing(source.log_dir)
    target = serve_elsewhere(broker_factory, source, against)
    assert_same(expected, read_all(target, java, topics_of("kafka")))
    for topic in ("segments", "deleted-heads"):  # its indexes answer lookups
        newest = expected[topic, "read_uncommitted"][-100]
        (found, *_) = java.consume(target.bootstrap, topic, from_timestamp=newest.timestamp or 0)
        assert found == newest
    assert end_offsets(target.bootstrap, "deleted-heads")[0][0] == DELETED_BEFORE
    java.produce(
        target.bootstrap, "transactions", [JavaRecord(0, None, b"k", b"after")]
    )  # and writing goes on behind it
    assert java.consume(target.bootstrap, "transactions")[-1].value is not None
    assert_check_finds_nothing(target.log_dir)  # beside the running broker
    target.stop()
    assert_check_finds_nothing(target.log_dir)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stop", played(STOPS[:1], STOPS))
def test_directory_of_ours_is_served_whole_by_apache_kafka(
    broker_factory: BrokerFactory, java: JavaTools, against: str, stop: str
) -> None:
    source, expected = write_and_read(broker_factory, java, against, stop)
    assert_contents_are_what_they_should_be(expected)
    assert_check_finds_nothing(source.log_dir)
    if stop == "cleanly":
        assert_dump_log_accepts(java, source.log_dir, {topic.name for topic in topics_of(against)})
    target = serve_elsewhere(broker_factory, source, "kafka")
    assert_same(expected, read_all(target, java, topics_of(against)))


def assert_dump_log_accepts(java: JavaTools, log_dir: Path, topics: set[str]) -> None:
    """kafka-dump-log on every file of the stopped broker: logs record by record, indexes against their logs."""
    folders = partition_folders(log_dir, topics)
    logs = [str(log) for folder in folders for log in sorted(folder.glob("*.log"))]
    dumped = java.tool("kafka-dump-log", "--deep-iteration", "--files", ",".join(logs))
    assert dumped.exit == 0, dumped.err
    assert "isvalid: false" not in dumped.out
    assert not re.search("invalid bytes|non consecutive", dumped.out + dumped.err), dumped.out[-3000:]
    for suffix in ("index", "timeindex"):
        indexes = [str(index) for folder in folders for index in sorted(folder.glob(f"*.{suffix}"))]
        checked = java.tool("kafka-dump-log", "--index-sanity-check", "--files", ",".join(indexes))
        verdicts = checked.out.count("passed sanity check") + checked.out.count(" is empty")
        assert (checked.exit, verdicts) == (0, len(indexes)), checked.out
        deep = java.tool("kafka-dump-log", "--files", ",".join(indexes))
        assert deep.exit == 0, deep
        assert not re.search(r"[Mm]ismatch|not found|out of order", deep.out + deep.err), deep.out[-3000:]
