"""``kafka-features`` prints what Kafka's prints, on the same broker. Nothing is changed: all updates are dry runs, or
refused."""

from __future__ import annotations

import re

import pytest

from peer.broker_process import BrokerProcess
from peer.java_tools import JavaTools
from tools.comparison import ours, same

LINES = [
    "describe",
    "describe --node-id 1",
    "version-mapping",
    "version-mapping --release-version 3.7.1",
    "version-mapping --release-version none",
    "feature-dependencies --feature eligible.leader.replicas.version=1 --feature metadata.version=20",
    "feature-dependencies --feature none=1",
    "feature-dependencies --feature metadata.version=99",
    "feature-dependencies --feature group.version=99",
    "feature-dependencies --feature group.version",
    "upgrade",
    "upgrade --dry-run --feature transaction.version=2",
    "upgrade --dry-run --metadata 4.4-IV0",
    "upgrade --feature none=1",
    "upgrade --feature group.version=1 --feature group.version=1",
    "upgrade --release-version 4.0 --feature a=1",
    "upgrade --metadata none",
    "downgrade --dry-run --feature transaction.version=1",
    "downgrade --dry-run --unsafe --feature transaction.version=1",
    "disable --feature transaction.version --dry-run",
    "disable",
    "none",
    "upgrade --none",
]


@pytest.mark.parametrize("line", LINES)
def test_prints_and_ends_as_kafkas(broker: BrokerProcess, java: JavaTools, line: str) -> None:
    same(java, "kafka-features", "--bootstrap-server", broker.bootstrap, *line.split())


def test_dry_run_changes_nothing(broker: BrokerProcess) -> None:
    words = ("--bootstrap-server", broker.bootstrap)
    assert ours("kafka-features", *words, "downgrade", "--dry-run", "--feature", "transaction.version=1").exit == 0
    described = ours("kafka-features", *words, "describe").out
    assert re.search(r"transaction.version .*FinalizedVersionLevel: 2 ", described), described


def test_cluster_is_to_be_named_once() -> None:
    assert ours("kafka-features", "describe").err == (
        "Command line error: You must specify either --bootstrap-controller or --bootstrap-server.. Type --help for "
        "help.\n"
    )
    both = ours("kafka-features", "--bootstrap-server", "a:1", "--bootstrap-controller", "b:1", "describe")
    assert both.exit == 1
    assert "not allowed with argument" in both.err
