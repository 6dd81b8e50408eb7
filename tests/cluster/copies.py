"""A copy of records by transactions while the coordinator, a leader and all brokers are killed: every record once and
in order, no partition left with an open transaction.

``python -m cluster.copies --rounds N``, each round on three new brokers. Not among the tests: librdkafka 2.16 at times
pauses for longer than a test should wait.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
from contextlib import closing
from functools import partial
from pathlib import Path

from confluent_kafka import KafkaError, Message, Producer

from cluster.cluster import Cluster
from cluster.copier import Copier
from parity.raw_client import RawClient
from peer.broker_process import wait_until
from peer.topics import read_topic, wait_until_stable

SOURCE, TARGET = "orders", "copies"
PARTITIONS = 3
ROUND_RECORDS = 500
LIMIT_S = 120.0


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


def copy(brokers: Cluster) -> None:
    """One round; raises AssertionError unless every record was copied once and in order."""
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
        wait_until_stable(brokers.bootstrap, topic, LIMIT_S)
    found: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    for message in read_topic(brokers.bootstrap, TARGET, isolation_level="read_committed", check_crcs=True):
        found[message.partition() or 0].append(int(message.value() or b"-1"))
    assert found == {number: list(range(number, sent, PARTITIONS)) for number in range(PARTITIONS)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m cluster.copies", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    for number in range(parser.parse_args().rounds):
        with (
            tempfile.TemporaryDirectory(prefix="kafkastore-copies-") as folder,
            Cluster(Path(folder)).running() as brokers,
        ):
            copy(brokers)
        print(f"round {number}: every record once and in order", flush=True)


if __name__ == "__main__":
    main()
