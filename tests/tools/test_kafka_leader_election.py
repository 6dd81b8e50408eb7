"""``kafka-leader-election`` prints what Kafka's prints, on the same broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from peer.broker_process import BrokerProcess
from peer.java_tools import JavaTools
from tools.comparison import ours, same

LINES = [
    "--election-type preferred --topic le-a --partition 0",
    "--election-type unclean --topic le-a --partition 1",
    "--election-type preferred --topic le-none --partition 0",
    "--election-type preferred --topic le-a --partition 77",
    "--election-type PREFERRED --all-topic-partitions",
    "--election-type none --topic a --partition 0",
    "--topic a --partition 0",
    "--election-type preferred --topic a",
    "--election-type preferred --partition 1 --all-topic-partitions",
    "--election-type preferred --all-topic-partitions --topic a --partition 0",
    "--version",
    "--none",
]
FILES = [
    "",
    "[]",
    "{}",
    '{"partitions":[]}',
    '{"partitions":[{"topic":"le-a","partition":1},{"topic":"le-none","partition":1}]}',
    '{"partitions":[{"topic":"le-a","partition":0},{"topic":"le-a","partition":0}]}',
    '{"partitions":[{"topic":"le-a"}]}',
]


@pytest.fixture(scope="module")
def words(broker: BrokerProcess) -> list[str]:
    given = ["--bootstrap-server", broker.bootstrap]
    ours("kafka-topics", *given, "--create", "--topic", "le-a", "--partitions", "2", "--if-not-exists")
    return given


@pytest.mark.parametrize("line", LINES)
def test_prints_and_ends_as_kafkas(words: list[str], java: JavaTools, line: str) -> None:
    same(java, "kafka-leader-election", *words, *line.split())


@pytest.mark.parametrize("text", FILES)
def test_files_are_read_as_kafkas_does(words: list[str], java: JavaTools, tmp_path: Path, text: str) -> None:
    path = tmp_path / "partitions.json"
    path.write_text(text)
    same(java, "kafka-leader-election", *words, "--election-type", "preferred", "--path-to-json-file", str(path))
