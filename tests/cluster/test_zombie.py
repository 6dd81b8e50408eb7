"""A leader that hangs past its session and wakes up: it cannot acknowledge what nobody else has (spec R1.11; H4, H5)."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from cluster.cluster import SESSION_MS
from cluster.test_failover import TOPIC, assert_replicas_are_equal
from crash.load import Load, assert_all_are_read_back
from peer.broker_process import wait_until

if TYPE_CHECKING:
    from cluster.cluster import Cluster


def test_leader_that_hangs_loses_its_place_and_nothing_acknowledged(cluster: Cluster) -> None:
    cluster.create(TOPIC, 1)
    load = Load(cluster, TOPIC, "load", 1, enable_idempotence=True, socket_timeout_ms=2000)  # type: ignore[arg-type]
    load.run_until_acknowledged(500)
    zombie = cluster.leader(TOPIC)
    os.kill(cluster.broker(zombie).pid, signal.SIGSTOP)
    others = [broker for broker in cluster.brokers if broker is not cluster.broker(zombie)]

    def is_replaced() -> bool:
        return cluster.partition_at(others[0], TOPIC).leader not in (zombie, -1)

    wait_until(is_replaced, SESSION_MS / 1000 + 12, "another broker leads")
    load.run_until_acknowledged(500)
    stale = Producer(
        {
            "bootstrap.servers": cluster.broker(zombie).bootstrap,
            "acks": "all",
            "message.timeout.ms": 3000,
            "log_level": 0,
        }
    )
    answers: list[object] = []
    stale.produce(
        TOPIC, b"to the zombie", partition=0, on_delivery=lambda error, message: answers.append(message.offset())
    )
    os.kill(cluster.broker(zombie).pid, signal.SIGCONT)
    load.run_until_acknowledged(500)
    stale.flush(10)
    load.finish()
    cluster.wait_in_sync(TOPIC, 3)
    assert_all_are_read_back(cluster, TOPIC, [load])  # type: ignore[arg-type]
    assert_replicas_are_equal(cluster, 1)
