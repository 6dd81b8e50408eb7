"""Offsets that Apache Kafka's clients committed in transactions are told by ours, on Kafka's own directory, as Kafka
told them.

KIP-98 and KIP-447
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from fixtures.offsets.wire_client import WireClient, plain
from peer.broker_process import wait_until
from peer.topics import create_topic

if TYPE_CHECKING:
    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

LIMIT_S = 30
GROUP = "g"
TOPIC = "t"
COMMITTED, ABORTED, OPEN, REPLACED, ONLY_COMMITTED, ONLY_ABORTED, ONLY_OPEN, NEVER = range(8)
UNSTABLE = (-1, 88)  # UNSTABLE_OFFSET_COMMIT
NOTHING = (-1, 0)
STABLE = {
    COMMITTED: (10, 0),
    ABORTED: (2, 0),
    OPEN: UNSTABLE,
    REPLACED: (4, 0),
    ONLY_COMMITTED: (50, 0),
    ONLY_ABORTED: NOTHING,
    ONLY_OPEN: UNSTABLE,
    NEVER: NOTHING,
}
LAST = {**STABLE, OPEN: (3, 0), ONLY_OPEN: NOTHING}


class Transaction:
    """One transaction of a producer of its own, which commits offsets and nothing else."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": name, "transaction.timeout.ms": 600_000}
        )
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
        self.group = consumer.consumer_group_metadata()
        consumer.close()
        self.producer.init_transactions(LIMIT_S)
        self.producer.begin_transaction()

    def send(self, offsets: dict[int, int]) -> None:
        rows = [TopicPartition(TOPIC, partition, offset) for partition, offset in offsets.items()]
        self.producer.send_offsets_to_transaction(rows, self.group, LIMIT_S)


def commit(bootstrap: str, offsets: dict[int, int]) -> None:
    """Without a transaction."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    try:
        rows = [TopicPartition(TOPIC, partition, offset) for partition, offset in offsets.items()]
        consumer.commit(offsets=rows, asynchronous=False)
    finally:
        consumer.close()


def told(broker: BrokerProcess, require_stable: bool) -> dict[int, tuple[int, int]]:
    """(committed offset, error code) by partition, once the coordinator has loaded them."""
    client = WireClient(broker.port)
    asked: dict[str, Any] = {
        "group_id": GROUP,
        "topics": [{"name": TOPIC, "partition_indexes": list(range(8))}],
        "require_stable": require_stable,
    }
    answers: list[Any] = []

    def is_loaded() -> bool:
        client.ask("find_coordinator", 3, key=GROUP, key_type=0)
        answers.append(plain(client.ask("offset_fetch", 7, **asked)))
        return not answers[-1]["error_code"]

    try:
        wait_until(is_loaded, LIMIT_S, "the coordinator of the group")
    finally:
        client.close()
    (topic,) = answers[-1]["topics"]
    return {row["partition_index"]: (row["committed_offset"], row["error_code"]) for row in topic["partitions"]}


@pytest.mark.timeout(300)
def test_offsets_of_transactions_in_a_directory_of_apache_kafka(broker_factory: BrokerFactory, against: str) -> None:
    kafka = broker_factory(kind="kafka")
    at = kafka.bootstrap
    create_topic(at, TOPIC, 8)
    commit(at, {COMMITTED: 1, ABORTED: 2, OPEN: 3})
    committed, aborted, is_open = (Transaction(at, name) for name in ("committed", "aborted", "open"))
    committed.send({COMMITTED: 9, ONLY_COMMITTED: 50})
    committed.send({COMMITTED: 10, REPLACED: 40})
    aborted.send({ABORTED: 20, ONLY_ABORTED: 60})
    is_open.send({OPEN: 30, ONLY_OPEN: 70})
    commit(at, {REPLACED: 4})  # written behind the transaction's, which ends after it
    committed.producer.commit_transaction(LIMIT_S)
    aborted.producer.abort_transaction(LIMIT_S)
    expected = {False: LAST, True: STABLE}
    wait_until(lambda: told(kafka, True) == STABLE, LIMIT_S, "Apache Kafka has written the markers")
    assert {is_stable: told(kafka, is_stable) for is_stable in expected} == expected
    assert kafka.stop() in (0, 143)
    target = kafka.start() if against == "kafka" else broker_factory(log_dirs=kafka.log_dirs, kind=against)
    assert {is_stable: told(target, is_stable) for is_stable in expected} == expected
    commit(target.bootstrap, {NEVER: 80})  # and writing goes on behind them
    assert told(target, False) == {**LAST, NEVER: (80, 0)}
    target.stop()
    target.start()
    assert told(target, True) == {**STABLE, NEVER: (80, 0)}
