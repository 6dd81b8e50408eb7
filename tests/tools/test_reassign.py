"""``kafkastore log-dirs``, ``reassign`` and ``features`` on one broker with two log directories; moves between brokers
are in ``tests/cluster``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from peer.broker_process import BrokerProcess, wait_until
from peer.java_tools import JavaRecord, JavaTools
from tools.comparison import ours

TOPIC = "vr-a"
LIMIT_S = 20.0
RECORDS = 3000


@pytest.fixture(scope="module")
def at(two_dirs: BrokerProcess, java: JavaTools) -> Sequence[str]:
    """-b of a broker with a topic, whose partition 0 has some bytes."""
    given = ("-b", two_dirs.bootstrap)
    assert ours("topics", "create", *given, TOPIC, "-p", "2").exit == 0
    names = [f"{TOPIC}-{number}" for number in (0, 1)]
    wait_until(
        lambda: all(any((one / name).exists() for one in two_dirs.log_dirs) for name in names), LIMIT_S, "the logs"
    )
    java.produce(two_dirs.bootstrap, TOPIC, [JavaRecord(0, None, None, b"x" * 1000)] * RECORDS)
    return given


def _place(two_dirs: BrokerProcess, number: int) -> tuple[Path, Path]:
    """The directory of a partition, and the other one."""
    here = next(one for one in two_dirs.log_dirs if (one / f"{TOPIC}-{number}").exists())
    return here, next(one for one in two_dirs.log_dirs if one != here)


def _size(two_dirs: BrokerProcess) -> int:
    """The bytes of partition 0."""
    return sum(path.stat().st_size for path in (_place(two_dirs, 0)[0] / f"{TOPIC}-0").glob("*.log"))


def test_log_dirs_are_listed_by_what_is_asked_for(two_dirs: BrokerProcess, at: Sequence[str]) -> None:
    rows = json.loads(ours("log-dirs", "list", *at, "--json").out)
    assert [row["directory"] for row in rows] == sorted(map(str, two_dirs.log_dirs))
    assert all(row["state"] == "ok" and row["total_bytes"] > row["usable_bytes"] > 0 for row in rows)
    topics = json.loads(ours("log-dirs", "list", *at, "--by", "topic", TOPIC, "--json").out)
    assert topics == [{"topic": TOPIC, "partitions": 2, "bytes": _size(two_dirs), "largest_broker": 1}]
    held = ours("log-dirs", "list", *at, "--by", "partition", TOPIC, "--format", "csv").out.splitlines()
    assert held[1:] == [
        f"{TOPIC},{number},1,{_place(two_dirs, number)[0]},{size},0,false"
        for number, size in enumerate((_size(two_dirs), 0))
    ]
    assert json.loads(ours("log-dirs", "list", *at, "--by", "broker", "--json").out)[0]["directories"] == 2


def test_replica_moves_to_the_other_directory(two_dirs: BrokerProcess, at: Sequence[str]) -> None:
    (here, there), size = _place(two_dirs, 0), _size(two_dirs)
    words = ("log-dirs", "move", *at, f"{TOPIC}:0", "--broker", "1", "--to", str(there))
    assert ours(*words, "--dry-run").out == f"{TOPIC}:0: would move to {there}, {size:,} bytes\n"
    assert _place(two_dirs, 0)[0] == here
    assert ours(*words, "--throttle", "100M").out == f"{TOPIC}:0: moved to {there}, {size:,} bytes\n"
    assert (there / f"{TOPIC}-0").exists()
    assert ours(*words).err == f"{TOPIC}:0: is there\n"
    assert ours("kafka-configs", "--bootstrap-server", at[1], "--describe", "--broker", "1").out.count("max.bytes") == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((f"{TOPIC}:0", "--to", "/none"), "--to: broker 1 has no log directory /none; it has "),
        ((f"{TOPIC}:7", "--to", "{dir}"), f"broker 1 has no replica of {TOPIC}:7"),
        (("none", "--to", "{dir}"), "broker 1 has no replica of none"),
    ],
)
def test_moves_that_cannot_be_are_a_sentence(
    two_dirs: BrokerProcess, at: Sequence[str], words: tuple[str, ...], sentence: str
) -> None:
    given = [word.format(dir=two_dirs.log_dirs[0]) for word in words]
    refused = ours("log-dirs", "move", *at, *given, "--broker", "1")
    assert refused.exit == 2
    assert refused.err.startswith(f"kafkastore log-dirs move: {sentence}")


def test_plans_of_one_broker(at: Sequence[str], tmp_path: Path) -> None:
    assert ours("reassign", "plan", *at, TOPIC).err == "0 partition(s) move; 0 bytes are copied\n"
    more = ours("reassign", "plan", *at, TOPIC, "-r", "2")
    assert (more.exit, more.err.splitlines()) == (
        1,
        [
            f"kafkastore reassign plan: {TOPIC} is to have 2 replicas of each partition, and 1 broker(s) may have "
            "them; name more brokers, or fewer replicas"
        ],
    )
    assert (
        "9 is no broker that is alive and in service; there are 1"
        in ours("reassign", "plan", *at, TOPIC, "--brokers", "9").err
    )
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"version": 1, "partitions": [{"topic": TOPIC, "partition": 0, "replicas": [1]}]}))
    assert ours("reassign", "execute", *at, str(path)).out == "nothing moves: it is so already\n"
    assert ours("reassign", "status", *at, "--json").out == "[]\n"
    assert ours("reassign", "cancel", *at).out == "cancelled: 0 partition(s)\n"
    assert ours("reassign", "cancel", *at, TOPIC).err == "nothing of them moves\n"


def test_features_and_versions(at: Sequence[str]) -> None:
    listed = {row["feature"]: row for row in json.loads(ours("features", "list", *at, "--json").out)}
    assert listed["transaction.version"]["level"] == 2
    assert listed["metadata.version"]["version"].startswith("4.")
    raised = ours("features", "upgrade", *at, "--dry-run", "transaction.version=2")
    assert raised.out == "transaction.version: would go from 2 to 2\n"
    refused = ours("features", "upgrade", *at, "--dry-run", "none=1")
    assert (refused.exit, refused.err.startswith("none: The update failed")) == (1, True)
    assert ours("features", "downgrade", *at, "x=y").exit == 2
    (row,) = json.loads(ours("features", "versions", *at, "produce", "--json").out)
    assert (row["key"], row["api"], row["usable"]) == (0, "Produce", row["highest"])
