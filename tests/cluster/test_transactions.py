"""Transactions while brokers die: decided once, no partition left with an open transaction (H13).

The brokers share an SQLite file: what a transaction needs of the store is the election of leaders, which the other
tests of this folder play on both stores.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Producer

from cluster.cluster import Cluster
from parity.raw_client import RawClient
from peer.broker_process import hang, wait_until
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import read_topic, wait_until_stable

TARGET, STATE_TOPIC = "copies", "__transaction_state"
LIMIT_S = 40.0


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Cluster]:
    """Three running brokers."""
    with Cluster(tmp_path).running() as made:
        yield made


def state(broker: KafkastoreBroker, transactional_id: str) -> str:
    with closing(RawClient(broker.host, broker.port)) as client:
        answer = client.ask("describe_transactions", 0, {"transactional_ids": [transactional_id]})
        return str(answer.transaction_states[0].transaction_state)


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
    hang(leader.pid)  # it gets no marker
    try:
        (producer.commit_transaction if commits else producer.abort_transaction)(LIMIT_S)
        assert state(first, "decided") == ("PrepareCommit" if commits else "PrepareAbort")
        first.kill()
    finally:
        os.kill(leader.pid, signal.SIGCONT)
    outcome = "CompleteCommit" if commits else "CompleteAbort"
    wait_until(lambda: state(second, "decided") == outcome, LIMIT_S, "the next coordinator completes the transaction")
    wait_until_stable(brokers.bootstrap, TARGET, LIMIT_S)
    read = read_topic(brokers.bootstrap, TARGET, isolation_level="read_committed")
    assert [message.value() for message in read] == ([b"decided"] if commits else [])
