"""The clients of records in ``kafkastore._core``, which our commands use: what they write comes back to them and to
librdkafka, and what a broker refuses is one sentence.

Each test runs against Apache Kafka as well (``--against kafka``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Consumer as RdConsumer
from confluent_kafka import Message, TopicPartition

from clients.acl_world import DESCRIBE, READ, WRITE, Acl, AclWorld
from clients.conftest import CODECS, Sample, samples
from cluster.cluster import Cluster
from kafkastore._core import ClientError, Consumer, Delivery, FetchedRecord, FetchedRecords, Producer
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess
from peer.topics import admin_client, create_topic, place_of, read_topic

LIMIT_S = 30.0
OUT_OF_RANGE, UNKNOWN_TOPIC, TOPIC_AUTHORIZATION_FAILED = 1, 3, 29


@pytest.fixture
def unclosed() -> Iterator[list[Consumer | Producer]]:
    made: list[Consumer | Producer] = []
    yield made
    for one in made:
        one.close()


Make = Callable[..., Consumer]


@pytest.fixture
def consumer(broker: BrokerProcess, unclosed: list[Consumer | Producer]) -> Make:
    """Makes consumers; keys of properties with ``_`` for ``.``."""

    def make(**properties: str) -> Consumer:
        given = {key.replace("_", "."): value for key, value in properties.items()}
        unclosed.append(made := Consumer({"bootstrap.servers": broker.bootstrap, **given}))
        return made

    return make


@pytest.fixture
def producer(broker: BrokerProcess, unclosed: list[Consumer | Producer]) -> Callable[..., Producer]:
    def make(**properties: str) -> Producer:
        given = {key.replace("_", "."): value for key, value in properties.items()}
        unclosed.append(made := Producer({"bootstrap.servers": broker.bootstrap, **given}))
        return made

    return make


def deliveries(producer: Producer) -> list[Delivery]:
    """All of what was sent, once each record is delivered or has failed."""
    assert producer.flush(int(LIMIT_S * 1000))
    return producer.poll(0)


def read(consumer: Consumer, count: int, max_records: int = 500) -> list[FetchedRecords]:
    """``count`` records, by polls of at most so many."""
    found: list[FetchedRecords] = []
    deadline = time.monotonic() + LIMIT_S
    while (left := count - sum(one.count for one in found)) > 0:
        assert time.monotonic() < deadline, f"{count - left} of {count} records; {consumer.take_warnings()}"
        polled = consumer.poll(500, max_records)
        assert sum(one.count for one in polled) <= max_records
        found += polled
    return found


def refusal(consumer: Consumer) -> ClientError:
    """The error that a poll ends with."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        try:
            assert consumer.poll(1000) == []
        except ClientError as error:
            return error
    pytest.fail(f"no error; {consumer.take_warnings()}")


def row(
    sample: Sample, partition: int
) -> tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes | None]], int, int]:
    return sample.key, sample.value, sample.headers, partition, sample.timestamp


def as_sample(record: FetchedRecord) -> Sample:
    return Sample(record.key, record.value, record.timestamp_ms, tuple(record.headers))


def of_message(message: Message) -> Sample:
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return Sample(
        message.key(),
        message.value(),
        message.timestamp()[1],
        tuple(headers),
    )


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_as_they_were_sent(
    broker: BrokerProcess,
    new_topic: Callable[..., str],
    producer: Callable[..., Producer],
    consumer: Make,
    codec: str,
) -> None:
    topic, sent = new_topic(partitions=2), samples(400)
    writer = producer(compression_type=codec, batch_size="3000", linger_ms="1", client_id="writer")
    for start in range(0, len(sent), 40):
        assert writer.send(topic, [row(one, start // 40 % 2) for one in sent[start : start + 40]])
    by_partition = [[one for at, one in enumerate(sent) if at // 40 % 2 == number] for number in range(2)]
    told = deliveries(writer)
    assert writer.pending() == (0, 0)
    assert {one.error for one in told} == {None}
    for number, expected in enumerate(by_partition):
        ends = [0]
        for one in told:
            if one.partition == number:
                assert one.base_offset == ends[-1]
                assert sum(count for _, count in one.waited) == one.count
                ends.append(one.base_offset + one.count)
        assert ends[-1] == len(expected)
        assert len(ends) > 3, "small batches"
    sizes = sum(len(one.key or b"") + len(one.value or b"") for one in sent)
    assert sum(one.bytes for one in told) == sizes
    reader = consumer(check_crcs="true")
    for max_records in (7, 10_000):
        reader.assign({(topic, 0): -2, (topic, 1): 0})
        found = read(reader, len(sent), max_records)
        assert sum(one.bytes for one in found) == sizes
        for number, expected in enumerate(by_partition):
            records = [record for one in found if one.partition == number for record in one.records()]
            assert [record.offset for record in records] == list(range(len(expected)))
            assert [as_sample(record) for record in records] == expected
            assert {(record.timestamp_type, record.leader_epoch) for record in records} == {("CreateTime", 0)}
            values = [value for one in found if one.partition == number for value in one.values()]
            assert values == [one.value for one in expected]
            assert reader.positions()[topic, number] == reader.high_watermarks()[topic, number] == len(expected)
    assert reader.poll(0) == []
    theirs = sorted(read_topic(broker.bootstrap, topic), key=place_of)
    assert [of_message(one) for one in theirs] == by_partition[0] + by_partition[1]


def test_values_are_spread_and_a_paused_partition_waits(
    new_topic: Callable[..., str], producer: Callable[..., Producer], consumer: Make
) -> None:
    topic = new_topic(partitions=3, config={"message.timestamp.type": "LogAppendTime"})
    values = [b"%d" % number for number in range(3000)]
    writer = producer(batch_size="500", linger_ms="0", acks="1")
    for start in range(0, 3000, 100):
        writer.send_values(topic, values[start : start + 100])
    assert {one.partition for one in deliveries(writer)} == {0, 1, 2}
    reader = consumer()
    reader.assign({(topic, number): -2 for number in range(3)})
    reader.pause([(topic, 1)])
    with pytest.raises(ValueError, match="x-0 is not assigned"):
        reader.pause([("x", 0)])
    found: list[FetchedRecords] = []
    while not found or any(one.count for one in found[-1:]):
        found += (polled := reader.poll(300))
        if not polled:
            break
    assert {one.partition for one in found} == {0, 2}
    reader.resume([(topic, 1)])
    found += read(reader, 3000 - sum(one.count for one in found))
    assert sorted(value for one in found for value in one.values() if value is not None) == sorted(values)
    assert found[0].records()[0].timestamp_type == "LogAppendTime"
    reader.assign({(topic, 0): -1})
    assert reader.poll(300) == []
    writer.send(topic, [(None, b"last", None, 0, None)])
    deliveries(writer)
    assert read(reader, 1)[0].values() == [b"last"]


def test_transactions_are_read_when_they_are_committed(
    broker: BrokerProcess, topic: str, name: str, producer: Callable[..., Producer], consumer: Make
) -> None:
    writer = producer(transactional_id=name)
    with pytest.raises(ClientError, match="call init_transactions first"):
        writer.begin_transaction()
    writer.init_transactions()
    with pytest.raises(ClientError, match="no transaction is open; begin one first"):
        writer.send_values(topic, [b"early"])
    for number, ends in enumerate((True, False, True, False, True)):
        writer.begin_transaction()
        writer.send_values(topic, [b"%d-%s" % (number, b"ca"[1 - ends : 2 - ends])] * 10)
        if ends:
            writer.send_offsets_to_transaction(name, {(topic, 0): number})
            writer.commit_transaction()
        else:
            assert number == 1 or writer.flush(1000)
            writer.abort_transaction()
    told = writer.poll(0)
    assert sum(one.count for one in told) == 50
    aborted = [one.error for one in told if one.error is not None]
    assert set(aborted) <= {"TRANSACTION_ABORTABLE"}
    committed = consumer(isolation_level="read_committed")
    committed.assign({(topic, 0): 0})
    values = [value for one in read(committed, 30) for value in one.values()]
    assert values == [value for value in (b"0-c", b"2-c", b"4-c") for _ in range(10)]
    every = consumer()
    every.assign({(topic, 0): 0})
    read(every, sum(one.count for one in told if one.error is None))
    assert every.poll(100) == []
    group = RdConsumer({"bootstrap.servers": broker.bootstrap, "group.id": name})
    assert [one.offset for one in group.committed([TopicPartition(topic, 0)], LIMIT_S)] == [4]
    group.close()
    writer.begin_transaction()
    writer.send_values(topic, [b"open"])
    assert writer.flush(1000)
    end = committed.positions()[topic, 0]
    assert committed.poll(300) == []
    assert committed.high_watermarks()[topic, 0] == committed.positions()[topic, 0] == max(end, 0)
    later = producer(transactional_id=name)
    later.init_transactions()
    with pytest.raises(ClientError, match="was ended from outside"):
        writer.commit_transaction()


def test_a_refused_batch_fails_alone(
    new_topic: Callable[..., str], producer: Callable[..., Producer], consumer: Make
) -> None:
    topic = new_topic(config={"max.message.bytes": "2000"})
    small, large, huge = b"s" * 100, b"l" * 3000, b"h" * 1_100_000
    for acks in ("all", "1"):
        writer = producer(acks=acks, linger_ms="0")
        for value in (small, large, small, small, huge, large, small):
            writer.send(topic, [(None, value, None, 0 if value != huge else None, None)])
            writer.poll(0) if value == huge else None
        assert writer.flush(int(LIMIT_S * 1000))
        writer.send(topic, [(None, small, None, 1, None)])
        told = deliveries(writer)
        refused = {(one.error, one.message) for one in told if one.error is not None and one.partition != -1}
        assert {"MESSAGE_TOO_LARGE", "UNKNOWN_TOPIC_OR_PARTITION"} <= {error for error, _ in refused}
        assert any("raise max.message.bytes of topic" in (message or "") for _, message in refused)
    reader = consumer()
    reader.assign({(topic, 0): 0})
    assert [value for one in read(reader, 8) for value in one.values()] == [small] * 8
    assert reader.poll(100) == []


def test_offsets_out_of_range_are_reset_as_the_consumer_says(
    topic: str, consumer: Make, producer: Callable[..., Producer]
) -> None:
    writer = producer()
    writer.send_values(topic, [b"a", b"b"])
    deliveries(writer)
    none = consumer(auto_offset_reset="none")
    none.assign({(topic, 0): 9})
    error = refusal(none)
    assert (error.code, error.is_retriable) == (OUT_OF_RANGE, False)
    assert str(error) == (
        f"{topic}-0: offset 9 is out of range, and auto.offset.reset is none; assign it with another offset"
    )
    earliest = consumer(auto_offset_reset="earliest")
    earliest.assign({(topic, 0): 9})
    assert read(earliest, 2)[0].values() == [b"a", b"b"]
    assert earliest.take_warnings() == [f"{topic}-0: offset 9 is out of range, so it is reset by auto.offset.reset"]
    latest = consumer()
    latest.assign({(topic, 0): 9})
    assert latest.poll(500) == []
    assert latest.positions() == {(topic, 0): 2}


def test_a_topic_that_is_deleted_or_lacks_a_partition_is_an_error(
    broker: BrokerProcess, name: str, consumer: Make, producer: Callable[..., Producer]
) -> None:
    create_topic(broker.bootstrap, name)
    writer = producer()
    writer.send_values(name, [b"a"])
    deliveries(writer)
    reader = consumer()
    reader.assign({(name, 0): 0, (name, 5): 0})
    assert str(refusal(reader)) == f"topic {name} has no partition 5; it has 1, which are numbered from 0"
    early = consumer()
    for one in (reader, early):
        one.assign({(name, 0): 0})
        read(one, 1)
    admin = admin_client(broker.bootstrap)  # kept: its requests end with its last reference
    admin.delete_topics([name])[name].result(LIMIT_S)
    assert early.poll(500) == []
    error = refusal(reader)
    assert (str(error), error.code) == (f"topic {name} was deleted; make it again, or read another one", UNKNOWN_TOPIC)
    create_topic(broker.bootstrap, name)
    assert str(refusal(early)) == f"topic {name} was deleted and made again: its offsets begin anew; assign it again"
    early.assign({(name, 0): 0})
    writer.close()
    again = producer()
    again.send_values(name, [b"b"])
    deliveries(again)
    assert read(early, 1)[0].values() == [b"b"]


def test_what_acls_refuse_is_one_sentence_and_the_rest_goes_on(broker_factory: BrokerFactory, tmp_path: Path) -> None:
    with closing(AclWorld(broker_factory, tmp_path)) as world:
        world.create_topics("free", "closed", "hidden")
        user = "CN=writer"
        world.add(Acl(user, WRITE, name="free"), Acl(user, READ, name="free"), Acl(user, DESCRIBE, name="closed"))
        given = {
            "bootstrap.servers": f"localhost:{world.port}",
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(world.authority.ca),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(world.pair(user).both),
        }
        writer = Producer({**given, "linger.ms": "0"})
        for name in ("closed", "hidden", "free", "closed", "free"):
            writer.send_values(name, [b"a"])
        told = sorted((one.topic, one.error) for one in deliveries(writer))
        refused = "TOPIC_AUTHORIZATION_FAILED"
        assert told[-1:] == [("hidden", refused)]
        assert {one for one in told if one[0] == "closed"} == {("closed", refused)}
        assert {one for one in told if one[0] == "free"} == {("free", None)}
        reader = Consumer(given)
        for name in ("closed", "hidden"):
            reader.assign({(name, 0): 0})
            error = refusal(reader)
            assert error.code == TOPIC_AUTHORIZATION_FAILED
            assert str(error) == (
                f"topic {name}: the broker's ACLs do not let this client read it; allow READ on the topic ({refused})"
            )
        reader.assign({("free", 0): 0})
        read(reader, 2)
        reader.close()
        writer.close()


def test_a_new_leader_is_written_to_and_read_from(tmp_path: Path, against: str) -> None:
    if against == "kafka":
        pytest.skip("the cluster is one of ours")
    few = {"min.insync.replicas": "1", "default.replication.factor": "2"}
    with Cluster(tmp_path, size=2, overrides=few).running() as cluster:
        cluster.create("moved", 2, 2)
        writer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": "0", "batch.size": "200"})
        reader = Consumer({"bootstrap.servers": cluster.bootstrap, "auto.offset.reset": "none"})
        reader.assign({("moved", number): 0 for number in range(2)})
        sent: list[bytes] = []

        def write(count: int) -> None:
            values = [b"%d" % (len(sent) + number) for number in range(count)]
            writer.send(
                "moved", [(b"%d" % (number % 7), value, None, None, None) for number, value in enumerate(values)]
            )
            sent.extend(values)

        write(100)
        deliveries(writer)
        found = read(reader, 60)
        for node in (1, 2):
            cluster.wait_in_sync("moved", 2)
            write(100)
            cluster.broker(node).stop()
            write(100)
            found += reader.poll(100)
            assert {one.error for one in deliveries(writer)} == {None}
            found += read(reader, len(sent) - sum(one.count for one in found))
            cluster.broker(node).start()
        values = [value for one in found for value in one.values()]
        assert sorted(values, key=lambda value: int(value or b"")) == sent
        writer.close()
        reader.close()
