"""ElectLeaders of a cluster: the controller's results as they are on the wire (KIP-183, KIP-460).

A broker that is alone answers as Apache Kafka with one broker does, which ``tests/parity`` compares.
"""

from __future__ import annotations

from typing import Any

import pytest

from kafkastore.errors import ErrorCode, NotControllerError
from kafkastore.metadata.image import PartitionState, TopicImage

from .one_broker import OneBroker

OUTCOMES = {
    ("t", 0): ErrorCode.ELECTION_NOT_NEEDED,
    ("t", 1): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    ("u", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ("t", 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


class Seat:
    """Stands for the controller in the handler."""

    def __init__(self, *, is_taken: bool) -> None:
        self.is_taken = is_taken
        self.asked: list[Any] = []

    async def elect_leaders(self, asked: Any, *, is_unclean: bool) -> dict[tuple[str, int], int]:
        if self.is_taken:
            raise NotControllerError
        self.asked.append((asked, is_unclean))
        return OUTCOMES


def seat_of(broker: OneBroker, *, is_taken: bool = False) -> Seat:
    seat = Seat(is_taken=is_taken)
    broker.put_controller(seat)
    return seat


ASKED = [{"topic": "t", "partitions": (0, 1)}, {"topic": "u", "partitions": (0,)}]


@pytest.mark.parametrize(("version", "kind"), [(0, None), (1, 0), (1, 1), (2, 0), (2, 1)])
def test_each_partition_is_asked_for_and_answered(broker: OneBroker, version: int, kind: int | None) -> None:
    seat = seat_of(broker)
    given = {} if kind is None else {"election_type": kind}
    answer = broker.ask("elect_leaders", version, {"topic_partitions": ASKED, **given})
    assert seat.asked == [([("t", 0), ("t", 1), ("u", 0)], kind == 1)]
    found = {
        (topic.topic, one.partition_id): int(one.error_code)
        for topic in answer.replica_election_results
        for one in topic.partition_result
    }
    assert found == {key: code for key, code in OUTCOMES.items() if key != ("t", 7)}


def test_all_partitions_are_asked_for_by_naming_none(broker: OneBroker) -> None:
    seat = seat_of(broker)
    answer = broker.ask("elect_leaders", 2, {"topic_partitions": None})
    assert seat.asked == [(None, False)]
    assert [topic.topic for topic in answer.replica_election_results] == ["t", "u"]


def test_refusal_says_why_and_which_of_topic_and_partition_is_unknown(broker: OneBroker) -> None:  # as Kafka words it
    seat_of(broker)
    for name in ("t", "w"):
        broker.services.image.put_topic(TopicImage(name, name.encode() * 16, [PartitionState(1, 0, 0, (1,), (1,))], {}))
    answer = broker.ask("elect_leaders", 2, {"topic_partitions": [*ASKED, {"topic": "t", "partitions": (7,)}]})
    messages = [one.error_message for topic in answer.replica_election_results for one in topic.partition_result]
    assert messages == [
        "Leader election not needed for topic partition.",
        "The preferred leader was not available.",
        "No such topic as u",
        "No such partition as t-7",
    ]
    answer = broker.ask("elect_leaders", 2, {"topic_partitions": None})
    found = [(topic.topic, len(topic.partition_result)) for topic in answer.replica_election_results]
    assert found == [("t", 3), ("u", 1), ("w", 0)]  # every topic, with the partitions that changed or failed


def test_election_of_an_unknown_kind_is_refused_whole(broker: OneBroker) -> None:  # KIP-460
    seat = seat_of(broker)
    answer = broker.ask("elect_leaders", 2, {"topic_partitions": ASKED, "election_type": 7})
    assert seat.asked == []
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    found = [
        (topic.topic, one.partition_id, int(one.error_code), one.error_message)
        for topic in answer.replica_election_results
        for one in topic.partition_result
    ]
    code, message = int(ErrorCode.INVALID_REQUEST), "Unknown election type 7"
    assert found == [("t", 0, code, message), ("t", 1, code, message), ("u", 0, code, message)]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_broker_that_is_not_the_controller_says_so(broker: OneBroker, version: int) -> None:
    seat_of(broker, is_taken=True)
    answer = broker.ask("elect_leaders", version, {"topic_partitions": ASKED})
    if version:
        assert answer.error_code == ErrorCode.NOT_CONTROLLER
        assert answer.replica_election_results == ()
    else:  # version 0 has no error for the whole answer
        codes = [one.error_code for topic in answer.replica_election_results for one in topic.partition_result]
        assert codes == [ErrorCode.NOT_CONTROLLER] * 3
