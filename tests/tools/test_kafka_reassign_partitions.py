"""``kafka-log-dirs`` and ``kafka-reassign-partitions`` print what Kafka's print, on a broker with two log directories;
moves between brokers are in ``tests/cluster``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from peer.broker_process import BrokerProcess, wait_until
from peer.java_tools import JavaRecord, JavaTools, ToolResult
from tools.comparison import ours, same

TOOL = "kafka-reassign-partitions"
LIMIT_S = 20.0
RECORDS = 3000
LINES = [
    "",
    "--help",
    "--version",
    "--none",
    "--list",
    "--execute",
    "--list --cancel",
    "--list --throttle 3",
    "--verify --reassignment-json-file x --additional",
    "--generate --broker-list 1",
    "--execute --reassignment-json-file /none",
]
DIRS = [
    "--describe --topic-list kr-a",
    "--describe --topic-list kr-a --broker-list 1",
    "--describe --broker-list 1,9",
    "--describe --broker-list x",
    "",
    "--none",
]


def _file(path: Path, *rows: dict[str, Any], **fields: Any) -> list[str]:
    path.write_text(json.dumps({"version": 1, "partitions": rows, **fields}))
    return ["--reassignment-json-file", str(path)]


def _row(topic: str, number: int, *replicas: int, **fields: Any) -> dict[str, Any]:
    return {"topic": topic, "partition": number, "replicas": replicas, **fields}


BAD = [
    [],
    [_row("kr-a", 0)],
    [_row("kr-a", 0, 1, 1)],
    [_row("kr-a", 0, 1), _row("kr-a", 0, 1)],
    [_row("kr-a", 0, 9)],
    [_row("kr-none", 0, 1)],
    [_row("kr-a", 77, 1)],
    [_row("kr-a", 0, 1, log_dirs=["any", "any"])],
    [{"topic": "kr-a", "partition": 0}],
    [{"topic": "kr-a", "partition": 0, "replicas": ["x"]}],
]


@pytest.fixture(scope="module")
def words(two_dirs: BrokerProcess) -> list[str]:
    given = ["--bootstrap-server", two_dirs.bootstrap]
    ours("kafka-topics", *given, "--create", "--topic", "kr-a", "--partitions", "3")
    names = [f"kr-a-{number}" for number in range(3)]
    wait_until(
        lambda: all(any((one / name).exists() for one in two_dirs.log_dirs) for name in names), LIMIT_S, "the logs"
    )
    return given


def _first_error(text: str) -> str:
    """Without Java's trace behind an error."""
    return re.sub(r"(?ms)^(Error: [^\n]*)\n.*", r"\1", text).rstrip("\n")


@pytest.mark.parametrize("line", LINES)
def test_command_line_is_read_as_kafkas(words: list[str], java: JavaTools, line: str) -> None:
    same(java, TOOL, *words, *line.split(), plain=_first_error)


@pytest.mark.parametrize("rows", BAD)
def test_files_are_refused_as_kafkas_does(
    words: list[str], java: JavaTools, tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    same(java, TOOL, *words, "--execute", *_file(tmp_path / "moves.json", *rows), plain=_first_error)


def _in_order(text: str) -> str:
    """With lists in an order: theirs is that of a HashMap, which has no meaning."""

    def ordered(node: Any) -> Any:
        if isinstance(node, list):
            return sorted(map(ordered, node), key=json.dumps)
        return {key: ordered(one) for key, one in node.items()} if isinstance(node, dict) else node

    return re.sub(r"(?m)^\{.*", lambda line: json.dumps(ordered(json.loads(line[0]))), text)


@pytest.mark.parametrize("line", DIRS)
def test_log_dirs_are_described_as_kafkas_does(words: list[str], java: JavaTools, line: str) -> None:
    same(java, "kafka-log-dirs", *words, *line.split(), plain=_in_order)


def test_plan_is_printed_as_kafkas_does(words: list[str], java: JavaTools, tmp_path: Path) -> None:
    for topics, brokers in (("kr-a", "1"), ("kr-none", "1"), ("kr-a", "9"), ("kr-a", "1,1"), ("kr-a", "1,x")):
        path = tmp_path / "topics.json"
        path.write_text(json.dumps({"topics": [{"topic": topics}]}))
        given = ("--generate", "--topics-to-move-json-file", str(path), "--broker-list", brokers)
        same(java, TOOL, *words, *given, plain=_first_error)


def test_replica_moves_to_the_other_directory_and_back(
    two_dirs: BrokerProcess, words: list[str], java: JavaTools, tmp_path: Path
) -> None:
    """KIP-113. Both tools begin a move, in turn, and see the same of it."""
    partition = next(path for one in two_dirs.log_dirs for path in one.glob("kr-a-1"))
    here, there = (str(one) for one in sorted(two_dirs.log_dirs, key=lambda one: one != partition.parent))

    def moves(directory: str) -> list[str]:
        return _file(tmp_path / "moves.json", _row("kr-a", 1, 1, log_dirs=[directory]))

    for begin in (lambda *given: ours(TOOL, *given), lambda *given: java.tool(TOOL, *given)):
        for to, away in ((there, here), (here, there)):
            given = moves(to)
            begun = begin(*words, "--execute", *given, "--replica-alter-log-dirs-throttle", "1000000")
            assert begun.out.endswith(
                f'"log_dirs":["{away}"]}}]}}\n\nSave this to use as the --reassignment-json-file option during '
                "rollback\n"
                "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle "
                "is removed.\nThe replica-alter-dir throttle limit was set to 1000000 B/s\nSuccessfully started "
                f"partition reassignment for kr-a-1\nSuccessfully started moving log directory to {to} for replica "
                "kr-a-1 with broker 1 \n"
            ), begun
            while "in progress" in ours(TOOL, *words, "--verify", *given, "--preserve-throttles").out:
                pass
            assert ours(TOOL, *words, "--verify", *given).exit == 0
            configs = ours("kafka-configs", *words, "--describe", "--entity-type", "brokers", "--entity-name", "1")
            assert "max.bytes" not in configs.out
            assert "Reassignment of replica kr-a-1-1 completed successfully." in same(
                java, TOOL, *words, "--verify", *given
            )
            same(java, TOOL, *words, "--cancel", *given)
    same(java, TOOL, *words, "--verify", *moves("/none"))
    same(java, TOOL, *words, "--execute", *moves("/none"), plain=_first_error)


def test_move_to_the_other_directory_is_watched_and_cancelled(
    two_dirs: BrokerProcess, words: list[str], java: JavaTools, tmp_path: Path
) -> None:
    """By both tools in turn: a slow move of a replica that has some bytes."""
    java.produce(two_dirs.bootstrap, "kr-a", [JavaRecord(2, None, None, b"x" * 1000)] * RECORDS)
    here = next(one for one in two_dirs.log_dirs if (one / "kr-a-2").exists())
    there = next(one for one in two_dirs.log_dirs if one != here)
    given = _file(tmp_path / "moves.json", _row("kr-a", 2, 1, log_dirs=[str(there)]))

    def steps(run: Callable[..., ToolResult]) -> list[str]:
        begun = run(TOOL, *words, "--execute", *given, "--replica-alter-log-dirs-throttle", "1000").out
        watched = run(TOOL, *words, "--verify", *given).out
        cancelled = run(TOOL, *words, "--cancel", *given).out
        wait_until(lambda: "is not being moved" in ours(TOOL, *words, "--verify", *given).out, LIMIT_S, "the end")
        return [begun, watched, cancelled, run(TOOL, *words, "--verify", *given).out]

    theirs = steps(java.tool)
    assert "is still in progress" in theirs[1]
    assert steps(ours) == theirs
