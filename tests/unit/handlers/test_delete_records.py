"""DeleteRecords: the new log start at every version, errors for single partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .one_broker import OneBroker

OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC, NOT_LEADER, INVALID_TOPIC, POLICY_VIOLATION = 1, 3, 6, 17, 44


def drop(broker: OneBroker, version: int, *asked: tuple[str, int, int]) -> list[tuple[int, int]]:
    topics = [{"name": t, "partitions": [{"partition_index": p, "offset": offset}]} for t, p, offset in asked]
    answer = broker.ask("delete_records", version, {"topics": topics})
    return [(p.error_code, p.low_watermark) for topic in answer.topics for p in topic.partitions]


@pytest.mark.parametrize("version", range(3))
def test_moves_the_log_start_at_every_version(broker: OneBroker, version: int) -> None:
    broker.create_topic("t")
    broker.engine.add_records("t", 0, 10)
    assert drop(broker, version, ("t", 0, 4)) == [(0, 4)]
    assert drop(broker, version, ("t", 0, -1)) == [(0, 10)]


@pytest.mark.parametrize(
    ("topic", "partition", "offset", "code"),
    [
        ("t", 0, 11, OFFSET_OUT_OF_RANGE),
        ("t", 0, -2, OFFSET_OUT_OF_RANGE),
        ("t", 1, 0, UNKNOWN_TOPIC),
        ("t", -1, 0, UNKNOWN_TOPIC),
        ("nope", 0, 0, UNKNOWN_TOPIC),
        ("__consumer_offsets", 0, 0, INVALID_TOPIC),
        ("compacted", 0, 0, POLICY_VIOLATION),
        ("elsewhere", 0, 0, NOT_LEADER),
    ],
)
def test_a_wrong_partition_fails_alone(broker: OneBroker, topic: str, partition: int, offset: int, code: int) -> None:
    for name in ("t", "__consumer_offsets", "elsewhere"):
        broker.create_topic(name)
    broker.create_topic("compacted", configs={"cleanup.policy": "compact"})
    broker.engine.leases["elsewhere", 0] = (2, 0, 0, (2,), (2,))
    broker.engine.add_records("t", 0, 10)
    assert drop(broker, 2, (topic, partition, offset), ("t", 0, 3)) == [(code, -1), (0, 3)]
