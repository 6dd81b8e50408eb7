"""Apache Kafka's kafka-leader-election on three brokers, preferred and unclean (KIP-183, KIP-460)."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import NewTopic

from cluster.cluster import Cluster
from cluster.stores import ON_ZOOKEEPER
from peer.broker_process import wait_until
from peer.java_tools import JavaTools, ToolResult

TOPIC = "orders"
LIMIT_S = 30.0


def elect(cluster: Cluster, java: JavaTools, kind: str, *args: str) -> ToolResult:
    running = next(broker for broker in cluster.brokers if broker.is_running())
    given = args or ("--all-topic-partitions",)
    return java.tool("kafka-leader-election", "--bootstrap-server", running.bootstrap, "--election-type", kind, *given)


def make(cluster: Cluster, *assignment: list[int]) -> None:
    topic = NewTopic(TOPIC, len(assignment), replica_assignment=list(assignment), config={"min.insync.replicas": "1"})
    admin = cluster.admin()  # kept: its requests end with its last reference
    admin.create_topics([topic], operation_timeout=20)[TOPIC].result(30)


def test_preferred_leaders_come_back_when_they_are_asked_for(cluster: Cluster, java: JavaTools) -> None:  # KIP-183
    make(cluster, [2, 3, 1], [1, 2, 3])
    one = ("--topic", TOPIC, "--partition", "0")
    assert "Valid replica already elected for partitions orders-0" in elect(cluster, java, "preferred", *one).out
    cluster.broker(2).kill()
    wait_until(lambda: cluster.partition(TOPIC).leader not in (2, -1), LIMIT_S, "another leads")
    refused = elect(cluster, java, "preferred", *one)
    assert refused.exit == 1
    assert "The preferred leader was not available." in refused.out + refused.err
    cluster.broker(2).start()
    cluster.wait_in_sync(TOPIC, 3)
    done = elect(cluster, java, "preferred")
    assert done.exit == 0, done
    assert "Successfully completed leader election (PREFERRED) for partitions orders-0" in done.out
    wait_until(lambda: [cluster.partition(TOPIC, number).leader for number in (0, 1)] == [2, 1], LIMIT_S, "all know")


@pytest.mark.parametrize("cluster", ON_ZOOKEEPER, indirect=True)
def test_unclean_election_is_done_only_when_it_is_asked_for(cluster: Cluster, java: JavaTools) -> None:  # KIP-460
    make(cluster, [2, 3])
    assert "Valid replica already elected" in elect(cluster, java, "unclean", "--topic", TOPIC, "--partition", "0").out
    cluster.broker(3).kill()
    wait_until(lambda: cluster.partition(TOPIC).isrs == [2], LIMIT_S, "one is in sync")
    cluster.broker(2).kill()
    wait_until(lambda: cluster.partition(TOPIC).leader == -1, LIMIT_S, "nobody leads")
    refused = elect(cluster, java, "unclean")
    assert refused.exit == 1
    assert "Eligible topic partition leaders are not available." in refused.out + refused.err
    cluster.broker(3).start()
    cluster.wait_for_brokers(2)
    assert cluster.partition(TOPIC).leader == -1
    done = elect(cluster, java, "unclean")
    assert "Successfully completed leader election (UNCLEAN) for partitions orders-0" in done.out, done
    wait_until(lambda: cluster.partition(TOPIC).leader == 3, LIMIT_S, "all know")
