"""Partitions that are added to the coordinators' topics: groups and transactions go on, and over a restart they begin
again where they are placed then, as in Apache Kafka. Besides: a transaction names a group before any client asked for
a group's coordinator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from kafkastore.coordinator.runtime.partitioning import partition_for
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic, read_topic

LIMIT_S = 30.0
GROUPS = [f"group-{number}" for number in range(8)]
COUNT = {"__consumer_offsets": 5, "__transaction_state": 3}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KafkastoreBroker]:
    settings = {"offsets.topic.num.partitions": "5", "transaction.state.log.num.partitions": "3"}
    made = KafkastoreBroker(tmp_path / "broker", settings)
    made.start()
    yield made
    made.stop()


def member(broker: KafkastoreBroker, group: str) -> Consumer:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": group, "auto.offset.reset": "earliest",
         "enable.auto.commit": False, "session.timeout.ms": 6000}
    )  # fmt: skip
    consumer.subscribe(["t"])
    return consumer


def transactional(broker: KafkastoreBroker, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
    producer.init_transactions(LIMIT_S)
    return producer


def commit(producer: Producer, value: str) -> None:
    producer.begin_transaction()
    producer.produce("t", value)
    producer.commit_transaction(LIMIT_S)


def next_value(consumer: Consumer) -> bytes:
    """The next record, of which the group commits the offset."""
    message = consumer.poll(LIMIT_S)
    assert message is not None, "nobody assigns the partition"
    assert message.error() is None, message.error()
    consumer.commit(message=message, asynchronous=False)
    return message.value() or b""


def grow(broker: KafkastoreBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    wanted = [NewPartitions(topic, count + 4) for topic, count in COUNT.items()]
    for future in admin.create_partitions(wanted).values():
        future.result(LIMIT_S)


def test_groups_and_transactions_go_on_when_partitions_are_added(broker: KafkastoreBroker) -> None:
    create_topic(broker.bootstrap, "t")
    before = [transactional(broker, f"before-{number}") for number in range(4)]
    for number, producer in enumerate(before):
        commit(producer, str(number))
    members = [member(broker, group) for group in GROUPS]
    assert [next_value(each) for each in members] == [b"0"] * len(GROUPS)
    before[0].begin_transaction()
    before[0].produce("t", "over the growth")
    before[0].flush(LIMIT_S)
    grow(broker)
    before[0].commit_transaction(LIMIT_S)
    for producer in before:
        commit(producer, "after")
    assert [next_value(each) for each in members] == [b"1"] * len(GROUPS), "the old members"
    for each in members[:4]:
        each.close()
    again = [member(broker, group) for group in GROUPS[:4]]
    assert [next_value(each) for each in again] == [b"2"] * 4, "the offsets are where they were"
    commit(transactional(broker, "new"), "new")
    for each in [*again, *members[4:]]:
        each.close()

    broker.restart()
    for number in range(4):
        commit(transactional(broker, f"before-{number}"), "restarted")
    values = [(message.value() or b"").decode() for message in read_topic(broker.bootstrap, "t", LIMIT_S)]
    assert values == ["0", "1", "2", "3", "over the growth", *["after"] * 4, "new", *["restarted"] * 4]
    for group in GROUPS:  # those that were in another partition have no offsets
        with closing(member(broker, group)) as each:
            seen = next_value(each)
            has_moved = partition_for(group, 5) != partition_for(group, 9)
            assert seen == (b"0" if has_moved else b"3" if group in GROUPS[:4] else b"2"), group
        with closing(member(broker, group)) as each:
            assert next_value(each) == {b"0": b"1", b"2": b"3", b"3": b"over the growth"}[seen]
    assert "begin without offsets" in broker.output()


def test_transaction_names_a_group_that_no_client_has_asked_for(broker: KafkastoreBroker) -> None:
    create_topic(broker.bootstrap, "t")
    with closing(Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0})) as elsewhere:
        producer = transactional(broker, "x")
        producer.begin_transaction()
        producer.produce("t", "copied")
        offsets = [TopicPartition("t", 0, 7)]
        producer.send_offsets_to_transaction(offsets, elsewhere.consumer_group_metadata(), LIMIT_S)
        producer.commit_transaction(LIMIT_S)
    with closing(Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})) as consumer:
        (found,) = consumer.committed([TopicPartition("t", 0)], LIMIT_S)
        assert found.offset == 7
