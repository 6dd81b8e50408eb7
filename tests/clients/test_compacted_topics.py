"""Compacted topics as clients see them: keys that are missing, empty or huge, and what the broker says of the log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError, Message, Producer

from interop.transplant import read_checkpoint
from peer.broker_process import wait_until
from peer.java_tools import JavaError, JavaRecord
from peer.topics import create_topic, end_offsets, read_topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess
    from peer.java_tools import JavaTools

COMPACTED = {"cleanup.policy": "compact", "segment.bytes": "4194304", "max.message.bytes": "4194304"}
SOON = {
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.min.cleanable.ratio": "0",
    "log.initial.task.delay.ms": "100",
    "log.segment.delete.delay.ms": "0",
}
MEGABYTE = 1 << 20
LIMIT_S = 30


def produce(bootstrap: str, topic: str, records: Sequence[tuple[bytes | None, bytes]]) -> list[KafkaError | None]:
    """All in one batch, when they are small; what each was answered."""
    answers: list[KafkaError | None] = []

    def done(error: KafkaError | None, _: Message) -> None:
        answers.append(error)

    settings = {"bootstrap.servers": bootstrap, "linger.ms": 200, "message.max.bytes": 4 * MEGABYTE}
    producer = Producer(settings)
    for key, value in records:
        producer.produce(topic, value, key, 0, on_delivery=done)
    assert producer.flush(LIMIT_S) == 0
    return answers


# KIP-467
def test_records_without_a_key_are_refused_with_their_batch(java: JavaTools, broker: BrokerProcess, name: str) -> None:
    topic = create_topic(broker.bootstrap, name, 1, COMPACTED)
    answers = produce(broker.bootstrap, topic, [(b"a", b"1"), (None, b"2"), (b"c", b"3"), (None, b"4")])
    codes = [error.code() if error else None for error in answers]
    assert codes == [KafkaError._INVALID_DIFFERENT_RECORD, KafkaError.INVALID_RECORD] * 2
    records = [JavaRecord(0, 1_700_000_000_000, key, b"value") for key in (b"a", None, b"c")]
    with pytest.raises(JavaError) as raised:
        java.produce(broker.bootstrap, topic, records, linger_ms="200")
    assert "part of a batch which had one" in str(raised.value)
    with pytest.raises(JavaError) as raised:
        java.produce(broker.bootstrap, topic, records[1:2])
    assert f"Compacted topic cannot accept message without key in topic partition {topic}-0" in str(raised.value)
    assert end_offsets(broker.bootstrap, topic)[0] == (0, 0)
    assert produce(broker.bootstrap, topic, [(b"a", b"1")]) == [None]


def test_empty_and_huge_keys_keep_their_last_values(broker_factory: BrokerFactory) -> None:
    broker = broker_factory(SOON)
    topic = create_topic(broker.bootstrap, "keys", 1, COMPACTED)
    huge = [bytes([letter]) * MEGABYTE for letter in b"ab"]
    # of the same hash, if only the beginning counted
    keys = [b"", *huge, huge[0][:-1] + b"z", b"\x00"]
    for number in range(4):
        written = [(key, b"%d" % number) for key in keys]
        assert produce(broker.bootstrap, topic, written) == [None] * len(keys)
    ((_, end),) = end_offsets(broker.bootstrap, topic).values()
    assert end == 4 * len(keys)
    filler = [(b"filler", b"." * MEGABYTE)] * 4  # rolls, so that all of the above can be cleaned
    assert produce(broker.bootstrap, topic, filler) == [None] * 4
    wait_until_cleaned(broker, end)
    found = [(one.key(), one.value()) for one in read_topic(broker.bootstrap, topic) if one.key() != b"filler"]
    assert found == [(key, b"3") for key in keys]


def wait_until_cleaned(broker: BrokerProcess, offset: int) -> None:
    path = broker.log_dir / "cleaner-offset-checkpoint"
    wait_until(lambda: int(read_checkpoint(path).get("keys 0", 0)) >= offset, LIMIT_S, f"clean up to {offset}")


def test_kafka_log_dirs_tells_the_size_of_a_log_that_was_cleaned(
    java: JavaTools, broker_factory: BrokerFactory
) -> None:
    broker = broker_factory(SOON)
    topic = create_topic(broker.bootstrap, "keys", 1, COMPACTED)
    sizes = []
    for _ in range(3):
        assert set(produce(broker.bootstrap, topic, [(b"k", b"." * MEGABYTE)] * 6)) == {None}
        (end,) = (high for _, high in end_offsets(broker.bootstrap, topic).values())
        wait_until_cleaned(broker, end - 4)
        time.sleep(0.5)  # the cleaning that has written the checkpoint has swapped its segments
        told = java.tool("kafka-log-dirs", "--bootstrap-server", broker.bootstrap, "--describe", "--topic-list", topic)
        assert told.exit == 0, told
        (size,) = (int(part.split(",")[0]) for part in told.out.split('"size":')[1:])
        files = sum(path.stat().st_size for path in (broker.log_dir / f"{topic}-0").glob("*.log"))
        assert size == files
        sizes.append(size)
    assert max(sizes) < 12 * MEGABYTE, "cleaned logs do not grow"
