"""OffsetForLeaderEpoch: the engine's answer at every version, errors for single partitions."""

from __future__ import annotations

import pytest

from .one_broker import OneBroker

NOT_LEADER, FENCED_LEADER_EPOCH = 6, 74


def ask(broker: OneBroker, version: int, *asked: tuple[str, int, int, int]) -> list[tuple[int, int, int]]:
    topics = [
        {"topic": t, "partitions": [{"partition": p, "current_leader_epoch": current, "leader_epoch": epoch}]}
        for t, p, current, epoch in asked
    ]
    answer = broker.ask("offset_for_leader_epoch", version, {"topics": topics, "replica_id": -1})
    return [(p.error_code, p.leader_epoch, p.end_offset) for topic in answer.topics for p in topic.partitions]


@pytest.mark.parametrize("version", range(1, 5))
def test_tells_where_the_epoch_ends_at_every_version(broker: OneBroker, version: int) -> None:
    broker.create_topic("t")
    broker.engine.add_records("t", 0, 10)
    assert ask(broker, version, ("t", 0, -1, 0)) == [(0, 0, 10)]


def test_version_0_tells_the_end_without_its_epoch(broker: OneBroker) -> None:
    broker.create_topic("t")
    broker.engine.add_records("t", 0, 10)
    topics = [{"topic": "t", "partitions": [{"partition": 0, "leader_epoch": 0}]}]
    (topic,) = broker.ask("offset_for_leader_epoch", 0, {"topics": topics}).topics
    (partition,) = topic.partitions
    assert (partition.error_code, partition.end_offset) == (0, 10)
    assert partition.leader_epoch == -1


@pytest.mark.parametrize(
    ("topic", "current", "epoch", "code"), [("moved", 2, 3, FENCED_LEADER_EPOCH), ("elsewhere", -1, 0, NOT_LEADER)]
)
def test_a_wrong_partition_fails_alone(broker: OneBroker, topic: str, current: int, epoch: int, code: int) -> None:
    for name in ("t", "moved", "elsewhere"):
        broker.create_topic(name)
    broker.lease("moved", (1,), 1, 3)
    broker.lease("elsewhere", (2,), 2, 1)
    assert ask(broker, 4, (topic, 0, current, epoch), ("t", 0, -1, 0)) == [(code, -1, -1), (0, 0, 0)]
