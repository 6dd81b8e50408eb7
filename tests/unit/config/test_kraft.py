"""A Kafka 4 file that makes this broker a part of a larger cluster starts no cluster of its own."""

from __future__ import annotations

import socket

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.errors import ConfigError

LONE = {
    "process.roles": "broker,controller",
    "node.id": "2",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
}
ROLES, VOTERS, BOOTSTRAP = "process.roles", "controller.quorum.voters", "controller.quorum.bootstrap.servers"


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        (VOTERS, "1@a:9093,2@b:9093,3@c:9093", "voter 1 is not this broker, whose node.id is 2; this version has no"),
        (VOTERS, "2@b:9093,3@c:9093", "voter 3 is not this broker"),
        (VOTERS, "3@127.0.0.1:9093", "voter 3 is not this broker"),
        (VOTERS, "b:9093", "b:9093 is not id@host:port"),
        (VOTERS, "2@b", "it is not host:port"),
        (ROLES, "broker", "the controllers are other processes"),
        (ROLES, "controller", "this process would serve no clients"),
        (BOOTSTRAP, "localhost:9093,localhost:9094", "it names several controllers"),
        (BOOTSTRAP, "localhost:9094", "localhost:9094 is not a controller listener of this broker"),
        (BOOTSTRAP, "192.0.2.1:9093", "192.0.2.1:9093 is not a controller listener of this broker"),
    ],
)
def test_broker_of_a_larger_cluster_is_refused(key: str, value: str, why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig(LONE | {key: value})
    assert f"for configuration {key}: " in str(refused.value)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (VOTERS, "2@b:9093"),
        (VOTERS, ""),
        (BOOTSTRAP, "localhost:9093"),
        (BOOTSTRAP, f"{socket.gethostname()}:9093"),
        (ROLES, "controller,broker"),
    ],
)
def test_lone_broker_of_a_kraft_file_starts(key: str, value: str) -> None:
    assert [one.name for one in BrokerConfig(LONE | {key: value}).listeners] == ["PLAINTEXT"]


@pytest.mark.parametrize("store", [{"zookeeper.connect": "zk:2181"}, {"kafkastore.metadata.path": "/shared/m.sqlite"}])
@pytest.mark.parametrize("given", [{VOTERS: "1@a:9093,2@b:9093,3@c:9093"}, {ROLES: "broker"}])
def test_brokers_that_share_a_store_are_one_cluster_whatever_the_file_says(
    store: dict[str, str], given: dict[str, str]
) -> None:
    assert BrokerConfig(LONE | given | store).is_member
