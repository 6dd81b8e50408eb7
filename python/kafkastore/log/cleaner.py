"""The log cleaner's threads: when compacted logs are cleaned, and what is said about it.

The engine chooses a log and cleans it (``Engine.clean_filthiest``); this module runs ``log.cleaner.threads`` loops that
call it, one thread for each call, and rests for ``log.cleaner.backoff.ms`` when no log is due. Changes of both keys
apply from the next look on. A loop that an error ends is started again after the rest, with an error in the log, and
counts in ``DeadThreadCount`` until then. Never chooses a log, reads or writes one, or waits for a disk on the loop.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkastore._core import CleanerReport, Engine
    from kafkastore.config import BrokerConfig

logger = logging.getLogger("kafkastore.log.cleaner")

MEGABYTE: Final = 1024 * 1024
MIN_LOGGED_S: Final = 1.0
"""A cleaning that took less is logged at DEBUG: small logs are cleaned all the time."""
MAX_THREADS: Final = 64
"""More than any broker has use for. Those that ``log.cleaner.threads`` does not want are never started."""
STOP_LIMIT_S: Final = 10.0
"""A cleaning notices a stop within some 100 KB, or after a sync."""


class LogCleaner:
    """See the module. Runs on the loop; ``start`` does nothing when ``log.cleaner.enable`` is false."""

    def __init__(self, config: BrokerConfig, engine: Engine) -> None:
        self._config = config
        self._engine = engine
        self._executor: ThreadPoolExecutor | None = None
        self._loops: dict[int, asyncio.Task[None]] = {}
        self._is_stopping = False
        self.dead_threads = 0
        """Kafka's DeadThreadCount: loops that an error has ended and that are not started again yet."""
        self.totals = CleanerTotals()

    def start(self) -> None:
        if not self._config.get("log.cleaner.enable"):
            logger.warning("log.cleaner.enable=false: compacted topics, consumer offsets among them, grow for ever")
            return
        self._adjust()

    async def stop(self) -> None:
        """Ends the cleanings that run, and waits for their threads."""
        self._is_stopping = True
        self._engine.stop_cleaning()
        for task in self._loops.values():
            task.cancel()
        if self._loops:
            await asyncio.wait(self._loops.values(), timeout=STOP_LIMIT_S)
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def _adjust(self) -> None:
        """Starts the loops that ``log.cleaner.threads`` wants and that do not run."""
        wanted = max(1, self._config.get("log.cleaner.threads"))
        for number in range(wanted):
            if number not in self._loops and not self._is_stopping:
                task = asyncio.get_running_loop().create_task(self._run(number))
                self._loops[number] = task

    async def _run(self, number: int) -> None:
        """The loop of one cleaner thread, until the broker stops or fewer threads are wanted. It rests first: a start
        has better things to do."""
        await self._back_off()
        while not self._is_stopping and number < max(1, self._config.get("log.cleaner.threads")):
            try:
                report = await self._clean()
            except Exception:
                self.dead_threads += 1
                logger.exception("The log cleaner thread %d died; it is started again", number)
                await self._back_off()
                self.dead_threads -= 1
                continue
            if report is not None:
                self.totals.add(report)
                _log(number, report)
            if report is None or report.outcome == "stopped":
                await self._back_off()
            self._adjust()
        self._loops.pop(number, None)

    async def _back_off(self) -> None:
        await asyncio.sleep(self._config.get("log.cleaner.backoff.ms") / 1000)

    async def _clean(self) -> CleanerReport | None:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="kafka-log-cleaner-thread")
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._executor, self._engine.clean_filthiest)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])  # the thread notices the stop by itself
            raise


class CleanerTotals:
    """The cleaner's progress since the start, for metrics."""

    def __init__(self) -> None:
        self.runs: dict[str, int] = {}  # by outcome
        self.read_bytes = self.written_bytes = self.read_records = self.kept_records = 0
        self.max_clean_time_s = 0.0
        self.max_buffer_utilization = 0.0
        self.recopy_ratio = 0.0

    def add(self, report: CleanerReport) -> None:
        self.runs[report.outcome] = self.runs.get(report.outcome, 0) + 1
        self.read_bytes += report.read_bytes
        self.written_bytes += report.written_bytes
        self.read_records += report.read_records
        self.kept_records += report.kept_records
        # as Kafka's gauges: of the last cleaning
        self.max_clean_time_s = report.elapsed_s
        self.max_buffer_utilization = report.map_utilization
        if report.read_bytes:
            self.recopy_ratio = report.written_bytes / report.read_bytes


def _log(number: int, report: CleanerReport) -> None:
    name = f"{report.topic}-{report.partition}"
    if report.outcome == "uncleanable":
        logger.error(
            "The log of %s cannot be compacted and is left alone until the next start: %s", name, report.reason
        )
        return
    if report.outcome in ("resting", "failed"):
        logger.warning("The cleaning of %s ended early: %s", name, report.reason)
        return
    if report.records_without_key:
        logger.warning("Compaction of %s left out %d records without a key", name, report.records_without_key)
    level = logging.INFO if report.elapsed_s >= MIN_LOGGED_S else logging.DEBUG
    logger.log(
        level,
        "Cleaner thread %d %s %s (dirty section = [%d, %d)) in %.1f s, %.1f s of them indexing: "
        "%.1f MB in %d records became %.1f MB in %d",
        number,
        report.outcome,
        name,
        report.first_dirty_offset,
        report.end_offset,
        report.elapsed_s,
        report.indexing_s,
        report.read_bytes / MEGABYTE,
        report.read_records,
        report.written_bytes / MEGABYTE,
        report.kept_records,
    )
