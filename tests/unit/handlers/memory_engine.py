"""A double of the engine (``_core.pyi``) for handler tests: logs are counters in memory, calls are noted.

Only what the admin handlers and their owners call. Where the real module is not built, a stand-in with its exception is
put in its place before anything imports it.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

if importlib.util.find_spec("kafkastore._core") is None:

    class EngineError(Exception):
        code: int

    stand_in = types.ModuleType("kafkastore._core")
    stand_in.EngineError = EngineError  # type: ignore[attr-defined]
    sys.modules["kafkastore._core"] = stand_in

UNKNOWN_TOPIC_OR_PARTITION, OFFSET_OUT_OF_RANGE, POLICY_VIOLATION = 3, 1, 44
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 74, 75


def engine_error(code: int, message: str = "refused") -> Exception:
    from kafkastore._core import EngineError

    error = EngineError(message)
    error.code = code
    return error


class MemoryLog:
    def __init__(self, log_dir: str) -> None:
        self.log_dir = log_dir
        self.start = 0
        self.end = 0
        self.producers: dict[int, tuple[int, int, int, int, int, int]] = {}


class MemoryEngine:
    """``log_dirs`` maps a directory to its error code."""

    def __init__(self, log_dirs: Sequence[str]) -> None:
        self.log_dirs = dict.fromkeys(log_dirs, 0)
        self.logs: dict[tuple[str, int], MemoryLog] = {}
        self.topic_configs: dict[str, dict[str, str]] = {}
        self.broker_options: dict[str, str] = {}
        self.leases: dict[tuple[str, int], tuple[int, int]] = {}
        self.published: set[str] = set()

    # ---- partitions
    def create_logs(
        self, topic: str, topic_id: bytes, config: Mapping[str, str], partitions: Sequence[tuple[int, str]]
    ) -> list[str | None]:
        assert len(topic_id) == 16
        self.topic_configs[topic] = dict(config)
        for partition, log_dir in partitions:
            self.logs.setdefault((topic, partition), MemoryLog(log_dir))
        return [None] * len(partitions)

    def publish_leases(self, topic: str, topic_id: bytes, leases: Sequence[tuple[Any, ...]]) -> None:
        assert len(topic_id) == 16
        for partition, leader, leader_epoch, *_ in leases:
            self.leases[topic, partition] = (leader, leader_epoch)

    def delete_logs(self, topic: str, partitions: Sequence[int]) -> None:
        for partition in partitions:
            self.logs.pop((topic, partition), None)
            self.leases.pop((topic, partition), None)

    def set_topic_config(self, topic: str, config: Mapping[str, str]) -> None:
        self.topic_configs[topic] = dict(config)

    def set_broker_options(self, options: Mapping[str, str]) -> None:
        self.broker_options = dict(options)

    # ---- published state
    def publish_topics(self, topics: Sequence[tuple[Any, ...]]) -> None:
        self.published |= {topic[0] for topic in topics}

    def withdraw_topics(self, names: Sequence[str]) -> None:
        self.published -= set(names)

    # ---- records
    def append_counted(
        self, topic: str, partition: int, count: int, producer: tuple[int, int] | None = None, timestamp_ms: int = 0
    ) -> None:
        """Stands for a produce request of ``count`` records."""
        log = self._log(topic, partition)
        log.end += count
        if producer is not None:
            log.producers[producer[0]] = (*producer, count - 1, timestamp_ms, -1, -1)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        log = self._log(topic, partition)
        if "delete" not in self.topic_configs[topic]["cleanup.policy"]:
            raise engine_error(POLICY_VIOLATION)
        target = log.end if before_offset == -1 else before_offset
        if not 0 <= target <= log.end:
            raise engine_error(OFFSET_OUT_OF_RANGE)
        log.start = max(log.start, target)
        return log.start

    def offset_for_leader_epoch(
        self, topic: str, partition: int, current_leader_epoch: int, leader_epoch: int
    ) -> tuple[int, int, int]:
        log = self._log(topic, partition)
        _, now = self.leases[topic, partition]
        if current_leader_epoch > now:
            return UNKNOWN_LEADER_EPOCH, -1, -1
        if current_leader_epoch not in (-1, now):
            return FENCED_LEADER_EPOCH, -1, -1
        return (0, leader_epoch, log.end) if leader_epoch == now else (0, -1, -1)

    def describe_producers(self, topic: str, partition: int) -> list[tuple[int, int, int, int, int, int]]:
        return list(self._log(topic, partition).producers.values())

    def describe_log_dirs(self) -> list[tuple[str, int, int, int, list[tuple[str, int, int, int, bool]]]]:
        return [
            (
                log_dir,
                code,
                1000 if code == 0 else -1,
                900 if code == 0 else -1,
                [(*key, log.end * 10, 0, False) for key, log in self.logs.items() if log.log_dir == log_dir],
            )
            for log_dir, code in self.log_dirs.items()
        ]

    def _log(self, topic: str, partition: int) -> MemoryLog:
        if (topic, partition) not in self.logs:
            raise engine_error(UNKNOWN_TOPIC_OR_PARTITION)
        return self.logs[topic, partition]
