"""CreatePartitions: the state after new partitions, every version. Each refusal is tested in
``tests/parity``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .one_broker import OneBroker

UNKNOWN_TOPIC, REQUEST_TIMED_OUT, INVALID_REQUEST, INVALID_PARTITIONS, INVALID_REPLICA_ASSIGNMENT = 3, 7, 42, 37, 39


def count(name: str, partitions: int, assignments: list[list[int]] | None = None) -> dict[str, Any]:
    given = None if assignments is None else [{"broker_ids": replicas} for replicas in assignments]
    return {"name": name, "count": partitions, "assignments": given}


@pytest.mark.parametrize("version", range(4))
def test_grows_at_every_version(broker: OneBroker, version: int) -> None:
    broker.create_topic("t", 2)
    (result,) = broker.ask("create_partitions", version, {"topics": [count("t", 5)]}).results
    assert (result.name, result.error_code, result.error_message) == ("t", 0, None)
    assert len(broker.services.image.topics["t"].partitions) == 5
    assert ("t", 4) in broker.engine.partitions
    node = broker.run(broker.store.get("/brokers/topics/t"))
    assert len(json.loads(node.data)["partitions"]) == 5


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ([count("nope", 3)], UNKNOWN_TOPIC),
        ([count("t", 2)], INVALID_PARTITIONS),
        ([count("t", 1)], INVALID_PARTITIONS),
        ([count("t", 3), count("t", 4)], INVALID_REQUEST),
        ([count("t", 3, [])], INVALID_REPLICA_ASSIGNMENT),
        ([count("t", 3, [[4711]])], INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_refusal_leaves_the_topic_as_it_is(broker: OneBroker, asked: list[dict[str, Any]], code: int) -> None:
    broker.create_topic("t", 2)
    (result,) = broker.ask("create_partitions", 3, {"topics": asked}).results
    assert result.error_code == code
    assert len(broker.services.image.topics["t"].partitions) == 2


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_a_request_without_time_grows_nothing(broker: OneBroker, timeout_ms: int) -> None:
    broker.create_topic("t")
    (result,) = broker.ask("create_partitions", 3, {"topics": [count("t", 2)], "timeout_ms": timeout_ms}).results
    assert (result.name, result.error_code) == ("t", REQUEST_TIMED_OUT)
    assert len(broker.services.image.topics["t"].partitions) == 1
