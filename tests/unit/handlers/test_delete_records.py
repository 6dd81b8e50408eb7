"""DeleteRecords: another leader, the wait for replicas (KIP-107)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafkastore._core import LowWatermarkMoved
from kafkastore.metadata.image import BrokerImage
from kafkastore.requests.registry import BY_NAME
from peer.broker_process import wait_until
from unit.plain_messages import request_body

from .one_broker import OneBroker

LONG_MS = 600_000
NONE, REQUEST_TIMED_OUT = 0, 7
UNKNOWN_TOPIC, NOT_LEADER = 3, 6


def body(timeout_ms: int, *asked: tuple[str, int, int]) -> dict[str, Any]:
    topics = [{"name": t, "partitions": [{"partition_index": p, "offset": offset}]} for t, p, offset in asked]
    return {"topics": topics, "timeout_ms": timeout_ms}


def told(answer: Any) -> list[tuple[int, int]]:
    return [(p.error_code, p.low_watermark) for topic in answer.topics for p in topic.partitions]


def test_partition_of_another_leader_fails_alone(broker: OneBroker) -> None:
    for name in ("t", "elsewhere"):
        broker.create_topic(name)
    broker.lease("elsewhere", (2,), 2, 1)
    broker.engine.add_records("t", 0, 10)
    answer = broker.ask("delete_records", 2, body(LONG_MS, ("elsewhere", 0, 0), ("t", 0, 3)))
    assert told(answer) == [(NOT_LEADER, -1), (NONE, 3)]


class Replicated:
    """Partition 0 of ``t`` and ``u`` with ten records, each with two followers that have all of them."""

    def __init__(self, broker: OneBroker) -> None:
        self.broker, self.engine = broker, broker.engine
        for name in ("t", "u"):
            broker.create_topic(name)
        self.live(2, 3)
        for name in ("t", "u"):
            self.engine.add_records(name, 0, 10)
            broker.lease(name, (1, 2, 3), 1, 1)
            self.move(name, 0, 0)

    def live(self, *others: int) -> None:
        """These brokers live beside this one."""
        brokers = self.broker.services.image.brokers
        for node_id in brokers.keys() - {1, *others}:
            del brokers[node_id]
        for node_id in others:
            brokers[node_id] = BrokerImage(node_id, None, (("PLAINTEXT", "host", 9092),))
        self.broker.services.replica_manager.publish_cluster()

    def begin(self, timeout_ms: int, *asked: tuple[str, int, int]) -> asyncio.Task[Any]:
        """A request that waits for the followers."""
        task = self.broker.loop.create_task(self.broker.handling("delete_records", 2, body(timeout_ms, *asked)))
        watched = len(self.engine.of("watch_low_watermark")) + len(asked)
        self.settle(lambda: len(self.engine.of("watch_low_watermark")) >= watched)
        assert not task.done()
        return task

    def move(self, topic: str, *starts: int) -> None:
        """The brokers 2 and 3 fetch at the end of their logs, which begin at these offsets."""
        for replica, start in zip((2, 3), starts, strict=True):
            row = {
                "partition": 0, "current_leader_epoch": 1, "fetch_offset": 10, "log_start_offset": start,
                "partition_max_bytes": 1,
            }  # fmt: skip
            given = {
                "replica_id": replica, "session_epoch": -1, "topics": [{"topic": topic, "partitions": [row]}],
                "max_wait_ms": 0,
            }  # fmt: skip
            self.engine.steps.serve(1, 11, request_body(BY_NAME["Fetch"], 11, given), 0, 0)
        self.report()

    def report(self) -> None:
        """Delivers what the engine reports."""
        for event in self.engine.take(100):
            if isinstance(event, LowWatermarkMoved):
                self.broker.services.replica_manager.low_watermarks.on_moved(event)
        self.settle(lambda: True)

    def settle(self, condition: Any) -> None:
        def goes_on() -> bool:
            self.broker.loop.call_soon(self.broker.loop.stop)
            self.broker.loop.run_forever()
            return bool(condition())

        wait_until(goes_on, 10.0, "the request waits")


@pytest.fixture
def replicated(broker: OneBroker) -> Replicated:
    return Replicated(broker)


def test_answers_when_every_replica_that_lives_starts_there(replicated: Replicated) -> None:  # KIP-107
    task = replicated.begin(LONG_MS, ("t", 0, 4), ("u", 0, -1))
    replicated.move("t", 4, 3)
    replicated.move("u", 10, 10)
    assert not task.done()
    replicated.move("t", 5, 4)
    assert told(replicated.broker.run(task)) == [(NONE, 4), (NONE, 10)]


def test_partitions_that_are_not_done_are_answered_timed_out_after_the_timeout(replicated: Replicated) -> None:
    replicated.move("u", 6, 7)
    asked = ("t", 0, 4), ("u", 0, 6), ("nope", 0, 0)
    answer = replicated.broker.ask("delete_records", 2, body(50, *asked))
    assert told(answer) == [(REQUEST_TIMED_OUT, 0), (NONE, 6), (UNKNOWN_TOPIC, -1)]
    replicated.move("t", 4, 4)  # no request waits any more


def test_does_not_wait_for_a_broker_that_goes(replicated: Replicated) -> None:
    task = replicated.begin(LONG_MS, ("t", 0, 4))
    replicated.move("t", 4, 0)
    assert not task.done()
    replicated.live(2)
    assert told(replicated.broker.run(task)) == [(NONE, 4)]


def test_answers_at_once_when_another_broker_leads(replicated: Replicated) -> None:
    task = replicated.begin(LONG_MS, ("t", 0, 4), ("u", 0, 4))
    replicated.move("u", 4, 4)
    replicated.broker.lease("t", (2, 1), 2, 2)
    replicated.report()
    assert told(replicated.broker.run(task)) == [(NOT_LEADER, -1), (NONE, 4)]
