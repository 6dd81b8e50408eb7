"""While the metadata store is away each administrative request ends at its own timeout, whatever requests wait before
it."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from cluster.cluster import Cluster
from cluster.stores import BOTH
from parity.raw_client import RawClient
from peer.broker_process import wait_until
from peer.kafkastore_broker import KafkastoreBroker

TIMEOUT_MS = 1_000
SLACK_S = 3.0
"""Slack for a busy machine; the requests once waited for 7 s, and for more than 60 s."""

REQUEST_TIMED_OUT = 7

STOP_LIMIT_S = 60.0
"""Some calls of the store end at its limit, one after the other."""


@contextmanager
def store_away(cluster: Cluster) -> Iterator[None]:
    """No write succeeds: ZooKeeper is killed, or another connection keeps the SQLite file locked."""
    if cluster.zookeeper is not None:
        cluster.zookeeper.kill()
        yield
        cluster.zookeeper.start()
        return
    with closing(sqlite3.connect(cluster.metadata_path, isolation_level=None, check_same_thread=False)) as keeper:
        keeper.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            keeper.execute("ROLLBACK")


def requests(topic: str, new: str) -> list[tuple[str, int, dict[str, Any]]]:
    """Requests of every kind that changes metadata."""
    created = {"name": new, "num_partitions": 1, "replication_factor": 2}
    moved = {"name": topic, "partitions": [{"partition_index": 0, "replicas": [3, 2, 1]}]}
    return [
        ("create_topics", 5, {"topics": [created]}),
        ("create_topics", 5, {"topics": [{**created, "name": f"{new}-second"}]}),
        ("create_topics", 5, {"topics": [{**created, "name": f"{new}-third"}]}),
        ("create_partitions", 2, {"topics": [{"name": topic, "count": 5}]}),
        ("alter_partition_reassignments", 0, {"topics": [moved]}),
        ("elect_leaders", 2, {"election_type": 1, "topic_partitions": [{"topic": topic, "partitions": [0]}]}),
        ("delete_topics", 5, {"topic_names": [topic]}),
    ]


def code_of(answer: Any) -> int:
    if getattr(answer, "error_code", 0):
        return int(answer.error_code)
    names = ("topics", "results", "responses", "replica_election_results")
    row = next(getattr(answer, name) for name in names if hasattr(answer, name))[0]
    for inner in ("partitions", "partition_result"):
        row = getattr(row, inner)[0] if hasattr(row, inner) else row
    return int(row.error_code)


@pytest.mark.parametrize("cluster", BOTH, indirect=True)
def test_every_request_ends_at_its_own_time_and_the_cluster_goes_on_when_the_store_is_back(cluster: Cluster) -> None:
    cluster.create("orders", 1, 3)
    with closing(RawClient(cluster.broker(1).host, cluster.broker(1).port)) as client:
        for api, version, given in requests("nothing", "no spaces"):
            client.ask(api, version, {**given, "timeout_ms": TIMEOUT_MS})  # loads what first requests load
    outcomes: dict[tuple[int, int], tuple[str, int, float]] = {}

    def ask(node: int, number: int, broker: KafkastoreBroker, api: str, version: int, given: dict[str, Any]) -> None:
        with closing(RawClient(broker.host, broker.port)) as client:
            began = time.monotonic()
            code = code_of(client.ask(api, version, {**given, "timeout_ms": TIMEOUT_MS}))
            outcomes[node, number] = api, code, time.monotonic() - began

    with store_away(cluster):
        threads = [
            threading.Thread(target=ask, args=(node, number, broker, *asked))
            for node, broker in enumerate(cluster.brokers, 1)
            for number, asked in enumerate(requests("orders", f"new-{node}"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(outcomes) == len(threads), "each was answered"
    ended = {one for one in outcomes.values() if one[0] != "elect_leaders"}
    assert {code for _, code, _ in ended} == {REQUEST_TIMED_OUT}, outcomes
    assert max(took_s for _, _, took_s in outcomes.values()) < TIMEOUT_MS / 1000 + SLACK_S, outcomes

    def is_served() -> bool:
        with closing(RawClient(cluster.broker(1).host, cluster.broker(1).port)) as client:
            asked = {"topics": [{"name": "later", "num_partitions": 1, "replication_factor": 2}], "timeout_ms": 5_000}
            return code_of(client.ask("create_topics", 5, asked)) in (0, 36)

    wait_until(is_served, 30.0, "a topic is made when the store is back")
    made = [name for name in cluster.admin().list_topics(timeout=10).topics if name.startswith("new-")]
    assert len(made) <= 1, "only what the store had been handed may still happen"


@pytest.mark.parametrize("cluster", BOTH, indirect=True)
def test_brokers_close_their_logs_and_end_while_the_store_is_away(cluster: Cluster) -> None:
    """The controller waited for the store for ever, and so did its stop."""
    cluster.create("orders", 3, 3)
    with store_away(cluster):
        time.sleep(1)  # so that the controller waits for the store already
        for broker in cluster.brokers:
            os.kill(broker.pid, signal.SIGTERM)
        wait_until(lambda: not any(broker.is_running() for broker in cluster.brokers), STOP_LIMIT_S, "all have ended")
    assert all((folder / ".kafka_cleanshutdown").exists() for broker in cluster.brokers for folder in broker.log_dirs)
