"""AlterReplicaLogDirs and DescribeLogDirs (KIP-113), on a fresh broker with two log directories, and on one with three
of which the last is offline.

Directories are named by their place among the broker's, in requests and in answers. Where a new replica lies is a
broker's own business, so each is wished somewhere before it is made. A move takes its time: a case that ``is_settled``
is asked again until nothing moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parity.cases import Case, Given, LogDir, topic

FIRST, SECOND, THIRD = LogDir(0), LogDir(1), LogDir(2)
LONG = "n" * 220
"""A topic may have this name; with the suffix of a future log it is none of a directory."""


def move(name: str, *wanted: tuple[Any, Sequence[tuple[str, Sequence[int]]]]) -> Case:
    """(directory, [(topic, partitions)])"""
    dirs = [
        {"path": path, "topics": [{"name": topic, "partitions": list(partitions)} for topic, partitions in topics]}
        for path, topics in wanted
    ]
    return Case(name, "alter_replica_log_dirs", (1, 2), {"dirs": dirs})


def describe(name: str, *asked: tuple[str, Sequence[int]], versions: tuple[int, ...] = (4,), **given: Any) -> Case:
    topics = [{"topic": topic, "partitions": list(partitions)} for topic, partitions in asked]
    return Case(name, "describe_log_dirs", versions, {"topics": topics, **given}, is_settled=True)


def create(*topics: Given) -> Case:
    return Case("", "create_topics", (7,), {"topics": list(topics)})


TWO_LOG_DIRS = [
    # ---- before there is anything
    describe("log dirs: of a fresh broker", versions=(1, 2, 3, 4, 5), topics=None),
    move("move: topic that is not there yet", (FIRST, [("d-a", [0, 1])])),
    create(topic("d-a", 2)),
    describe("log dirs: made where they were wished", ("d-a", [0, 1])),
    # ---- what is refused
    move("move: directory of no broker", ("/nowhere", [("d-a", [0])])),
    move("move: relative directory", ("data", [("d-a", [0])])),
    move("move: directory without a name", ("", [("d-a", [0])])),
    move("move: directory with a slash behind it", (LogDir(1, "/"), [("d-a", [0])])),
    move("move: directory by way of itself", (LogDir(1, "/../log-1"), [("d-a", [0])])),
    move("move: directory of a partition", (LogDir(0, "/d-a-0"), [("d-a", [0])])),
    move("move: unknown partition", (SECOND, [("d-a", [-1, 2, 99])])),
    move("move: unknown topic", (SECOND, [("d-nope", [0])])),
    move("move: unknown topic, to a directory of no broker", ("/nowhere", [("d-nope", [0])])),
    move("move: unknown topic, whose name is too long", (SECOND, [(LONG, [0])])),
    move("move: name too long, to a directory of no broker", ("/nowhere", [(LONG, [0])])),
    move("move: topic with a bad name", (SECOND, [("a/b", [0]), ("", [0])])),
    move("move: the broker's own metadata", (SECOND, [("__cluster_metadata", [0])])),
    describe("log dirs: as before", ("d-a", [0, 1])),
    # ---- nothing to do
    move("move: no directories"),
    move("move: directory without topics", (SECOND, [])),
    move("move: directory of no broker, without topics", ("/nowhere", [])),
    move("move: topic without partitions", (SECOND, [("d-a", [])])),
    move("move: to where it is", (FIRST, [("d-a", [0])])),
    describe("log dirs: where they were", ("d-a", [0, 1])),
    # ---- moves
    move("move: to another directory", (SECOND, [("d-a", [0])])),
    describe("log dirs: one has moved", ("d-a", [0, 1]), versions=(1, 2, 3, 4, 5)),
    move("move: each to the other's", (FIRST, [("d-a", [0])]), (SECOND, [("d-a", [1])])),
    describe("log dirs: both have moved", ("d-a", [0, 1])),
    move("move: one that can and some that cannot", (SECOND, [("d-a", [0, 7])]), ("/nowhere", [("d-a", [1])])),
    describe("log dirs: what can has moved", ("d-a", [0, 1])),
    # ---- named twice
    move("move: partition twice", (FIRST, [("d-a", [0, 0])])),
    describe("log dirs: moved once", ("d-a", [0])),
    move("move: topic twice", (SECOND, [("d-a", [0]), ("d-a", [0])])),
    describe("log dirs: the second entry counts", ("d-a", [0, 1])),
    move("move: directory twice", (FIRST, [("d-a", [0])]), (FIRST, [("d-a", [1])])),
    describe("log dirs: after a directory that was named twice", ("d-a", [0, 1])),
    move("move: partition to two directories", (SECOND, [("d-a", [0])]), (FIRST, [("d-a", [0])])),
    describe("log dirs: after two directories for one partition", ("d-a", [0])),
    move(
        "move: partition to one directory and one of no broker", (SECOND, [("d-a", [0])]), ("/nowhere", [("d-a", [0])])
    ),
    describe("log dirs: after a directory and one of no broker", ("d-a", [0])),
    # ---- what is asked for
    describe("log dirs: every topic", versions=(1, 2, 3, 4, 5), topics=None),
    describe("log dirs: no topics"),
    describe("log dirs: topic without partitions", ("d-a", [])),
    describe("log dirs: partition twice", ("d-a", [1, 1])),
    describe("log dirs: topic twice", ("d-a", [0]), ("d-a", [1])),
    describe("log dirs: unknown topic and partition", ("d-nope", [0]), ("d-a", [9, -1, 1])),
    describe("log dirs: bad names", ("a/b", [0]), ("", [0])),
    # ---- where it lies is the broker's own business from here on
    create(topic(LONG)),
    move("move: name too long for a move", (FIRST, [(LONG, [0])]), (SECOND, [(LONG, [0])])),
]

BEFORE_ONE_IS_OFFLINE = [move("", (FIRST, [("o-a", [0])]), (THIRD, [("o-b", [0])])), create(topic("o-a"), topic("o-b"))]
ONE_LOG_DIR_OFFLINE = [
    describe("offline: every topic", versions=(1, 2, 3, 4, 5), topics=None),
    describe("offline: one topic, of the directory that is offline", ("o-b", [0])),
    move("offline: move there", (THIRD, [("o-a", [0])])),
    move("offline: move from there", (FIRST, [("o-b", [0])])),
    move("offline: move to where it is", (THIRD, [("o-b", [0])])),
    move("offline: unknown topic, to there", (THIRD, [("o-nope", [0])])),
    move("offline: unknown topic, to another", (FIRST, [("o-nope", [0])])),
    move("offline: move to no directory of the broker's", ("/nowhere", [("o-a", [0])])),
    move("offline: stay in another", (FIRST, [("o-a", [0])])),
    move("offline: move between others", (SECOND, [("o-a", [0])])),
]
