"""Transactions while brokers die: copied exactly once, decided once, no partition left with an open transaction (H13).

The brokers share an SQLite file: what a transaction needs of the store is the election of leaders, which the other
tests of this folder play on both stores.
"""

from __future__ import annotations

import os
import signal
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from cluster.cluster import Cluster
from cluster.copier import Copier
from parity.raw_client import RawClient
from peer.broker_process import wait_until
from peer.topics import end_offsets, last_stable_offsets, read_topic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.kafkastore_broker import KafkastoreBroker

SOURCE, TARGET, STATE_TOPIC = "orders", "copies", "__transaction_state"
PARTITIONS = 3
ROUND_RECORDS = 500
LIMIT_S = 40.0


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Cluster]:
    """Three running brokers."""
    made = Cluster(tmp_path)
    try:
        yield made.start()
    finally:
        made.close()


def fill(bootstrap: str, first: int) -> None:
    """A round of numbered records, in their order within each partition."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    for number in range(first, first + ROUND_RECORDS):
        producer.produce(SOURCE, str(number), partition=number % PARTITIONS, on_delivery=delivered)
    assert producer.flush(LIMIT_S) == 0
    assert not failed


def coordinator(cluster: Cluster, transactional_id: str) -> int:
    """The node id of the coordinator, as a running broker answers it."""
    broker = next(broker for broker in cluster.brokers if broker.is_running())
    found = -1

    def answered() -> bool:
        nonlocal found
        with closing(RawClient(broker.host, broker.port)) as client:
            asked = {"key_type": 1, "coordinator_keys": [transactional_id]}
            found = int(client.ask("find_coordinator", 4, asked).coordinators[0].node_id)
        return found > 0

    wait_until(answered, LIMIT_S, "a coordinator")
    return found


def state(broker: KafkastoreBroker, transactional_id: str) -> str:
    with closing(RawClient(broker.host, broker.port)) as client:
        answer = client.ask("describe_transactions", 0, {"transactional_ids": [transactional_id]})
        return str(answer.transaction_states[0].transaction_state)


def wait_until_stable(cluster: Cluster, topic: str) -> None:
    """Waits until no partition of the topic has an open transaction."""

    def is_stable() -> bool:
        try:
            stable = last_stable_offsets(cluster.bootstrap, topic)
        except KafkaException:
            return False
        ends = end_offsets(cluster.bootstrap, topic)
        return {number: high for number, (_, high) in ends.items()} == stable

    wait_until(is_stable, LIMIT_S, f"{topic} has no open transaction")


# ---- what happens while the copier runs
def kill_coordinator(cluster: Cluster) -> None:
    broker = cluster.broker(coordinator(cluster, "copier"))
    broker.kill()
    broker.start()


def kill_leader(cluster: Cluster) -> None:
    broker = cluster.broker(cluster.leader(TARGET))
    broker.kill()
    broker.start()


def kill_all(cluster: Cluster) -> None:
    for broker in cluster.brokers:
        os.kill(broker.pid, signal.SIGKILL)
    for broker in cluster.brokers:
        broker.kill()
    cluster.start_brokers()


def test_copy_has_every_record_once_in_order_after_deaths_of_coordinator_leader_and_all(brokers: Cluster) -> None:
    for topic in (SOURCE, TARGET):
        brokers.create(topic, PARTITIONS, 3)
    copier = Copier(brokers.bootstrap, SOURCE, TARGET, PARTITIONS)
    copier.start()
    sent = 0
    for happens in (kill_coordinator, kill_leader, kill_all):
        fill(brokers.bootstrap, sent)
        enough = sent + ROUND_RECORDS // 4
        wait_until(partial(copier.has_copied, enough), LIMIT_S, f"a part is copied; {copier.errors}")
        sent += ROUND_RECORDS
        happens(brokers)
    fill(brokers.bootstrap, sent)
    sent += ROUND_RECORDS

    def copies() -> int:
        return len(read_topic(brokers.bootstrap, TARGET, isolation_level="read_committed", fetch_wait_max_ms=20))

    wait_until(lambda: copies() >= sent, LIMIT_S, f"all {sent} are copied; errors: {copier.errors[-5:]}")
    copier.finish(LIMIT_S)
    for topic in (TARGET, "__consumer_offsets"):
        wait_until_stable(brokers, topic)
    found: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    for message in read_topic(brokers.bootstrap, TARGET, isolation_level="read_committed", check_crcs=True):
        found[message.partition() or 0].append(int(message.value() or b"-1"))
    assert found == {number: list(range(number, sent, PARTITIONS)) for number in range(PARTITIONS)}


@pytest.mark.parametrize("commits", [True, False], ids=["commit", "abort"])
def test_decision_of_a_coordinator_that_died_is_completed_by_the_next_one(brokers: Cluster, *, commits: bool) -> None:
    brokers.create_on(STATE_TOPIC, [[1, 2]], {"min.insync.replicas": "1", "cleanup.policy": "compact"})
    brokers.create_on(TARGET, [[3]], {"min.insync.replicas": "1"})
    first, second, leader = brokers.brokers
    producer = Producer({"bootstrap.servers": brokers.bootstrap, "transactional.id": "decided", "log_level": 0})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce(TARGET, "decided", partition=0)
    assert producer.flush(LIMIT_S) == 0
    assert state(first, "decided") == "Ongoing"
    os.kill(leader.pid, signal.SIGSTOP)  # the leader gets no marker
    try:
        (producer.commit_transaction if commits else producer.abort_transaction)(LIMIT_S)
        assert state(first, "decided") == ("PrepareCommit" if commits else "PrepareAbort")
        first.kill()
    finally:
        os.kill(leader.pid, signal.SIGCONT)
    outcome = "CompleteCommit" if commits else "CompleteAbort"
    wait_until(lambda: state(second, "decided") == outcome, LIMIT_S, "the next coordinator completes the transaction")
    wait_until_stable(brokers, TARGET)
    read = read_topic(brokers.bootstrap, TARGET, isolation_level="read_committed")
    assert [message.value() for message in read] == ([b"decided"] if commits else [])
