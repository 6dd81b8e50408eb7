"""``kafka-cluster``, ``kafka-broker-api-versions`` and ``kafka-metadata-quorum`` print what Kafka's print, on the same
broker."""

from __future__ import annotations

import re

import pytest

from kafkastore.admin.brokers import Broker, ClusterDescription
from kafkastore.cli.kafka.cluster import endpoints_text
from peer.broker_process import BrokerProcess
from peer.java_tools import JavaTools
from tools.comparison import ours, same

QUORUM = [
    "describe --status",
    "describe --replication",
    "describe --replication --human-readable",
    "describe",
    "describe --status --replication",
    "describe --status --human-readable",
    "remove-controller -i 3 -d AAAAAAAAAAAAAAAAAAAAAw --dry-run",
    "remove-controller -i 3 -d AAAAAAAAAAAAAAAAAAAAAw",
    "remove-controller -i -3 -d x",
    "remove-controller -i 3 -d x",
    "none",
]


@pytest.mark.parametrize(
    "line",
    [
        "cluster-id",
        "list-endpoints",
        "list-endpoints --include-fenced-brokers",
        "api-versions",
        "unregister --id 9",
        "unregister-controller --id 9",
    ],
)
def test_cluster_prints_and_ends_as_kafkas(broker: BrokerProcess, java: JavaTools, line: str) -> None:
    same(java, "kafka-cluster", *line.split(), "--bootstrap-server", broker.bootstrap)


def test_apis_of_brokers_are_listed_as_kafkas_does(broker: BrokerProcess, java: JavaTools) -> None:
    words = ("--bootstrap-server", broker.bootstrap)
    assert "Produce(0): 0 to 13 [usable: 13]" in same(java, "kafka-broker-api-versions", *words)
    same(java, "kafka-broker-api-versions")


def without_times(text: str) -> str:
    text = re.sub(r"\d{13}", "MS", re.sub(r"\d+ ms ago *", "N ms ago", text))
    text = re.sub(r"(HighWatermark:|LagTimeMs:) *\S+", r"\1", text)
    return re.sub(r"(?m)^(\d+ +\t\S+\t)\d+ *", r"\1", text)


@pytest.mark.parametrize("line", QUORUM)
def test_quorum_is_described_as_kafkas_does(broker: BrokerProcess, java: JavaTools, line: str) -> None:
    words = ("--bootstrap-server", broker.bootstrap, *line.split())
    same(java, "kafka-metadata-quorum", *words, plain=without_times)


def test_endpoints_are_columns_as_wide_as_the_names() -> None:
    brokers = {7: Broker("h", 1, None, True), 10: Broker("longer.host", 22200, "r", False)}
    assert endpoints_text(ClusterDescription("c", 7, brokers), is_of_controllers=False) == (
        "ID         HOST        PORT       RACK STATE      ENDPOINT_TYPE  \n"
        "7          h           1          null fenced     broker         \n"
        "10         longer.host 22200      r unfenced   broker         \n"
    )
    assert " STATE " not in endpoints_text(ClusterDescription("c", 7, brokers), is_of_controllers=True)


def test_wrong_command_lines_end_with_1(broker: BrokerProcess) -> None:
    for words in ([], ["none"], ["cluster-id"], ["unregister", "--id", "x", "-b", broker.bootstrap], ["--help"]):
        assert ours("kafka-cluster", *words).exit == 1
    fenced = ours("kafka-cluster", "list-endpoints", "--include-fenced-brokers", "-C", "127.0.0.1:1")
    assert fenced.err == "The option --include-fenced-brokers is only supported with --bootstrap-server option\n"


def test_a_broker_is_no_controller(broker: BrokerProcess) -> None:
    refused = ours("kafka-cluster", "list-endpoints", "-C", broker.bootstrap)
    assert refused.exit == 1
    assert "we wanted an endpoint of type CONTROLLER" in refused.err
