"""Three brokers, a producer with acks=all, and leaders that die: nothing acknowledged is lost (spec R1.1, R1.9, R1.10; H1, H6)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from crash.load import Load, assert_all_are_read_back
from peer.broker_process import wait_until

if TYPE_CHECKING:
    from cluster.cluster import Cluster

TOPIC = "orders"
KILLS = 3


def assert_replicas_are_equal(cluster: Cluster, partitions: int) -> None:
    """Byte for byte, once nobody produces any more (I4)."""
    cluster.wait_in_sync(TOPIC, len(cluster.brokers))
    for number in range(partitions):
        wait_until(
            lambda number=number: len(set(cluster.log_bytes(TOPIC, number))) == 1,  # type: ignore[misc]
            20,
            f"the replicas of partition {number} are equal",
        )


def test_every_acknowledged_record_survives_leaders_that_are_killed(cluster: Cluster) -> None:
    cluster.create(TOPIC, 2)
    load = Load(cluster, TOPIC, "load", 2, enable_idempotence=True)  # type: ignore[arg-type]
    for _ in range(KILLS):
        load.run_until_acknowledged(500)
        dead = cluster.broker(cluster.leader(TOPIC))
        dead.kill()
        load.run_until_acknowledged(500)
        dead.start()
        cluster.wait_in_sync(TOPIC, 3)
    load.finish()
    values = assert_all_are_read_back(cluster, TOPIC, [load])  # type: ignore[arg-type]
    for number, of_partition in values.items():
        assert len(set(of_partition)) == len(of_partition), f"partition {number} has a record twice"
    assert_replicas_are_equal(cluster, 2)


def test_leader_that_stops_orderly_leaves_no_gap(cluster: Cluster) -> None:
    cluster.create(TOPIC, 1)
    load = Load(cluster, TOPIC, "load", 1, enable_idempotence=True)  # type: ignore[arg-type]
    load.run_until_acknowledged(500)
    leaving = cluster.broker(cluster.leader(TOPIC))
    start = time.monotonic()
    assert leaving.stop() == 0
    load.run_until_acknowledged(200)
    assert time.monotonic() - start < 15
    load.finish()
    leaving.start()
    assert_all_are_read_back(cluster, TOPIC, [load])  # type: ignore[arg-type]
    assert_replicas_are_equal(cluster, 1)


def test_all_killed_at_once_come_back_with_everything(cluster: Cluster) -> None:
    cluster.create(TOPIC, 2)
    load = Load(cluster, TOPIC, "load", 2, enable_idempotence=True)  # type: ignore[arg-type]
    load.run_until_acknowledged(1000)
    for broker in cluster.brokers:
        broker.kill()
    cluster.start_brokers()
    load.run_until_acknowledged(200)
    load.finish()
    assert_all_are_read_back(cluster, TOPIC, [load])  # type: ignore[arg-type]
    assert_replicas_are_equal(cluster, 2)
