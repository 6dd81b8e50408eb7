"""DeleteRecords on three brokers: answered when every live replica has deleted the records (KIP-107).

A follower's fetch waits for five seconds, unless the leader has news for it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.closest_replica import Brokers
from cluster.cluster import Cluster
from cluster.stores import ON_SQLITE
from peer.broker_process import hang, wait_until

TOPIC = "closest"
"""The topic of ``Brokers``."""
LEADER, FOLLOWER, HANGS = 1, 2, 3
RECORDS = 10
REQUEST_TIMED_OUT = 7
LIMIT_S = 25.0
FETCH_WAIT_S = 20.0
"""How long a follower waits with its fetch: far longer than a busy machine takes to answer."""
QUIET = {"replica.fetch.wait.max.ms": str(int(FETCH_WAIT_S * 1000)), "replica.lag.time.max.ms": "60000"}


@pytest.fixture(params=ON_SQLITE)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path, request.param, overrides=QUIET).running() as made:
        yield made


@pytest.fixture
def brokers(cluster: Cluster) -> Iterator[Brokers]:
    """The brokers with a topic that the first broker leads, and ten records on all replicas."""
    made = Brokers([broker.bootstrap for broker in cluster.brokers])
    made.create(TOPIC, [LEADER, FOLLOWER, HANGS])
    cluster.wait_in_sync(TOPIC, 3)
    made.produce(LEADER, RECORDS, acks=-1)
    yield made
    made.close()


def delete(brokers: Brokers, before: int, limit_s: float) -> tuple[int, int, float]:
    """Deletes the records below ``before``; returns the error code, the low watermark, and the seconds it took."""
    start = time.monotonic()
    asked = [{"name": TOPIC, "partitions": [{"partition_index": 0, "offset": before}]}]
    answer = brokers.ask(LEADER, "delete_records", 2, topics=asked, timeout_ms=int(limit_s * 1000))
    (told,) = answer.topics[0].partitions
    return int(told.error_code), told.low_watermark, time.monotonic() - start


def starts(brokers: Brokers, *nodes: int) -> list[int]:
    """The log start offset that each of the brokers tells consumers."""
    return [brokers.fetch(node, 12, RECORDS)["log_start_offset"] for node in nodes]


def test_all_replicas_have_deleted_when_it_is_answered(brokers: Brokers) -> None:
    for before in (4, 7, 7, RECORDS):
        error, low_watermark, took_s = delete(brokers, before, LIMIT_S)
        assert (error, low_watermark) == (0, before)
        assert starts(brokers, LEADER, FOLLOWER, HANGS) == [before] * 3
        assert took_s < FETCH_WAIT_S / 2, f"up to {before}: a follower waited with its fetch"


def test_a_replica_that_hangs_is_waited_for_until_the_timeout_and_no_more_once_it_is_gone(
    cluster: Cluster, brokers: Brokers
) -> None:
    hang(cluster.broker(HANGS).pid)
    error, low_watermark, took_s = delete(brokers, 4, 1.0)
    assert (error, low_watermark) == (REQUEST_TIMED_OUT, 0)
    assert took_s >= 1.0
    assert starts(brokers, LEADER, FOLLOWER) == [4, 4]
    assert delete(brokers, 4, LIMIT_S)[:2] == (0, 4), "its session ends"
    os.kill(cluster.broker(HANGS).pid, signal.SIGCONT)
    wait_until(lambda: len(brokers.ask(LEADER, "metadata", 12, topics=[]).brokers) == 3, LIMIT_S, "it is back")
    assert delete(brokers, 5, LIMIT_S)[:2] == (0, 5)
    assert starts(brokers, LEADER, FOLLOWER, HANGS) == [5, 5, 5]
