"""Moves between brokers and elections of leaders, by Kafka's tools and by ours in turn, on one cluster of three."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cluster.cluster import Cluster
from cluster.stores import ON_SQLITE
from peer.broker_process import wait_until
from peer.java_tools import JavaTools, ToolResult
from tools.comparison import ours, same
from tools.test_kafka_cluster import without_times

TOPIC = "three"
MOVES = "kafka-reassign-partitions"
SLOW = "1000"
RECORDS = 400
SMALL_FETCHES = {"replica.fetch.max.bytes": "10000"}
"""So that a move with a throttle does not end with its first fetch, which nothing holds back."""
LIMIT_S = 20.0


@pytest.fixture(scope="module")
def words(java: JavaTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """--bootstrap-server of three brokers, with a topic of two partitions on two of them."""
    folder = tmp_path_factory.mktemp("three")
    with closing(Cluster(folder, ON_SQLITE[0], size=3, overrides=SMALL_FETCHES)) as made:
        for broker in made.brokers:
            broker.launch()
        for broker in made.brokers:
            broker.wait_until_ready()
        made.wait_for_brokers(3)
        given = ["--bootstrap-server", made.bootstrap]
        assert ours("kafka-topics", *given, "--create", "--topic", TOPIC, "--replica-assignment", "1:2,2:3").exit == 0
        lines = "\n".join(f"{number}{'x' * 500}" for number in range(RECORDS))
        assert java.tool("kafka-console-producer", *given, "--topic", TOPIC, stdin=lines).exit == 0
        yield given


def _file(path: Path, *rows: tuple[int, list[int]]) -> list[str]:
    partitions = [{"topic": TOPIC, "partition": number, "replicas": replicas} for number, replicas in rows]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return ["--reassignment-json-file", str(path)]


def _configs(words: list[str]) -> list[str]:
    described = [("topics", TOPIC), ("brokers", "1"), ("brokers", "2"), ("brokers", "3")]
    return [
        ours("kafka-configs", *words, "--describe", "--entity-type", kind, "--entity-name", name).out
        for kind, name in described
    ]


def _throttled(words: list[str], rate: str) -> list[str]:
    """The configurations when all brokers know them; "" for none."""

    def is_known() -> bool:
        topic, *brokers = _configs(words)
        if not rate:
            return "throttled" not in "".join([topic, *brokers])
        return "leader.replication.throttled" in topic and all(f"rate={rate} " in one for one in brokers)

    wait_until(is_known, LIMIT_S, f"the rate {rate or 'taken away'}")
    return _configs(words)


def _steps(words: list[str], run: Callable[..., ToolResult], folder: Path) -> list[Any]:
    """What a tool prints, and what it configures, step by step; the cluster is at the end as at the beginning."""
    there, back = _file(folder / "there", (0, [2, 3]), (1, [3, 1])), _file(folder / "back", (0, [1, 2]), (1, [2, 3]))
    more = _file(folder / "more", (0, [1, 2, 3]))
    done: list[Any] = []

    def step(*given: str) -> None:
        done.append((given[0], run(MOVES, *words, *given)))

    def settle() -> None:
        wait_until(lambda: "No partition" in ours(MOVES, *words, "--list").out, LIMIT_S, "end of the moves")

    step("--execute", *there)
    settle()
    step("--verify", *there)
    step("--verify", *back, "--preserve-throttles")
    step("--execute", *back)
    settle()
    step("--execute", *there, "--throttle", SLOW, "--replica-alter-log-dirs-throttle", "9000")
    done.append(_throttled(words, SLOW))
    step("--list")
    step("--verify", *there)
    step("--execute", *back)
    step("--execute", *there, "--additional", "--throttle", "2000")
    done.append(_throttled(words, "2000"))
    step("--cancel", *there)
    done.append(_throttled(words, ""))
    step("--execute", *more, "--disallow-replication-factor-change")
    step("--execute", *more, "--throttle", SLOW)
    step("--cancel", *more, "--preserve-throttles")
    step("--verify", *more)
    settle()
    ours(MOVES, *words, "--execute", *back)  # a move that was cancelled leaves its replicas in another order
    settle()
    return [
        one if isinstance(one, list) else (one[0], one[1].exit, re.sub(r'"log_dirs":\[[^]]*\]', "", one[1].out))
        for one in done
    ]


def test_moves_are_begun_watched_and_cancelled_as_kafkas_does(
    words: list[str], java: JavaTools, tmp_path: Path
) -> None:
    theirs = _steps(words, java.tool, tmp_path)
    assert _steps(words, ours, tmp_path) == theirs


def test_leaders_are_elected_as_kafkas_does(words: list[str], java: JavaTools, tmp_path: Path) -> None:
    def turn(replicas: list[int]) -> None:
        assert ours(MOVES, *words, "--execute", *_file(tmp_path / "turn", (0, replicas))).exit == 0
        there = f"Partition: 0\tLeader: {replicas[1]}\tReplicas: {replicas[0]},{replicas[1]}\t"
        shown = ("kafka-topics", *words, "--describe", "--topic", TOPIC)
        wait_until(lambda: there in ours(*shown).out, 20, f"{TOPIC}-0 is on {replicas}")

    def turned(run: Callable[..., ToolResult]) -> str:
        assert ours("kafka-leader-election", *words, "--election-type", "preferred", "--all-topic-partitions").exit == 0
        turn([2, 1])
        elect = ("--election-type", "preferred", "--topic", TOPIC, "--partition", "0")
        first = run("kafka-leader-election", *words, *elect).out
        turn([1, 2])
        return (
            first + run("kafka-leader-election", *words, "--election-type", "preferred", "--all-topic-partitions").out
        )

    line = f"Successfully completed leader election (PREFERRED) for partitions {TOPIC}-0\n"
    assert turned(ours) == turned(java.tool) == line * 2


def test_brokers_and_quorum_are_described_as_kafkas_does(words: list[str], java: JavaTools) -> None:
    assert same(java, "kafka-cluster", "list-endpoints", *words).count("unfenced") == 3
    assert '"id": 3' in same(java, "kafka-metadata-quorum", *words, "describe", "--status", plain=without_times)


def test_plan_gives_topics_more_replicas_and_is_executed(words: list[str], tmp_path: Path) -> None:
    at = ("-b", words[1])
    plan = ours("reassign", "plan", *at, TOPIC, "-r", "3")
    assert plan.err.startswith("2 partition(s) move; ")
    (tmp_path / "plan").write_text(plan.out)
    assert ours("reassign", "execute", *at, str(tmp_path / "plan")).out.splitlines()[-1].startswith("done: 2 partition")
    (tmp_path / "plan").write_text(ours("reassign", "plan", *at, TOPIC, "--brokers", "1,2", "-r", "2").out)
    assert ours("reassign", "execute", *at, str(tmp_path / "plan")).exit == 0
    described = ours("kafka-topics", *words, "--describe", "--topic", TOPIC).out
    assert {frozenset(found.split(",")) for found in re.findall(r"Replicas: (\S+)", described)} == {frozenset("12")}


def test_moves_of_a_topic_are_shown_and_cancelled(words: list[str], tmp_path: Path) -> None:
    at = ("-b", words[1])
    moves = _file(tmp_path / "slow", (0, [3]))
    assert ours(MOVES, *words, "--execute", *moves, "--throttle", SLOW).exit == 0
    (row,) = json.loads(ours("reassign", "status", *at, TOPIC, "--json").out)
    assert (row["topic"], row["partition"], row["adding"], row["target"]) == (TOPIC, 0, [3], [3])
    assert ours("reassign", "cancel", *at, TOPIC).out == f"{TOPIC}:0: cancelled\n"
    _throttled(words, "")
