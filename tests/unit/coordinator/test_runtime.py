"""The coordinator runtime with a coordinator that keeps only names: elections, loads that come too late, appends,
passes.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkastore import _core
from kafkastore.config import BrokerConfig
from kafkastore.coordinator.runtime import internal_log
from kafkastore.coordinator.runtime.append_errors import response_error
from kafkastore.coordinator.runtime.elections import Elections
from kafkastore.coordinator.runtime.internal_log import UNKNOWN_LIMIT, InternalLog
from kafkastore.coordinator.runtime.partitions import Partitions
from kafkastore.coordinator.runtime.periodic import Periodic
from kafkastore.coordinator.runtime.running import in_turns
from kafkastore.coordinator.runtime.steps import Appended, appended
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.internal_topics import INTERNAL_TOPICS, OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from kafkastore.metadata.image import MetadataImage, PartitionState, TopicImage
from kafkastore.purgatory.timer import Timers
from kafkastore.replica.manager import AppendResult
from unit.coordinator.group_world import ManualClock, run_to_end

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.coordinator.runtime.internal_log import AppendDone
    from kafkastore.coordinator.runtime.steps import Steps

LOADING, NOT_HERE = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR


class Names:
    """A coordinator whose state of a partition is one name; records the calls in order."""

    def __init__(self) -> None:
        self.logs = {0: "a", 1: "b"}
        self.shown: dict[int, str] = {}
        self.asked: list[str] = []
        self.before_reading: Callable[[], None] = lambda: None
        self.before_activating: Callable[[], None] = lambda: None

    def leave(self, partition: int) -> Steps[None]:
        name = self.shown.pop(partition, None)
        return self._answer(name)

    def _answer(self, name: str | None) -> Steps[None]:
        yield None
        if name is not None:
            self.asked.append(f"ended {name}")

    async def read(self, partition: int) -> str | None:
        self.asked.append(f"read {partition}")
        self.before_reading()
        return self.logs.get(partition)

    def enter(self, partition: int, read: str, activate: Callable[[], bool]) -> Steps[None]:
        yield None
        self.before_activating()
        if activate():
            self.shown[partition] = read

    def close(self, partition: int) -> None:
        self.asked.append(f"closed {partition}")


class World:
    """Coroutines run when ``run`` is called, in the order in which they were started."""

    def __init__(self) -> None:
        self.names = Names()
        self.partitions = Partitions("__names")
        self.partitions.is_running = True
        self.started: list[Any] = []
        self.elections = Elections(self.partitions, self.names, self._run_steps, self.started.append)

    async def _run_steps(self, steps: Steps[None]) -> None:
        for _ in steps:
            pass

    def run(self) -> None:
        while self.started:
            run_to_end(self.started.pop(0))


def test_a_partition_is_served_from_the_end_of_its_load_to_its_resignation() -> None:
    world = World()
    assert world.partitions.check(0) == NOT_HERE
    world.elections.on_election(0)
    assert world.partitions.check(0) == LOADING
    assert world.partitions.is_loading
    assert not world.names.shown
    world.run()
    assert world.partitions.check(0) == ErrorCode.NONE
    assert world.names.shown == {0: "a"}
    world.elections.on_resignation(0)
    assert world.partitions.check(0) == NOT_HERE
    assert not world.names.shown  # in the same step; waiting requests are answered in later steps
    assert world.names.asked == ["read 0", "closed 0"]
    world.run()
    assert world.names.asked == ["read 0", "closed 0", "ended a"]


def test_a_coordinator_that_does_not_run_serves_nothing() -> None:
    world = World()
    world.elections.on_election(0)
    world.elections.on_election(1)
    world.run()
    world.elections.give_up_all()
    world.partitions.is_running = False
    assert world.partitions.check(0) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not world.names.shown
    assert not world.partitions.states
    world.run()
    assert world.names.asked[-2:] == ["ended a", "ended b"]


def test_a_partition_that_is_given_up_before_its_load_begins_is_not_read() -> None:
    world = World()
    world.elections.on_election(0)
    world.elections.on_resignation(0)
    world.run()
    assert "read 0" not in world.names.asked
    assert world.partitions.check(0) == NOT_HERE


@pytest.mark.parametrize("moment", ["before_reading", "before_activating"])
def test_a_partition_that_is_given_up_while_it_loads_shows_nothing(moment: str) -> None:
    world = World()
    setattr(world.names, moment, lambda: world.elections.on_resignation(0))
    world.elections.on_election(0)
    world.run()
    assert world.partitions.check(0) == NOT_HERE
    assert not world.names.shown


def test_of_two_loads_of_a_partition_the_later_counts() -> None:
    world = World()
    world.elections.on_election(0)
    first = world.started.pop()
    world.names.logs[0] = "newer"
    world.elections.on_election(0)
    world.run()
    world.names.logs[0] = "older"
    run_to_end(first)
    assert world.names.shown == {0: "newer"}
    assert world.partitions.check(0) == ErrorCode.NONE


def test_a_new_leader_epoch_drops_the_state_and_loads_it_again() -> None:
    world = World()
    world.elections.on_election(0)
    world.run()
    world.names.logs[0] = "of another leader"
    world.elections.on_election(0)
    assert world.partitions.check(0) == LOADING
    assert not world.names.shown
    world.run()
    assert world.names.shown == {0: "of another leader"}
    assert "ended a" in world.names.asked


@pytest.mark.parametrize("error", [KafkastoreError("not led", ErrorCode.NOT_LEADER_OR_FOLLOWER), ZeroDivisionError()])
def test_a_partition_whose_load_fails_has_no_coordinator_until_another_election(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()

    def fail() -> None:
        raise error

    world.names.before_reading = fail
    world.elections.on_election(0)
    world.run()
    assert world.partitions.check(0) == NOT_HERE
    assert not world.partitions.is_loading
    assert world.names.asked[-1] == "closed 0"
    assert "Failed to load __names-0" in caplog.text
    assert bool([row for row in caplog.records if row.exc_info]) == isinstance(error, ZeroDivisionError)
    world.names.before_reading = lambda: None
    world.elections.on_election(0)
    world.run()
    assert world.names.shown == {0: "a"}


def test_a_load_that_fails_after_a_later_one_has_begun_changes_nothing() -> None:
    world = World()

    def fail() -> None:
        world.names.before_reading = lambda: None
        world.elections.on_election(0)
        raise ZeroDivisionError

    world.names.before_reading = fail
    world.elections.on_election(0)
    world.run()
    assert world.names.shown == {0: "a"}
    assert world.partitions.check(0) == ErrorCode.NONE


def test_a_bug_behind_the_activation_takes_the_state_away_again() -> None:
    world = World()
    enter = world.names.enter

    def enter_and_fail(partition: int, read: str, activate: Callable[[], bool]) -> Steps[None]:
        yield from enter(partition, read, activate)
        raise ZeroDivisionError

    world.names.enter = enter_and_fail  # type: ignore[method-assign]
    world.elections.on_election(0)
    world.run()
    assert world.partitions.check(0) == NOT_HERE
    assert not world.names.shown


# ---- passes


def test_passes_come_again_after_a_bug_and_end_with_the_coordinator(caplog: pytest.LogCaptureFixture) -> None:
    clock, passes = ManualClock(), []

    def steps() -> Steps[None]:
        passes.append(clock.monotonic_ms())
        if len(passes) == 1:
            raise ZeroDivisionError
        yield None

    async def run(steps: Steps[None]) -> None:
        for _ in steps:
            pass

    begin_ms = clock.monotonic_ms()
    periodic = Periodic("Sweeping", 100, steps, Timers(clock), run, run_to_end)
    periodic.begin()
    clock.advance(350)
    assert [at - begin_ms for at in passes] == [100, 200, 300]
    assert "Sweeping failed; the next pass tries again" in caplog.text
    periodic.stop()
    clock.advance(1000)
    assert len(passes) == 3


def test_a_pass_that_runs_when_the_coordinator_stops_is_the_last() -> None:
    clock, passes = ManualClock(), []

    def steps() -> Steps[None]:
        passes.append(clock.monotonic_ms())
        periodic.stop()
        yield None

    async def run(steps: Steps[None]) -> None:
        for _ in steps:
            pass

    periodic = Periodic("Sweeping", 100, steps, Timers(clock), run, run_to_end)
    periodic.begin()
    clock.advance(1000)
    assert len(passes) == 1


# ---- appends


class Log:
    """Its appends end when the test says so."""

    def __init__(self) -> None:
        self.begun: list[AppendDone] = []

    def steps(self, count: int) -> Steps[list[Appended]]:
        return list((yield from appended([self.begun.append] * count)))


def test_all_appends_of_a_step_are_begun_before_the_first_of_them_ends() -> None:
    async def test() -> None:
        log = Log()
        running = asyncio.ensure_future(in_turns(log.steps(3)))
        await asyncio.sleep(0)
        assert len(log.begun) == 3
        for number in (2, 0, 1):
            log.begun[number](number, 10 * number)
        assert await running == [Appended(0, 0), Appended(1, 10), Appended(2, 20)]

    asyncio.run(test())


def test_an_append_that_ends_when_nobody_waits_any_more_changes_nothing() -> None:
    async def test() -> None:
        log = Log()
        running = asyncio.ensure_future(in_turns(log.steps(2)))
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
        for done in log.begun:
            done(0, 7)

    asyncio.run(test())


class FakeReplicas:
    """Ends appends at once, with the result that the test sets."""

    def __init__(self) -> None:
        self.result = AppendResult(0, 7)
        self.appended: list[tuple[str, int, bytes, int, int]] = []

    def append(
        self, topic: str, partition: int, batch: bytes, acks: int, timeout_ms: int, done: Callable[[AppendResult], None]
    ) -> None:
        self.appended.append((topic, partition, batch, acks, timeout_ms))
        done(self.result)


def log_of(replicas: Any, image: MetadataImage | None = None, codec: str = "none") -> InternalLog:
    config = BrokerConfig({"transaction.state.log.num.partitions": "4", "message.max.bytes": "1000"})
    return InternalLog(
        TRANSACTION_STATE_TOPIC, config, image or MetadataImage(), replicas, lambda: 1_700_000_000_000, 5_000, codec
    )


def test_a_batch_is_in_the_log_before_the_append_returns_and_waits_for_the_replicas() -> None:
    replicas, ended = FakeReplicas(), []
    log_of(replicas).append(3, [(b"key", b"value"), (b"gone", None)], lambda *end: ended.append(end))
    ((topic, partition, batch, acks, timeout_ms),) = replicas.appended
    assert (topic, partition, acks, timeout_ms) == (TRANSACTION_STATE_TOPIC, 3, -1, 5_000)
    assert b"value" in batch
    assert ended == [(0, 7)]


def test_a_failed_append_is_answered_with_the_error_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    replicas, ended = FakeReplicas(), []
    replicas.result = AppendResult(ErrorCode.NOT_ENOUGH_REPLICAS, message="1 of 2")
    log_of(replicas).append(3, [(b"key", b"value")], lambda *end: ended.append(end))
    assert ended == [(ErrorCode.NOT_ENOUGH_REPLICAS, -1)]
    assert response_error(ErrorCode.NOT_ENOUGH_REPLICAS) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert response_error(ErrorCode.INVALID_PRODUCER_EPOCH) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert "Append to __transaction_state-3 failed" in caplog.text


def test_a_batch_that_cannot_be_built_ends_the_append(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> bytes:
        raise ValueError("too large")

    monkeypatch.setattr(internal_log, "build_batch", refuse)
    replicas, ended = FakeReplicas(), []
    log_of(replicas).append(3, [(b"key", b"value")], lambda *end: ended.append(end))
    assert ended == [(ErrorCode.UNKNOWN_SERVER_ERROR, -1)]
    assert not replicas.appended


def test_partitions_and_largest_batch_are_those_of_the_topic_once_it_exists() -> None:
    image = MetadataImage()
    log = log_of(FakeReplicas(), image)
    assert (log.partition_count(), log.max_batch_bytes()) == (4, UNKNOWN_LIMIT)
    states = [PartitionState(1, 0, 0, (1,), (1,))] * 7
    image.put_topic(TopicImage(TRANSACTION_STATE_TOPIC, b"\7" * 16, states, {}))
    assert (log.partition_count(), log.max_batch_bytes()) == (7, 1000)
    image.put_topic(TopicImage(TRANSACTION_STATE_TOPIC, b"\7" * 16, states, {"max.message.bytes": "300"}))
    assert log.max_batch_bytes() == 300
    assert log_of(FakeReplicas(), image, "lz4").max_batch_bytes() == UNKNOWN_LIMIT


def test_each_internal_topic_has_one_kind_of_coordinator() -> None:
    assert sorted(topic.coordinator for topic in INTERNAL_TOPICS.values()) == [0, 1, 2]
    assert INTERNAL_TOPICS[OFFSETS_TOPIC].coordinator == 0


def test_the_data_plane_knows_the_same_internal_topics() -> None:
    assert sorted(_core.INTERNAL_TOPICS) == sorted(INTERNAL_TOPICS)
