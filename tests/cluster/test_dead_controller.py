"""Administration goes on through every running broker when the controller dies or hangs (KIP-590)."""

from __future__ import annotations

from contextlib import closing
from itertools import product
from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, ResourceType

from cluster.cluster import Cluster
from cluster.stores import BOTH
from parity.raw_client import RawClient
from peer.broker_process import hang
from peer.java_tools import JavaTools
from peer.kafkastore_broker import KafkastoreBroker
from proof.scope import played

LIMIT_S = 20
"""The limit of each request; a broker that hangs loses its session, and its leaderships, after three seconds."""


def administer(cluster: Cluster, broker: KafkastoreBroker, name: str) -> None:
    """A new client that knows only this broker creates a topic, adds partitions, configures and deletes it."""
    limits = {"operation_timeout": LIMIT_S, "request_timeout": LIMIT_S + 5}
    admin = cluster.admin_at(broker)
    admin.create_topics([NewTopic(name, 1, 2)], **limits)[name].result()
    assert name in cluster.admin_at(broker).list_topics(timeout=10).topics, "it was told before the answer"
    admin.create_partitions([NewPartitions(name, 3)], **limits)[name].result()
    entry = ConfigEntry("retention.ms", "12345", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    admin.incremental_alter_configs([resource], request_timeout=LIMIT_S)[resource].result()
    found = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name)], request_timeout=LIMIT_S)
    assert next(iter(found.values())).result()["retention.ms"].value == "12345"
    admin.delete_topics([name], **limits)[name].result()
    assert name not in cluster.admin_at(broker).list_topics(timeout=10).topics


@pytest.mark.parametrize(
    ("cluster", "how"),  # each store and each end of a controller
    played([("sqlite", "killed"), ("zookeeper", "hangs")], list(product(BOTH, ("killed", "hangs")))),
    indirect=["cluster"],
)
def test_new_client_administers_the_cluster_while_the_controller_is_gone(
    cluster: Cluster, java: JavaTools, how: str
) -> None:
    controller = cluster.controller()
    gone = cluster.broker(controller)
    if how == "killed":
        gone.kill()
    else:
        hang(gone.pid)
    others = [broker for broker in cluster.brokers if broker is not gone]
    for number, broker in enumerate(others):
        administer(cluster, broker, f"orders-{number}")
    assert cluster.controller(others[0]) == cluster.controller(others[1]) != controller
    told = java.tool("kafka-metadata-quorum", "--bootstrap-server", others[1].bootstrap, "describe", "--status")
    assert f"LeaderId:               {cluster.controller(others[0])}\n" in told.out, told
    asked = ("--bootstrap-server", others[0].bootstrap, "--topic", "invoices", "--replication-factor", "2")
    made = java.tool("kafka-topics", "--create", *asked)
    assert made.exit == 0, made


def test_every_broker_serves_what_the_controller_alone_does(cluster: Cluster) -> None:
    cluster.create("orders", 1, 3)

    def ask(broker: KafkastoreBroker, api: str, version: int, **given: Any) -> Any:
        with closing(RawClient(broker.host, broker.port)) as client:
            return client.ask(api, version, {**given, "timeout_ms": 10_000})

    for node, broker in enumerate(cluster.brokers, 1):
        new = {"name": f"t-{node}", "num_partitions": 1, "replication_factor": 2}
        assert [one.error_code for one in ask(broker, "create_topics", 5, topics=[new]).topics] == [0]
        more = {"name": f"t-{node}", "count": 2}
        assert [one.error_code for one in ask(broker, "create_partitions", 2, topics=[more]).results] == [0]
        elected = ask(broker, "elect_leaders", 2, election_type=0, topic_partitions=None)
        assert elected.error_code == 0
        moved = {"name": "orders", "partitions": [{"partition_index": 0, "replicas": [3, 2, 1]}]}
        answer = ask(broker, "alter_partition_reassignments", 0, topics=[moved])
        assert [one.error_code for one in answer.responses[0].partitions] == [0]
        assert ask(broker, "list_partition_reassignments", 0, topics=None).error_code == 0
        gone = {"name": f"t-{node}", "topic_id": None}
        assert [one.error_code for one in ask(broker, "delete_topics", 6, topics=[gone]).responses] == [0]
