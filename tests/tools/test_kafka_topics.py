"""``kafka-topics`` prints what Kafka's prints, on the same broker."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from peer.broker_process import BrokerProcess
from peer.java_tools import JavaTools
from tools.comparison import ours, same

PREFIX = "kt"
NAMES = [f"{PREFIX}-{letter}" for letter in "abcdefgh"]
CONFIGS = ("cleanup.policy=compact,delete", "max.message.bytes=1000", "min.insync.replicas=2", "retention.ms=5000")
ERROR = "Error while executing topic command : "


@pytest.fixture(scope="module")
def words(broker: BrokerProcess) -> Iterator[list[str]]:
    """--bootstrap-server of a broker with topics."""
    given = ["--bootstrap-server", broker.bootstrap]
    for name in NAMES:
        assert ours("kafka-topics", *given, "--create", "--topic", name, "--partitions", "2").out
    configs = [word for config in CONFIGS for word in ("--config", config)]
    made = ours("kafka-topics", *given, "--create", "--topic", f"{PREFIX}.z", "--replica-assignment", "1,1", *configs)
    assert made.out.endswith(f"Created topic {PREFIX}.z.\n")
    yield given
    assert ours("kafka-topics", *given, "--delete", "--topic", f"{PREFIX}[.-].*").exit == 0
    assert ours("kafka-topics", *given, "--list", "--topic", f"{PREFIX}[.-].*").out == "\n"


LOOKS = [
    "--list --topic kt[.-].*",
    "--list --topic kt-a,kt-b",
    "--list --topic kt-none --exclude-internal",
    "--describe --topic kt[.-].*",
    "--describe --topic kt-b,kt-h",
    "--describe --topic kt-a,kt-b,kt.z",
    "--describe --topic kt[.-].* --partition-size-limit-per-response 3",
    "--describe --topic kt.* --topics-with-overrides",
    "--describe --topic kt.* --under-replicated-partitions",
    "--describe --topic kt.* --unavailable-partitions",
    "--describe --topic kt.* --under-min-isr-partitions",
    "--describe --topic kt.* --at-min-isr-partitions",
    "--describe --topic kt-none",
    "--describe --topic kt-none --if-exists",
    "--describe --topic-id kkGr9qYQSfCGOHBpTAIdXA",
    "--describe --topic-id kkGr9qYQSfCGOHBpTAIdXA --if-exists",
    "--describe --topic-id AAAAAAAAAAAAAAAAAAAAAA --topic kt-a --if-exists",
    "--list --topic [",
    "--list --topic -kt-none",
    "--version",
]
REFUSED = [
    "--create --topic kt-a",
    "--create --topic kt-a --if-not-exists",
    "--create --topic kt/a",
    "--create --topic -kt/a",
    "--create --topic kt-x --config a",
    "--create --topic kt-x --config a=b",
    "--create --topic kt-x --config retention.ms=abc",
    "--create --topic kt-x --replication-factor 0",
    "--create --topic kt-x --partitions 0",
    "--create --topic kt-x --replica-assignment 1:1",
    "--create --topic kt-x --replica-assignment 1,1:2",
    "--alter --topic kt-a --partitions 1",
    "--alter --topic kt-none --partitions 3",
    "--alter --topic kt-none --partitions 3 --if-exists",
    "--delete --topic kt-none",
    "--delete --topic kt-none --if-exists",
]
WRONG = [
    "",
    "--help",
    "--list --describe",
    "--create",
    "--alter --topic kt-a",
    "--alter --topic kt-a --partitions 9 --config a=b",
    "--list --partitions 3",
    "--describe --if-exists",
    "--describe --topics-with-overrides --unavailable-partitions",
    "--create --topic a --replica-assignment 1 --partitions 1",
    "--nonsense",
    "--topic",
]


@pytest.mark.parametrize("line", LOOKS + REFUSED + WRONG)
def test_prints_and_ends_as_kafkas(words: list[str], java: JavaTools, line: str) -> None:
    same(java, "kafka-topics", *words, *line.split())


def test_topic_of_an_id_is_described_as_kafkas_does(words: list[str], java: JavaTools) -> None:
    described = ours("kafka-topics", *words, "--describe", "--topic", "kt-a").out
    topic_id = re.search(r"TopicId: (\S+)", described)
    assert topic_id is not None
    assert "Elr: N/A" in same(java, "kafka-topics", *words, "--describe", "--topic-id", topic_id[1])


def test_partitions_are_added(words: list[str], java: JavaTools) -> None:
    assert ours("kafka-topics", *words, "--alter", "--topic", "kt-h", "--partitions", "3").exit == 0
    placed = ("--partitions", "4", "--replica-assignment", "1,1,1,1")
    assert ours("kafka-topics", *words, "--alter", "--topic", "kt-h", *placed).exit == 0
    assert "PartitionCount: 4" in same(java, "kafka-topics", *words, "--describe", "--topic", "kt-h")


def test_a_value_given_twice_is_refused(words: list[str]) -> None:
    refused = ours("kafka-topics", *words, "--describe", "--topic", "a", "--topic", "b")
    assert refused.exit == 1
    assert refused.err.startswith("Found multiple arguments for option topic, but you asked for only one\n")


def test_without_a_broker_one_sentence_follows_kafkas_words() -> None:
    refused = ours("kafka-topics", "--bootstrap-server", "127.0.0.1:1", "--list")
    assert refused.exit == 1
    assert refused.out.startswith(f"{ERROR}--bootstrap-server: no broker answers")
