"""Log directories and housekeeping: where new logs go, how they are made, which directories failed, when jobs run.

The engine owns the files; this module decides where logs are placed (fewest partitions first, as Kafka) and when
retention, flushes, checkpoints and producer expiry run. They run in the thread pool, so that the loop never waits for a
disk; a job that is still running when it is due again is not started twice.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NamedTuple

from kafkastore._core import EngineError
from kafkastore.config import engine_topic_config
from kafkastore.errors import KafkaStorageError
from kafkastore.log.cleaner import LogCleaner
from kafkastore.log.free_memory import INTERVAL_MS as FREE_MEMORY_INTERVAL_MS
from kafkastore.log.free_memory import FreeMemory

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.image import TopicImage

logger = logging.getLogger("kafkastore.log.manager")

FLUSH_CHECK_INTERVAL_MS = 1000
"""The longest time between two checks for ``flush.ms``. By default Kafka's log.flush.scheduler.interval.ms is so long
that the check never runs, which makes ``flush.ms`` of a topic void. An idle check costs microseconds."""

ISR_CHECK_INTERVAL_MS = 1000
"""The longest time between two checks for followers that are too far behind. Kafka checks twice in
``replica.lag.time.max.ms``: with its default of 30 s a produce with acks=all may wait for a hung follower for 45 s. The
check reads memory only."""

STALE_CHECK_INTERVAL_MS = 1000
"""Rows of deleted logs leave the checkpoint files so long after the deletion, at most. Deletions in between share one
write of the files."""

ADOPT_FILE = "kafkastore-adopt"
"""A file in a log directory: the topics that ``kafkastore stray adopt`` has the next start take back
(``strays.py``)."""

MAX_PREFERRED = 10_000
"""How many preferred directories are kept for partitions that are not here. Any client may ask for more: the oldest are
dropped then."""

_FOREVER = 2**63 - 1


class LogManager:
    """Where the logs of this broker are and what is done for them. Runs on the loop."""

    def __init__(self, config: BrokerConfig, engine: Engine) -> None:
        self.config = config
        self.engine = engine
        self.online: list[str] = list(config.log_dirs)  # the directories that work, in the order of log.dirs
        self.failed: dict[str, str] = {}  # directory -> why
        self._placed: dict[str, dict[int, str]] = {}  # topic -> partition -> directory
        self._preferred: dict[tuple[str, int], str] = {}  # (topic, partition) not here yet -> wanted directory
        self._counts: dict[str, int] = dict.fromkeys(config.log_dirs, 0)
        self._jobs: list[_Job] = []
        self.cleaner = LogCleaner(config, engine)
        self.before_made: Callable[[Sequence[TopicImage]], Awaitable[None]] = _nothing
        """Called with the topics whose logs are placed, before the logs are made."""

    # ---- placement
    def record(self, topic: str, partition: int, directory: str) -> None:
        """Notes the directory of a log that the engine has."""
        self._placed.setdefault(topic, {})[partition] = directory
        self._counts[directory] = self._counts.get(directory, 0) + 1

    def place(self, topic: str, partitions: Iterable[int]) -> list[tuple[int, str]]:
        """Chooses and notes a directory for each new partition. Raises KafkaStorageError when none works any more."""
        chosen = []
        if not self.online:
            raise KafkaStorageError
        for partition in partitions:
            wanted = self._preferred.pop((topic, partition), None)
            directory = wanted if wanted in self.online else min(self.online, key=self._counts.__getitem__)
            self.record(topic, partition, directory)
            chosen.append((partition, directory))
        return chosen

    async def make_logs(self, wanted: Sequence[tuple[TopicImage, list[int]]]) -> list[tuple[str, int]]:
        """Makes the logs of partitions of topics, all in one call in the thread pool. Returns the partitions that
        failed. Raises KafkaStorageError when no directory works any more."""
        placements = [
            _Placement(
                topic.name,
                topic.topic_id,
                engine_topic_config(self.config, topic.configs, topic.name),
                self.place(topic.name, numbers),
            )
            for topic, numbers in wanted
        ]
        loop = asyncio.get_running_loop()
        await self.before_made([topic for topic, _ in wanted])
        errors = await loop.run_in_executor(None, _create_logs, self.engine, placements)
        failed = []
        for placement, of_topic in zip(placements, errors, strict=True):
            for (number, directory), error in zip(placement.placed, of_topic, strict=True):
                if error is not None:
                    logger.error("Cannot create the log of %s-%d in %s: %s", placement.name, number, directory, error)
                    failed.append((placement.name, number))
        return failed

    def prefer(self, topic: str, partition: int, directory: str) -> None:
        """Notes in which directory the log of a partition is to be made, if this broker gets the partition
        (KIP-113)."""
        self._preferred[topic, partition] = directory
        while len(self._preferred) > MAX_PREFERRED:
            del self._preferred[next(iter(self._preferred))]

    def move(self, topic: str, partition: int, directory: str) -> bool:
        """Notes that a log is in another directory now. False when the log is not here any more."""
        if self.directory_of(topic, partition) is None:
            return False
        self.forget_partition(topic, partition)
        self.record(topic, partition, directory)
        return True

    def directory_of(self, topic: str, partition: int) -> str | None:
        return self._placed.get(topic, {}).get(partition)

    def directories_of(self, topic: str) -> set[str]:
        """The directories that have logs of the topic."""
        return set(self._placed.get(topic, {}).values())

    def forget(self, topic: str) -> list[int]:
        """Forgets the topic's logs, which are to be deleted. Returns the topic's partitions here."""
        placed = self._placed.pop(topic, {})
        for directory in placed.values():
            self._counts[directory] -= 1
        return sorted(placed)

    def forget_partition(self, topic: str, partition: int) -> None:
        """Forgets one log, which is deleted."""
        placed = self._placed.get(topic, {})
        directory = placed.pop(partition, None)
        if directory is not None:
            self._counts[directory] -= 1
        if not placed:
            self._placed.pop(topic, None)

    def fail(self, directory: str, reason: str) -> dict[str, list[int]]:
        """Takes a directory out of service. Returns the partitions in it by topic; empty when the directory had failed
        before."""
        if directory in self.failed:
            return {}
        self.failed[directory] = reason
        if directory in self.online:
            self.online.remove(directory)
        lost: dict[str, list[int]] = {}
        for topic, placed in self._placed.items():
            numbers = [partition for partition, where in placed.items() if where == directory]
            if numbers:
                lost[topic] = sorted(numbers)
        return lost

    # ---- housekeeping
    def start_housekeeping(self, loop: asyncio.AbstractEventLoop) -> None:
        """Schedules the jobs at the intervals of Kafka's keys, and starts the log cleaner. A job first runs after the
        initial delay or one interval, whichever is less."""
        get, engine = self.config.get, self.engine
        schedule: list[tuple[str, Callable[[], object], int]] = [
            ("retention", engine.run_retention, get("log.retention.check.interval.ms")),
            ("flush", engine.flush_due, min(FLUSH_CHECK_INTERVAL_MS, get("log.flush.scheduler.interval.ms"))),
            (
                "recovery point checkpoint",
                lambda: engine.write_checkpoints(recovery_points=True),
                get("log.flush.offset.checkpoint.interval.ms"),
            ),
            (
                "log start offset checkpoint",
                lambda: engine.write_checkpoints(log_starts=True),
                get("log.flush.start.offset.checkpoint.interval.ms"),
            ),
            (
                "high watermark checkpoint",
                lambda: engine.write_checkpoints(high_watermarks=True),
                get("replica.high.watermark.checkpoint.interval.ms"),
            ),
            ("deleted logs", engine.write_stale_checkpoints, STALE_CHECK_INTERVAL_MS),
            ("in-sync set", engine.shrink_isrs, min(ISR_CHECK_INTERVAL_MS, get("replica.lag.time.max.ms") // 2)),
            ("producer expiry", engine.expire_producers, get("producer.id.expiration.check.interval.ms")),
            ("free memory", FreeMemory().look, FREE_MEMORY_INTERVAL_MS),
        ]
        initial_delay_ms = get("log.initial.task.delay.ms")
        self._jobs = [_Job(loop, name, run, interval) for name, run, interval in schedule if 0 < interval < _FOREVER]
        for job in self._jobs:
            job.start(min(initial_delay_ms, job.interval_ms))
        self.cleaner.start()

    async def stop_housekeeping(self) -> None:
        """Starts no job any more and waits for the jobs that run."""
        await self.cleaner.stop()
        for job in self._jobs:
            await job.stop()
        self._jobs = []


async def _nothing(_: Sequence[TopicImage]) -> None:
    """The default of ``before_made``."""


class _Placement(NamedTuple):
    """The arguments of ``Engine.create_logs``."""

    name: str
    topic_id: bytes
    config: dict[str, str]
    placed: list[tuple[int, str]]


def _create_logs(engine: Engine, placements: Sequence[_Placement]) -> list[list[str | None]]:
    """Blocking. Returns an error or None for each log."""
    errors: list[list[str | None]] = []
    for placement in placements:
        try:
            errors.append(engine.create_logs(*placement))
        except EngineError as error:
            errors.append([str(error)] * len(placement.placed))
    return errors


class _Job:
    """One blocking call that is repeated ``interval_ms`` after it ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str, run: Callable[[], object], interval_ms: int) -> None:
        self.loop = loop
        self.name = name
        self.run = run
        self.interval_ms = interval_ms
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Future[object] | None = None

    def start(self, delay_ms: int) -> None:
        self._timer = self.loop.call_later(delay_ms / 1000, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._running = self.loop.run_in_executor(None, self.run)
        self._running.add_done_callback(self._ended)

    def _ended(self, running: asyncio.Future[object]) -> None:
        error = None if running.cancelled() else running.exception()
        if error is not None:
            logger.error("The %s job failed: %s", self.name, error)
        if self._running is running:
            self._running = None
            self.start(self.interval_ms)

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        running, self._running = self._running, None
        if running is not None:
            await asyncio.wait([running])
