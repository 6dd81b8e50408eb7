"""Partitions that move as long as a load runs: their replicas between brokers, or between the log directories of one
broker.

A move that a bounced broker interrupts is waited for; one that never ends is an error. What the records of the
partitions are is not looked at here.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import cycle
from typing import Any

from cluster.cluster import Cluster
from parity.raw_client import ConnectionClosedError, RawClient
from peer.broker_process import wait_until
from peer.kafkastore_broker import KafkastoreBroker

PAUSE_S = 0.1
MOVE_LIMIT_S = 60.0
GONE = (OSError, ConnectionClosedError, StopIteration, AssertionError)
"""What is raised while brokers are away or have no controller."""

Place = tuple[str, int]
"""A topic and a partition of it."""


def ask(broker: KafkastoreBroker, api: str, version: int, **given: Any) -> Any:
    with closing(RawClient(broker.host, broker.port)) as client:
        return client.ask(api, version, given)


class Moves(threading.Thread, ABC):
    """Moves the partitions in turn until ``finish``; ``moved`` counts the moves that were completed.

    ``rests``: the seconds in which a partition of a topic stays where it was moved to; 0 for a topic without an entry.
    """

    def __init__(self, cluster: Cluster, places: Sequence[Place], rests: Mapping[str, float] | None = None) -> None:
        super().__init__(name="moves", daemon=True)
        self.cluster = cluster
        self.places = places
        self.rests = rests or {}
        self.moved = 0
        self.errors: list[str] = []
        self._enough = threading.Event()
        self._given_up = threading.Event()

    @abstractmethod
    def move(self, place: Place) -> None:
        """Moves the partition and returns when it has moved."""

    def run(self) -> None:
        rests_until: dict[Place, float] = {}
        for place in cycle(self.places):
            if self._enough.is_set():
                return
            if time.monotonic() >= rests_until.get(place, 0.0):
                try:
                    self.move(place)
                except AssertionError as error:
                    self.errors.append(f"{place}: {error}")
                    return
                self.moved += 1
                rests_until[place] = time.monotonic() + self.rests.get(place[0], 0.0)
            self._enough.wait(PAUSE_S)

    def finish(self) -> None:
        """Waits for the end of the move that is under way."""
        self._enough.set()
        self.join()

    def give_up(self) -> None:
        """Ends without waiting for the move that is under way."""
        self._given_up.set()
        self.finish()

    def until(self, what: str, done: Callable[[], object]) -> None:
        """Calls ``done`` until it is true; what it raises while brokers are away counts as false."""
        last = ""

        def is_done() -> bool:
            nonlocal last
            if self._given_up.is_set():
                return True
            try:
                if done():
                    return True
            except GONE as error:
                last = repr(error)
            time.sleep(PAUSE_S)
            return False

        try:
            wait_until(is_done, MOVE_LIMIT_S, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the last error: {last}") from None


class ReplicaMoves(Moves):
    """Takes the first replica, which leads as a rule, away from its broker, and gives it back as the last one."""

    def move(self, place: Place) -> None:
        first, *others = self.replicas_of(place)
        self.reassign(place, others)
        self.reassign(place, [*others, first])

    def replicas_of(self, place: Place) -> list[int]:
        found: list[int] = []

        def told() -> bool:
            found[:] = self._partition(place).replica_nodes
            return len(found) > 0

        self.until(f"the replicas of {place}", told)
        return found

    def reassign(self, place: Place, replicas: list[int]) -> None:
        self.until(f"{place} may move to {replicas}", lambda: self._begin(place, replicas))
        self.until(f"{place} is on {replicas}", lambda: self._is_on(place, replicas))

    def _begin(self, place: Place, replicas: list[int]) -> bool:
        controller = self.cluster.controller()
        if controller < 1:
            return False
        asked = [{"name": place[0], "partitions": [{"partition_index": place[1], "replicas": replicas}]}]
        answer = ask(
            self.cluster.broker(controller), "alter_partition_reassignments", 0, topics=asked, timeout_ms=10_000
        )
        errors = [int(one.error_code) for topic in answer.responses for one in topic.partitions]
        assert (int(answer.error_code), errors) == (0, [0]), (answer.error_code, errors)
        return True

    def _is_on(self, place: Place, replicas: list[int]) -> bool:
        found = self._partition(place)
        return list(found.replica_nodes) == replicas and set(found.isr_nodes) == set(replicas)

    def _partition(self, place: Place) -> Any:
        broker = next(broker for broker in self.cluster.brokers if broker.is_running())
        topics = [{"name": place[0]}]
        answer = ask(broker, "metadata", 8, topics=topics, allow_auto_topic_creation=False)
        return next(one for one in answer.topics[0].partitions if one.partition_index == place[1])


class LogDirMoves(Moves):
    """Moves the replicas of the one broker of a cluster to the other of its two log directories."""

    def move(self, place: Place) -> None:
        (broker,) = self.cluster.brokers
        found: list[tuple[str, bool]] = []

        def held() -> bool:
            found[:] = self._held_in(broker, place)
            return len(found) == 1

        def is_moved() -> bool:
            return self._held_in(broker, place) == [(target, False)]

        self.until(f"{place} is in one directory", held)
        target = next(str(path) for path in broker.log_dirs if str(path) != found[0][0])
        self.until(f"{place} may move to {target}", lambda: self._begin(broker, place, target))
        self.until(f"{place} is in {target}", is_moved)

    def _begin(self, broker: KafkastoreBroker, place: Place, target: str) -> bool:
        dirs = [{"path": target, "topics": [{"name": place[0], "partitions": [place[1]]}]}]
        answer = ask(broker, "alter_replica_log_dirs", 2, dirs=dirs)
        return [int(one.error_code) for topic in answer.results for one in topic.partitions] == [0]

    def _held_in(self, broker: KafkastoreBroker, place: Place) -> list[tuple[str, bool]]:
        topics = [{"topic": place[0], "partitions": [place[1]]}]
        answer = ask(broker, "describe_log_dirs", 4, topics=topics)
        return [
            (of_dir.log_dir, one.is_future_key)
            for of_dir in answer.results
            for at in of_dir.topics
            for one in at.partitions
        ]
