"""AlterReplicaLogDirs: moves between log directories of a broker, and refusals (KIP-113)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_engine import ReplicaMoved

from kafkastore.log import manager

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import MakeBroker
    from .one_broker import OneBroker

NONE, UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE, INVALID_TOPIC = 0, 3, 9, 17
KAFKA_STORAGE_ERROR, LOG_DIR_NOT_FOUND = 56, 57


@pytest.fixture
def two_dirs(make_broker: MakeBroker, tmp_path: Path) -> OneBroker:
    """A broker with ``a-0`` in the directory ``one`` and ``a-1`` in ``two``."""
    broker = make_broker({"log.dirs": f"{tmp_path}/one,{tmp_path}/two"})
    broker.create_topic("a", 2)
    return broker


def alter(broker: OneBroker, *wanted: tuple[str, str, list[int]], version: int = 2) -> dict[tuple[str, int], int]:
    dirs = [{"path": path, "topics": [{"name": topic, "partitions": partitions}]} for path, topic, partitions in wanted]
    answer = broker.ask("alter_replica_log_dirs", version, {"dirs": dirs})
    return {
        (topic.topic_name, one.partition_index): int(one.error_code)
        for topic in answer.results
        for one in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 2])
def test_a_replica_that_is_here_moves(two_dirs: OneBroker, tmp_path: Path, version: int) -> None:
    asked = (f"{tmp_path}/two", "a", [0, 1]), (f"{tmp_path}/one", "a", [1])
    assert alter(two_dirs, *asked, version=version) == {("a", 0): NONE, ("a", 1): NONE}
    assert two_dirs.engine.moves == [("a", 0, f"{tmp_path}/two"), ("a", 1, f"{tmp_path}/one")]


def test_invalid_moves_are_refused_and_valid_ones_accepted(two_dirs: OneBroker, tmp_path: Path) -> None:
    name = "n" * 220
    two_dirs.create_topic(name)
    found = alter(
        two_dirs,
        (f"{tmp_path}/three", "a", [0]),
        (f"{tmp_path}/one", "a", [1, 7]),
        (f"{tmp_path}/one", "nope", [0]),
        (f"{tmp_path}/one", name, [0]),
    )
    assert found == {
        ("a", 0): LOG_DIR_NOT_FOUND,
        ("a", 1): NONE,
        ("a", 7): UNKNOWN_TOPIC_OR_PARTITION,
        ("nope", 0): UNKNOWN_TOPIC_OR_PARTITION,
        (name, 0): INVALID_TOPIC,
    }
    assert two_dirs.engine.moves == [("a", 1, f"{tmp_path}/one")]


def test_replica_moves_neither_to_nor_from_an_offline_directory(two_dirs: OneBroker, tmp_path: Path) -> None:
    two_dirs.log_manager.fail(f"{tmp_path}/two", "Input/output error")
    found = alter(two_dirs, (f"{tmp_path}/two", "a", [0]), (f"{tmp_path}/one", "a", [1]))
    assert found == {("a", 0): KAFKA_STORAGE_ERROR, ("a", 1): KAFKA_STORAGE_ERROR}
    assert two_dirs.engine.moves == []


def test_replica_assigned_later_is_created_in_the_requested_directory(two_dirs: OneBroker, tmp_path: Path) -> None:
    logs = two_dirs.log_manager
    assert alter(two_dirs, (f"{tmp_path}/two", "later", [0, 1])) == {
        ("later", 0): UNKNOWN_TOPIC_OR_PARTITION,
        ("later", 1): UNKNOWN_TOPIC_OR_PARTITION,
    }
    two_dirs.create_topic("later", 2)
    assert [logs.directory_of("later", number) for number in (0, 1)] == [f"{tmp_path}/two"] * 2
    logs.forget("later")
    assert logs.place("later", [0]) == [(0, f"{tmp_path}/one")]  # once


def test_a_replica_of_another_broker_is_not_available(two_dirs: OneBroker, tmp_path: Path) -> None:
    two_dirs.log_manager.forget_partition("a", 0)
    assert alter(two_dirs, (f"{tmp_path}/two", "a", [0])) == {("a", 0): REPLICA_NOT_AVAILABLE}


def test_wishes_are_not_kept_without_end(two_dirs: OneBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager, "MAX_PREFERRED", 2)
    alter(two_dirs, (f"{tmp_path}/two", "many", [0, 1, 2]))
    logs = two_dirs.log_manager
    assert logs.place("many", [2, 0]) == [(2, f"{tmp_path}/two"), (0, f"{tmp_path}/one")]


def test_moved_replica_is_known_in_its_new_directory(two_dirs: OneBroker, tmp_path: Path) -> None:
    services = two_dirs.services
    services.log_dir_moves.on_moved(ReplicaMoved("a", 0, f"{tmp_path}/two"))  # type: ignore[arg-type]
    assert two_dirs.log_manager.directory_of("a", 0) == f"{tmp_path}/two"
    services.log_dir_moves.on_moved(ReplicaMoved("gone", 0, f"{tmp_path}/two"))  # type: ignore[arg-type]
    assert two_dirs.log_manager.directory_of("gone", 0) is None
    two_dirs.log_manager.fail(f"{tmp_path}/one", "Input/output error")
    services.log_dir_moves.on_moved(ReplicaMoved("a", 1, f"{tmp_path}/one"))  # type: ignore[arg-type]
    leaders = [state.leader for state in services.replica_manager.held.topics["a"].partitions]
    assert leaders == [1, -1]
