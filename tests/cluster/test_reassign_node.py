"""A node of ZooKeeper makes a topic move: the tools of Apache Kafka 2.0 drive the cluster."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

from cluster.cluster import Cluster
from cluster.test_reassignment import (
    LIMIT_S,
    PARTITIONS,
    TOPIC,
    FourBrokers,
    assert_nothing_is_lost_or_doubled,
    start_load,
)
from peer import zookeeper_tools
from peer.broker_process import hang, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def four(tmp_path: Path) -> Iterator[FourBrokers]:
    patient = {"zookeeper.session.timeout.ms": "60000"}  # a broker that hangs is still alive when the tool has started
    made = Cluster(tmp_path, "zookeeper", size=4, overrides=patient)
    try:
        yield FourBrokers(made.start())
    finally:
        made.close()


def run(four: FourBrokers, tool: str, *args: str) -> str:
    assert four.cluster.zookeeper is not None
    return zookeeper_tools.run(tool, f"{four.cluster.zookeeper.address}/kafkastore", *args)


def reassign(four: FourBrokers, *args: str) -> str:
    return run(four, "kafka-reassign-partitions", *args)


def replicas_told(four: FourBrokers) -> list[set[int]]:
    """The replicas of each partition, as kafka-topics reads them from ZooKeeper's nodes."""
    lines = run(four, "kafka-topics", "--describe", "--topic", TOPIC).splitlines()
    fields = [dict(part.split(": ", 1) for part in line.strip().split("\t") if ": " in part) for line in lines[1:]]
    return [{int(replica) for replica in one["Replicas"].split(",")} for one in fields]


def test_tool_of_kafka_2_moves_a_topic_under_load(four: FourBrokers, tmp_path: Path) -> None:
    load = start_load(four.cluster)
    plan = four.plan(tmp_path, four.target)
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": TOPIC}]}))
    brokers = ",".join(str(node) for node in (four.controller, four.new, four.other))
    proposed = reassign(four, "--topics-to-move-json-file", str(topics), "--broker-list", brokers, "--generate")
    current, wanted = (json.loads(line) for line in proposed.splitlines() if line.startswith("{"))
    assert [one["replicas"] for one in sorted(current["partitions"], key=lambda one: one["partition"])] == (
        four.assignment
    )
    assert {node for one in wanted["partitions"] for node in one["replicas"]} == {
        four.controller,
        four.new,
        four.other,
    }
    printed = reassign(four, "--reassignment-json-file", plan, "--execute", "--throttle", "100000000")
    assert "Successfully started reassignment of partitions." in printed
    load.run_until_acknowledged(1000)

    def is_verified() -> bool:
        said = reassign(four, "--reassignment-json-file", plan, "--verify")
        assert "failed" not in said, said
        return said.count("completed successfully") == PARTITIONS and "Throttle was removed" in said

    wait_until(is_verified, LIMIT_S, "the tool says that it is done")
    load.run_until_acknowledged(500)
    load.finish()
    assert replicas_told(four) == [set(replicas) for replicas in four.target]
    assert_nothing_is_lost_or_doubled(four.cluster, load)
    four.assert_settled(four.target, without=four.old)


def test_move_under_way_is_shown_and_refuses_another(four: FourBrokers, tmp_path: Path) -> None:
    load = start_load(four.cluster)
    hang(four.cluster.broker(four.new).pid)
    plan = four.plan(tmp_path, four.target)
    reassign(four, "--reassignment-json-file", plan, "--execute")
    both = [set(before) | set(after) for before, after in zip(four.assignment, four.target, strict=True)]
    wait_until(lambda: replicas_told(four) == both, LIMIT_S, "kafka-topics tells old and new replicas")
    again = reassign(four, "--reassignment-json-file", plan, "--execute")
    assert "There is an existing assignment running." in again
    said = reassign(four, "--reassignment-json-file", plan, "--verify")
    assert said.count("is still in progress") == PARTITIONS
    os.kill(four.cluster.broker(four.new).pid, signal.SIGCONT)
    load.run_until_acknowledged(500)
    load.finish()
    four.assert_settled(four.target, without=four.old)
    assert reassign(four, "--reassignment-json-file", plan, "--verify").count("completed successfully") == PARTITIONS


def test_preferred_leaders_come_back_by_the_tool_of_kafka_2(four: FourBrokers) -> None:  # its election node
    four.cluster.broker(four.other).kill()
    wait_until(lambda: four.cluster.partition(TOPIC, 2).leader != four.other, LIMIT_S, "another broker leads")
    four.cluster.broker(four.other).start()
    four.cluster.wait_in_sync(TOPIC, 3)
    assert "Successfully started" in run(four, "kafka-preferred-replica-election")
    wait_until(lambda: four.cluster.partition(TOPIC, 2).leader == four.other, LIMIT_S, "it leads again")
