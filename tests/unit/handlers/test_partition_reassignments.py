"""AlterPartitionReassignments and ListPartitionReassignments of a cluster: the controller's results as they are on the
wire (KIP-455).

A broker that is alone answers as Apache Kafka with one broker does, which ``tests/parity`` compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kafkastore.errors import InvalidReplicaAssignmentError, KafkastoreError, NotControllerError
from kafkastore.metadata.assignment import ReplicaAssignment

from .one_broker import OneBroker

NOT_CONTROLLER, INVALID_REPLICA_ASSIGNMENT = 41, 39
UNDER_WAY = {
    ("t", 1): ReplicaAssignment((4, 2, 3), (4,), (3, 9)),
    ("t", 0): ReplicaAssignment((2, 3), (), (3,)),
    ("s", 0): ReplicaAssignment((1, 2), (1,)),
}


class Seat:
    """Stands for the controller in the handler."""

    def __init__(self, *, is_taken: bool) -> None:
        self.is_taken = is_taken
        self.asked: list[Any] = []

    async def alter_reassignments(self, asked: Mapping[Any, Any], *, allows_factor_change: bool) -> Any:
        if self.is_taken:
            raise NotControllerError
        self.asked.append((asked, allows_factor_change))
        refusal: KafkastoreError = InvalidReplicaAssignmentError("why not")
        return {key: refusal if target == (9,) else None for key, target in asked.items()}

    async def reassignments(self) -> Any:
        if self.is_taken:
            raise NotControllerError
        return UNDER_WAY


def seat_of(broker: OneBroker, *, is_taken: bool = False) -> Seat:
    seat = Seat(is_taken=is_taken)
    broker.put_controller(seat)
    return seat


def given(topic: str, **partitions: tuple[int, ...] | None) -> dict[str, Any]:
    asked = [{"partition_index": int(name[1:]), "replicas": replicas} for name, replicas in partitions.items()]
    return {"name": topic, "partitions": asked}


@pytest.mark.parametrize("version", [0, 1])
def test_each_partition_is_asked_for_and_answered(broker: OneBroker, version: int) -> None:
    seat = seat_of(broker)
    topics = [given("t", p0=(3, 2), p1=None), given("u", p0=(9,))]
    answer = broker.ask("alter_partition_reassignments", version, {"topics": topics})
    assert seat.asked == [({("t", 0): (3, 2), ("t", 1): None, ("u", 0): (9,)}, True)]
    found = {(topic.name, one.partition_index): one for topic in answer.responses for one in topic.partitions}
    assert [int(one.error_code) for one in found.values()] == [0, 0, INVALID_REPLICA_ASSIGNMENT]
    assert found["u", 0].error_message == "why not"


def test_factor_that_must_stay_is_passed_on_and_repeated(broker: OneBroker) -> None:  # KIP-860
    seat = seat_of(broker)
    asked = {"topics": [given("t", p0=(3,))], "allow_replication_factor_change": False}
    answer = broker.ask("alter_partition_reassignments", 1, asked)
    assert answer.allow_replication_factor_change is False
    assert seat.asked == [({("t", 0): (3,)}, False)]


def test_moves_are_listed_without_pending_deletions(broker: OneBroker) -> None:
    seat_of(broker)
    answer = broker.ask("list_partition_reassignments", 0, {"topics": None})
    found = {
        (topic.name, one.partition_index): (one.replicas, one.adding_replicas, one.removing_replicas)
        for topic in answer.topics
        for one in topic.partitions
    }
    assert list(found.items()) == [
        (("s", 0), ((1, 2), (1,), ())),
        (("t", 0), ((2, 3), (), (3,))),
        (("t", 1), ((4, 2, 3), (4,), (3,))),
    ]
    some = broker.ask("list_partition_reassignments", 0, {"topics": [{"name": "t", "partition_indexes": [1, 7]}]})
    assert [(topic.name, [one.partition_index for one in topic.partitions]) for topic in some.topics] == [("t", [1])]


def test_broker_that_is_not_the_controller_says_so(broker: OneBroker) -> None:
    seat_of(broker, is_taken=True)
    moved = broker.ask("alter_partition_reassignments", 1, {"topics": [given("t", p0=(3,))]})
    listed = broker.ask("list_partition_reassignments", 0, {"topics": None})
    assert (int(moved.error_code), moved.responses) == (NOT_CONTROLLER, ())
    assert (int(listed.error_code), listed.topics) == (NOT_CONTROLLER, ())
