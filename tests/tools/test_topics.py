"""``kafkastore topics`` and ``kafkastore configs``, against a started broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from kafkastore.cli.commands import COMPLETE_VARIABLE, root
from peer.broker_process import BrokerProcess, wait_until
from peer.java_tools import ToolResult
from tools.comparison import ours
from tools.terminal import asked


class Topics:
    """Runs the verbs on one broker."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def run(self, *words: str) -> ToolResult:
        return ours(*words[:2], "-b", self.bootstrap, *words[2:])

    def json(self, *words: str) -> Any:
        done = self.run(*words, "--json")
        assert (done.exit, done.err) == (0, "")
        return json.loads(done.out)

    def lines(self, *words: str) -> list[str]:
        done = self.run(*words)
        assert (done.exit, done.err) == (0, "")
        return done.out.splitlines()


@pytest.fixture(scope="module")
def topics(broker: BrokerProcess) -> Iterator[Topics]:
    """With the topics vt-a, of two partitions, records and configurations, and vt-b."""
    found = Topics(broker.bootstrap)
    assert found.lines("topics", "create", "vt-a", "-p", "2", "-c", "retention.ms=5000") == ["vt-a: made"]
    assert found.lines("topics", "create", "vt-b") == ["vt-b: made"]
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for _ in range(3):
        producer.produce("vt-a", b"value", partition=1)
    assert producer.flush(10) == 0
    yield found
    assert found.run("topics", "delete", "vt-.*", "--regex", "--yes").exit == 0
    assert found.run("topics", "list", "vt-.*", "--regex").err == "vt-.*: there is no such topic\n"


def test_list_has_sizes_and_health_on_demand(topics: Topics) -> None:
    plain = {one["name"]: one for one in topics.json("topics", "list")}
    assert plain["vt-a"] == {"name": "vt-a", "partitions": 2, "replicas": 1}
    (detailed,) = topics.json("topics", "list", "vt-a", "--detail")
    assert detailed["bytes"] == detailed["bytes_of_replicas"] > 0
    assert (detailed["under_replicated"], detailed["without_leader"], len(detailed["id"])) == (0, 0, 22)
    head, *rows = topics.lines("topics", "list", "vt-.", "--regex")
    assert (head, rows) == ("NAME  PARTITIONS  REPLICAS", ["vt-a           2         1", "vt-b           1         1"])


def test_shells_complete_topics_kinds_names_and_keys(topics: Topics) -> None:
    def offered(line: str, incomplete: str) -> list[str]:
        complete = ShellComplete(root, {}, "kafkastore", COMPLETE_VARIABLE)
        return [one.value for one in complete.get_completions([*line.split(), "-b", topics.bootstrap], incomplete)]

    assert offered("topics describe", "vt-") == ["vt-a", "vt-b"]
    assert offered("configs get topic", "vt-") == ["vt-a", "vt-b"]
    assert offered("configs set broker", "d") == ["default"]
    assert offered("configs set topic vt-a", "retention.") == ["retention.bytes", "retention.ms"]


def test_describe_shows_partitions_offsets_and_what_is_set(topics: Topics) -> None:
    (described,) = topics.json("topics", "describe", "vt-a", "--offsets")
    assert [(one["first_offset"], one["end_offset"]) for one in described["partitions"]] == [(0, 0), (0, 3)]
    assert {"key": "retention.ms", "value": "5000", "source": "topic"} in described["configs"]
    shown = topics.run("topics", "describe", "vt-a", "vt-none")
    assert (shown.exit, shown.err) == (1, "vt-none: there is no such topic\n")
    assert [line.split()[0] for line in shown.out.splitlines() if line] == [
        "NAME", "vt-a", "TOPIC", "vt-a", "vt-a", "TOPIC", *["vt-a"] * len(described["configs"])
    ]  # fmt: skip


def test_describe_shows_ill_partitions_alone(topics: Topics) -> None:
    assert topics.json("topics", "describe", "vt-a", "--only", "under-replicated", "--only", "without-leader") == []
    at_min = topics.json("topics", "describe", "vt-a", "--only", "at-min-isr")
    assert [(one["topic"], one["partition"]) for one in at_min] == [("vt-a", 0), ("vt-a", 1)]
    topics.run("configs", "set", "topic", "vt-b", "min.insync.replicas=2")
    (below,) = topics.json("topics", "describe", "--only", "under-min-isr")
    assert (below["topic"], below["partition"]) == ("vt-b", 0)
    topics.run("configs", "unset", "topic", "vt-b", "min.insync.replicas")


def test_partitions_are_added(topics: Topics) -> None:
    assert topics.lines("topics", "add-partitions", "vt-b", "-p", "1", "--dry-run") == [
        "vt-b: would have 2 partitions, 1 before"
    ]
    assert topics.lines("topics", "add-partitions", "vt-b", "-p", "2") == ["vt-b: has 3 partitions, 1 before"]
    refused = topics.run("topics", "add-partitions", "vt-b", "vt-none", "--total", "2")
    assert (refused.exit, refused.err) == (1, "vt-none: there is no such topic\nvt-b: it has 3 already\n")


def test_deletion_asks_first(topics: Topics) -> None:
    for name in ("vt-x", "vt-y"):
        topics.run("topics", "create", name)
    assert topics.lines("topics", "delete", "vt-[xy]", "--regex", "--dry-run") == [
        "vt-x: would be deleted",
        "vt-y: would be deleted",
    ]
    assert topics.run("topics", "delete", "vt-x").exit == 2
    words = ["topics", "delete", "-b", topics.bootstrap, "vt-x"]
    assert asked(words, "n")[0] == 1
    status, shown = asked(words, "y")
    assert (status, shown.splitlines()[-1]) == (0, "vt-x: deleted")
    done = topics.run("topics", "delete", "vt-x", "vt-y", "--yes")
    assert (done.exit, done.out, done.err) == (1, "vt-y: deleted\n", "vt-x: there is no such topic\n")
    assert topics.lines("topics", "delete", "vt-x", "--if-exists", "--yes") == []


def test_a_regular_expression_deletes_no_topic_of_the_brokers(topics: Topics) -> None:
    with suppress(KafkaException):  # its coordinator may not be elected yet
        Consumer({"bootstrap.servers": topics.bootstrap, "group.id": "vt"}).committed([TopicPartition("vt-a", 0)], 10)
    assert "__consumer_offsets" in [one["name"] for one in topics.json("topics", "list", "--internal")]
    assert "__consumer_offsets" not in [one["name"] for one in topics.json("topics", "list")]
    meant = topics.lines("topics", "delete", ".*", "--regex", "--dry-run")
    assert [line for line in meant if line.startswith("__")] == []


def test_configs_are_set_explained_and_unset(topics: Topics) -> None:
    assert topics.lines("configs", "set", "topic", "vt-b", "retention.ms=7", "cleanup.policy=compact") == [
        "vt-b: retention.ms is 7 (was not set)",
        "vt-b: cleanup.policy is compact (was not set)",
    ]
    assert topics.lines("configs", "set", "topic", "vt-b", "cleanup.policy=delete", "--append") == [
        "vt-b: cleanup.policy is changed by delete (was compact)"
    ]
    assert topics.lines("configs", "get", "topic", "vt-b", "cleanup.policy") == ["compact,delete"]
    assert topics.lines("configs", "set", "topic", "vt-b", "cleanup.policy=delete", "--subtract")
    assert topics.lines("configs", "set", "topic", "vt-b", "retention.ms=8", "--dry-run") == [
        "vt-b: retention.ms would be 8 (was 7)"
    ]
    listed = [one for one in topics.json("configs", "list", "topic") if one["name"] == "vt-b"]
    assert {one["key"]: one["value"] for one in listed} == {"retention.ms": "7", "cleanup.policy": "compact"}
    (row,) = topics.json("configs", "describe", "topic", "vt-b", "-k", "retention.ms")
    assert (row["value"], row["source"], row["type"]) == ("7", "topic", "long")
    assert topics.lines("configs", "unset", "topic", "vt-b", "retention.ms", "cleanup.policy") == [
        "vt-b: retention.ms is unset (was 7)",
        "vt-b: cleanup.policy is unset (was compact)",
    ]
    refused = topics.run("configs", "set", "topic", "vt-b", "retention.ms=abc")
    assert (refused.exit, refused.err[:31]) == (1, "vt-b: Invalid value abc for con")


def test_configs_explain_where_a_value_comes_from(topics: Topics) -> None:
    topics.run("configs", "set", "broker", "default", "log.cleaner.threads=2")
    topics.run("configs", "set", "broker", "1", "log.cleaner.threads=1")
    places = [("broker", "1", True), ("all brokers", "2", False), ("default", "1", False)]

    def explained() -> list[tuple[str, str, bool]]:
        (found,) = topics.json("configs", "explain", "broker", "1", "log.cleaner.threads")
        return [(one["source"], one["value"], one["in_effect"]) for one in found["places"]]

    wait_until(lambda: explained() == places, 10, "the broker knows both, which takes Apache Kafka a moment")
    head, *rows = topics.lines("configs", "explain", "broker", "1", "log.cleaner.threads")
    assert (head.split(), rows[0].split()) == (
        ["SOURCE", "KEY", "VALUE", "IN", "EFFECT"],
        ["broker", "log.cleaner.threads", "1", "true"],
    )
    assert topics.lines("configs", "unset", "broker", "1", "log.cleaner.threads") == [
        "1: log.cleaner.threads is unset (was 1)"
    ]
    assert topics.lines("configs", "unset", "broker", "default", "log.cleaner.threads")
    assert topics.run("configs", "describe", "broker", "x").exit == 2
    assert topics.run("configs", "get", "topic", "vt-b", "nothing").exit == 2


def test_a_group_and_a_subscription_have_configs(topics: Topics) -> None:
    for kind, name, pair in (
        ("group", "vt-g", "consumer.session.timeout.ms=46000"),
        ("client-metrics", "vt-m", "interval.ms=1000"),
    ):
        key, _, value = pair.partition("=")
        assert topics.run("configs", "set", kind, name, pair).exit == 0
        assert {"kind": kind, "name": name, "key": key, "value": value} in topics.json("configs", "list", kind)
        assert topics.run("configs", "unset", kind, name, key).exit == 0
