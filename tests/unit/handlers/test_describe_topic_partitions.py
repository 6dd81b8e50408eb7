"""DescribeTopicPartitions: order, pages and cursors; a walk over the pages gives every partition once."""

from __future__ import annotations

from typing import Any

import pytest

from kafkastore.metadata.image import NO_LEADER, PartitionState

from .conftest import MakeBroker
from .one_broker import OneBroker

Cursor = tuple[str, int] | None


def page(broker: OneBroker, names: list[str], limit: int = 2000, cursor: Cursor = None) -> Any:
    at = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
    asked = {"topics": [{"name": name} for name in names], "response_partition_limit": limit, "cursor": at}
    return broker.ask("describe_topic_partitions", 0, asked)


def shown(answer: Any) -> list[tuple[str, list[int]]]:
    return [(topic.name, [p.partition_index for p in topic.partitions]) for topic in answer.topics]


@pytest.fixture
def three_topics(broker: OneBroker) -> OneBroker:
    for name, partitions in (("c", 2), ("a", 3), ("b", 1)):
        broker.create_topic(name, partitions)
    return broker


@pytest.mark.parametrize(
    ("names", "limit", "cursor", "expected", "next_cursor"),
    [
        ([], 2000, None, [("a", [0, 1, 2]), ("b", [0]), ("c", [0, 1])], None),
        (["c", "a", "c"], 2000, None, [("a", [0, 1, 2]), ("c", [0, 1])], None),
        ([], 2, None, [("a", [0, 1])], ("a", 2)),
        ([], 3, None, [("a", [0, 1, 2])], ("b", 0)),
        ([], 4, None, [("a", [0, 1, 2]), ("b", [0])], ("c", 0)),
        ([], 5, None, [("a", [0, 1, 2]), ("b", [0]), ("c", [0])], ("c", 1)),
        ([], 6, None, [("a", [0, 1, 2]), ("b", [0]), ("c", [0, 1])], None),
        ([], 0, None, [("a", [0])], ("a", 1)),
        ([], 2000, ("a", 2), [("a", [2]), ("b", [0]), ("c", [0, 1])], None),
        ([], 2000, ("a", 9), [("a", []), ("b", [0]), ("c", [0, 1])], None),
        ([], 2000, ("aa", 1), [("b", [0]), ("c", [0, 1])], None),
        (["b", "c"], 2000, ("c", 1), [("c", [1])], None),
        ([], 2000, ("z", 0), [], None),
    ],
)
def test_pages(
    three_topics: OneBroker, names: list[str], limit: int, cursor: Cursor, expected: Any, next_cursor: Cursor
) -> None:
    answer = page(three_topics, names, limit, cursor)
    assert shown(answer) == expected
    found = answer.next_cursor
    assert (None if found is None else (found.topic_name, found.partition_index)) == next_cursor


@pytest.mark.parametrize("limit", range(1, 8))
def test_a_walk_over_pages_sees_every_partition_once(three_topics: OneBroker, limit: int) -> None:
    seen: list[tuple[str, int]] = []
    cursor: Cursor = None
    for _ in range(10):
        answer = page(three_topics, [], limit, cursor)
        seen += [(name, partition) for name, partitions in shown(answer) for partition in partitions]
        if answer.next_cursor is None:
            break
        cursor = (answer.next_cursor.topic_name, answer.next_cursor.partition_index)
    assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("c", 0), ("c", 1)]


def test_the_broker_limits_a_page(make_broker: MakeBroker) -> None:
    broker = make_broker({"max.request.partition.size.limit": "2"})
    broker.create_topic("a", 3)
    assert shown(page(broker, [])) == [("a", [0, 1])]


def test_shows_replicas_in_sync_ones_and_those_offline(broker: OneBroker) -> None:
    broker.create_topic("a")
    broker.services.image.topics["a"].partitions[0] = PartitionState(NO_LEADER, 4, 2, (1, 2), (1,))
    ((partition,),) = (topic.partitions for topic in page(broker, ["a"]).topics)
    assert (partition.leader_id, partition.leader_epoch) == (-1, 4)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ((1, 2), (1,), (2,))
