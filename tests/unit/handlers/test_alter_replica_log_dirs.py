"""AlterReplicaLogDirs: moves between log directories of a broker, and refusals (KIP-113)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkastore.log import manager

from .conftest import MakeBroker
from .one_broker import OneBroker

UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE, KAFKA_STORAGE_ERROR = 3, 9, 56


@pytest.fixture
def two_dirs(make_broker: MakeBroker, tmp_path: Path) -> OneBroker:
    """A broker with ``a-0`` in the directory ``one`` and ``a-1`` in ``two``."""
    broker = make_broker({"log.dirs": f"{tmp_path}/one,{tmp_path}/two"})
    broker.create_topic("a", 2)
    return broker


def moved(topic: str, partition: int, log_dir: str) -> Any:
    return SimpleNamespace(topic=topic, partition=partition, log_dir=log_dir)


def alter(broker: OneBroker, *wanted: tuple[str, str, list[int]], version: int = 2) -> dict[tuple[str, int], int]:
    dirs = [{"path": path, "topics": [{"name": topic, "partitions": partitions}]} for path, topic, partitions in wanted]
    answer = broker.ask("alter_replica_log_dirs", version, {"dirs": dirs})
    return {
        (topic.topic_name, one.partition_index): int(one.error_code)
        for topic in answer.results
        for one in topic.partitions
    }


def test_replica_moves_neither_to_nor_from_an_offline_directory(two_dirs: OneBroker, tmp_path: Path) -> None:
    two_dirs.log_manager.fail(f"{tmp_path}/two", "Input/output error")
    found = alter(two_dirs, (f"{tmp_path}/two", "a", [0]), (f"{tmp_path}/one", "a", [1]))
    assert found == {("a", 0): KAFKA_STORAGE_ERROR, ("a", 1): KAFKA_STORAGE_ERROR}
    assert two_dirs.engine.of("alter_log_dir") == []


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
    services.log_dir_moves.on_moved(moved("a", 0, f"{tmp_path}/two"))
    assert two_dirs.log_manager.directory_of("a", 0) == f"{tmp_path}/two"
    services.log_dir_moves.on_moved(moved("gone", 0, f"{tmp_path}/two"))
    assert two_dirs.log_manager.directory_of("gone", 0) is None
    two_dirs.log_manager.fail(f"{tmp_path}/one", "Input/output error")
    services.log_dir_moves.on_moved(moved("a", 1, f"{tmp_path}/one"))
    leaders = [state.leader for state in services.replica_manager.held.topics["a"].partitions]
    assert leaders == [1, -1]
