"""Kafka's kafka-reassign-partitions and ``kafkastore cluster`` limit moves to a rate (KIP-73).

The rate is measured as the bytes that reach the new replicas between two moments, divided by the seconds between them.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import ConfigResource, ResourceType

from cluster import cluster_command as command
from cluster.cluster import Cluster, log_size
from cluster.test_reassignment import LIMIT_S, PARTITIONS, TOPIC, FourBrokers
from crash.load import Load
from peer.broker_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.java_tools import JavaTools

RATE = 500_000
RECORD_BYTES = 20_000
RECORDS = 400
"""Records in each partition: 24 MB in all, three quarters of a minute at the rate."""

WINDOW = {"replication.quota.window.num": "3", "replica.fetch.max.bytes": "100000"}
"""With these, few bytes pass at once before the rate counts."""

SPAN_BYTES = 4 * RATE
KEYS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")


@pytest.fixture
def four(tmp_path: Path) -> Iterator[FourBrokers]:
    made = Cluster(tmp_path, "sqlite", size=4, overrides=WINDOW)
    try:
        found = FourBrokers(made.start())
        fill(made)
        yield found
    finally:
        made.close()


def fill(cluster: Cluster) -> None:
    settings = {"acks": "all", "batch.num.messages": 4, "log_level": 0}  # a fetch brings at least one batch
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **settings})
    values = random.Random(1)
    for number in range(PARTITIONS):
        for _ in range(RECORDS):
            producer.produce(TOPIC, values.randbytes(RECORD_BYTES), partition=number)
    assert producer.flush(30) == 0


def arrived(four: FourBrokers) -> int:
    """Bytes in the segments of the broker that gets replicas."""
    return log_size(four.cluster.broker(four.new).log_dir.glob(f"{TOPIC}-[0-9]"))


def assert_rate_is_held(four: FourBrokers) -> float:
    """Asserts the rate after the bytes that pass at once; returns it in bytes a second."""
    wait_until(lambda: arrived(four) > 4 * RATE, LIMIT_S, "what passes at once is over")
    start, before = time.monotonic(), arrived(four)
    wait_until(lambda: arrived(four) - before > SPAN_BYTES, LIMIT_S, "it goes on")
    rate = (arrived(four) - before) / (time.monotonic() - start)
    assert RATE / 3 < rate < RATE * 1.5
    return rate


def throttles(four: FourBrokers) -> list[str]:
    """The throttled replicas that the topic names."""
    resource = ConfigResource(ResourceType.TOPIC, TOPIC)
    admin = four.cluster.admin()  # kept: its requests end with its last reference
    found = admin.describe_configs([resource])[resource].result(10)
    return [found[key].value for key in KEYS if found[key].value]


def test_move_with_a_throttle_of_kafkas_tool_is_held_to_it(  # KIP-73
    four: FourBrokers, java: JavaTools, tmp_path: Path, summary: list[str]
) -> None:
    plan = ("--reassignment-json-file", four.plan(tmp_path, four.target))
    printed = four.run(java, *plan, "--execute", "--throttle", str(RATE))
    assert "throttle limit was set" in printed
    assert len(throttles(four)) == 2
    rate = assert_rate_is_held(four)
    load = Load(four.cluster, TOPIC, "load", PARTITIONS, enable_idempotence=True)  # type: ignore[arg-type]
    start = time.monotonic()
    load.run_until_acknowledged(10 * RATE // 200)  # acks=all: replicas that are in sync are not held back
    produced = 10 * RATE / (time.monotonic() - start)
    load.finish()
    assert produced > 2 * RATE
    assert four.run(java, *plan, "--verify").count("is still in progress") == PARTITIONS
    assert len(throttles(four)) == 2
    four.run(java, *plan, "--execute", "--additional", "--throttle", str(1000 * RATE))
    wait_until(lambda: four.replicas() == four.target, LIMIT_S, "it is done")
    assert "Clearing topic-level throttles" in four.run(java, *plan, "--verify")
    wait_until(lambda: not throttles(four), LIMIT_S, "every broker knows that there is no throttle")
    four.assert_settled(four.target, without=four.old)
    summary.append(f"throttled to {RATE:,} B/s: {rate:,.0f} B/s moved, {produced:,.0f} B/s produced beside it")


def test_command_holds_the_rate_and_takes_the_throttle_away(four: FourBrokers, tmp_path: Path) -> None:
    server = ("--bootstrap-server", four.cluster.bootstrap)
    plan = ("--reassignment-json-file", four.plan(tmp_path, four.target))
    process = command.launch("reassign", *server, *plan, "--throttle", str(RATE))
    try:
        assert_rate_is_held(four)
    finally:
        process.kill()
        process.communicate()
    assert len(throttles(four)) == 2
    command.run("reassign", *server, *plan)  # goes on without a rate
    assert four.replicas() == four.target
    wait_until(lambda: not throttles(four), LIMIT_S, "every broker knows that there is no throttle")
