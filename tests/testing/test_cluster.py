"""Several brokers in the process of a test: leaders that move, brokers that come back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkastore.errors import ConfigError
from kafkastore.testing import Cluster
from testing.clients import produce, producer, values_of


@pytest.fixture(scope="module")
def of_module() -> Iterator[Cluster]:
    with Cluster(3, topics={"t": 3}) as one:
        yield one


@pytest.fixture
def cluster(of_module: Cluster) -> Iterator[Cluster]:
    """All of its brokers run."""
    yield of_module
    of_module.start()


def test_replicas_are_on_every_broker(cluster: Cluster) -> None:
    cluster.create_topic("u", partitions=2)
    for node in cluster.brokers:
        assert [sorted(one.replicas) for one in node.server.image.topics["u"].partitions] == [[1, 2, 3]] * 2
    assert {cluster.wait_for_leader("t", number).node_id for number in range(3)} == {1, 2, 3}
    cluster.delete_topic("u")


def test_kill_of_a_leader_makes_another_one_and_loses_nothing(cluster: Cluster) -> None:
    cluster.create_topic("kept")
    client = producer(cluster, acks="all")
    assert produce(client, "kept", [b"a"]) == [None]
    leader = cluster.wait_for_leader("kept")
    leader.kill()
    successor = cluster.wait_for_leader("kept")
    assert successor is not leader
    assert produce(client, "kept", [b"b"]) == [None]
    leader.start()
    assert values_of(cluster, "kept", 2) == [b"a", b"b"]


def test_killed_controller_has_a_successor_that_makes_topics(cluster: Cluster) -> None:
    controller = cluster.controller()
    assert controller is not None
    controller.kill()
    cluster.create_topic("made-by-the-next", replication_factor=2)
    assert cluster.controller() not in (None, controller)


def test_restart_of_a_broker_keeps_its_port(cluster: Cluster) -> None:
    node = cluster.broker(2)
    port = node.port
    node.restart()
    assert node.port == port
    assert produce(cluster, "t", [b"a"]) == [None]
    with pytest.raises(ConfigError, match="broker 4 is none"):
        cluster.broker(4)


def test_faults_are_of_one_broker(cluster: Cluster) -> None:
    leader = cluster.wait_for_leader("t")
    order = leader.faults.answer("Produce", error="NOT_LEADER_OR_FOLLOWER", times=2)
    assert produce(cluster, "t", [b"a"]) == [None]
    assert order.count == 2


def test_named_directory_is_the_same_cluster_again(tmp_path: Path) -> None:
    with Cluster(2, directory=tmp_path, topics={"t": 1}) as first:
        assert produce(first, "t", [b"a"]) == [None]
        cluster_id = first.brokers[0].cluster_id
    with Cluster(2, directory=tmp_path, topics={"t": 1}) as second:
        assert second.brokers[1].cluster_id == cluster_id
        assert not any(one.server.engine.recovery().unclean_logs() for one in second.brokers)
        assert values_of(second, "t", 1) == [b"a"]


def test_number_of_brokers_is_checked() -> None:
    with pytest.raises(ConfigError, match="brokers=0 is not between 1 and 9"):
        Cluster(0)
