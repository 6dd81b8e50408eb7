"""DescribeLogDirs: all partitions or some, several directories, one of them offline, every version."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import MakeBroker
    from .one_broker import OneBroker

KAFKA_STORAGE_ERROR = 56


def partitions(result: Any) -> set[tuple[str, int]]:
    return {(topic.name, partition.partition_index) for topic in result.topics for partition in topic.partitions}


@pytest.mark.parametrize("version", range(1, 6))
def test_lists_every_partition_when_none_is_named(broker: OneBroker, version: int) -> None:
    broker.create_topic("a", 2)
    broker.create_topic("b")
    answer = broker.ask("describe_log_dirs", version, {"topics": None})
    (result,) = answer.results
    assert result.log_dir == broker.services.config.log_dirs[0]
    assert partitions(result) == {("a", 0), ("a", 1), ("b", 0)}
    if version >= 3:
        assert answer.error_code == 0
    if version >= 4:
        disk = shutil.disk_usage(result.log_dir)
        assert result.total_bytes == disk.total
        assert abs(result.usable_bytes - disk.free) < disk.total // 10  # other tests write meanwhile


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([], set()),
        ([{"topic": "a", "partitions": [1]}], {("a", 1)}),
        ([{"topic": "a", "partitions": [1, 9]}, {"topic": "nope", "partitions": [0]}], {("a", 1)}),
    ],
)
def test_lists_the_directory_even_without_what_was_asked(
    broker: OneBroker, asked: list[Any], found: set[tuple[str, int]]
) -> None:
    broker.create_topic("a", 2)
    (result,) = broker.ask("describe_log_dirs", 4, {"topics": asked}).results
    assert partitions(result) == found


def test_an_offline_directory_is_listed_with_its_error(make_broker: MakeBroker, tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    broker = make_broker({"log.dirs": f"{first},{second}"})
    broker.create_topic("a", 2)
    broker.engine.probe.fail_log_dir(str(second), "Input/output error")
    answer = broker.ask("describe_log_dirs", 4, {"topics": None})
    found = {result.log_dir: (int(result.error_code), len(partitions(result))) for result in answer.results}
    assert found == {str(first): (0, 1), str(second): (KAFKA_STORAGE_ERROR, 0)}
