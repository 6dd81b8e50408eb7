"""A bulk load into a replicated topic: the followers have what the leader adopted, byte for byte, and a leader that is
killed within the load costs and doubles no record (docs/bulk-load.md)."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest

import kafkastore
from cluster.cluster import Cluster
from peer.broker_process import wait_until
from peer.topics import read_topic

TOPIC = "filled"
ROWS = 60_000
LIMIT_S = 60
SMALL = {"segment.bytes": "1048576", "min.insync.replicas": "2", "retention.ms": "-1"}


def table(first: int) -> pa.Table:
    values = [f"{number} ".encode().ljust(500, b".") for number in range(first, first + ROWS)]
    return pa.table({"value": pa.array(values, pa.binary()), "partition": pa.array([0] * ROWS, pa.int32())})


def numbers(cluster: Cluster) -> list[int]:
    return [int((message.value() or b"").split(b" ")[0]) for message in read_topic(cluster.bootstrap, TOPIC)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("cluster", ["sqlite"], indirect=True)
def test_followers_have_the_load_and_a_killed_leader_neither_loses_nor_doubles_it(cluster: Cluster) -> None:
    cluster.create(TOPIC, 1, 3, SMALL)
    first = kafkastore.load(TOPIC, table(0), bootstrap_servers=cluster.bootstrap)
    assert first.partitions[0].last_offset == ROWS - 1
    wait_until(lambda: cluster.has_equal_logs(TOPIC), LIMIT_S, "equal logs")
    leader = cluster.broker(cluster.leader(TOPIC))
    folder: Path = leader.log_dir / f"{TOPIC}-0"
    before = len(list(folder.glob("*.log")))
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(kafkastore.load(TOPIC, table(ROWS), bootstrap_servers=cluster.bootstrap, load_id="second"))
        except kafkastore.LoadError as error:
            outcome.append(error)

    loading = threading.Thread(target=run)
    loading.start()
    wait_until(lambda: len(list(folder.glob("*.log"))) > before + 3, LIMIT_S, "a part of the load")
    leader.kill()
    loading.join(LIMIT_S)
    assert len(outcome) == 1
    assert cluster.leader(TOPIC) != int(leader.properties()["node.id"])
    again = kafkastore.load(TOPIC, table(ROWS), bootstrap_servers=cluster.bootstrap, load_id="second")
    assert again.partitions[0].records == ROWS
    leader.start()
    cluster.wait_in_sync(TOPIC, 3)
    wait_until(lambda: cluster.has_equal_logs(TOPIC), LIMIT_S, "equal logs")
    assert numbers(cluster) == list(range(2 * ROWS))
    left = [path for broker in cluster.brokers for path in broker.log_dir.glob("*.load-*")]
    wait_until(lambda: not any(path.exists() for path in left), LIMIT_S, "the load's directories gone")
