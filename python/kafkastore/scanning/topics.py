"""``kafkastore.topics``: the topics in log directories, their sizes and their ranges of offsets. Read-only."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from kafkastore import _core
from kafkastore.internal_topics import INTERNAL_TOPICS
from kafkastore.scanning.bounds import as_datetime, as_log_dirs

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from kafkastore.scanning.bounds import PathLike

INTERNAL = frozenset({*INTERNAL_TOPICS, "__cluster_metadata"})
"""Kafka's own topics, KRaft's log included; their records are not for applications."""


@dataclass(frozen=True, slots=True)
class TopicPartition:
    """A partition on disk, with the offsets [``start_offset``, ``end_offset``) that a scan of the files reads; times
    are None where no record of these has a timestamp."""

    partition: int
    log_dir: str
    path: str
    segments: int
    size_bytes: int
    start_offset: int
    end_offset: int
    log_end_offset: int
    """One past the last offset in the files. Those from ``end_offset`` on are not known to be committed: a broker
    writes its checkpoints every few seconds and at a clean stop."""
    first_timestamp: datetime | None
    """The timestamp of the first batch."""
    max_timestamp: datetime | None


@dataclass(frozen=True, slots=True, repr=False)
class Topic:
    """A topic on disk with the partitions found, in order."""

    name: str
    is_internal: bool
    partitions: tuple[TopicPartition, ...]

    @property
    def size_bytes(self) -> int:
        """The size of all segment files."""
        return sum(one.size_bytes for one in self.partitions)

    @property
    def offsets(self) -> int:
        """Offsets between start and end, all partitions together: at least as many as there are records."""
        return sum(one.end_offset - one.start_offset for one in self.partitions)

    @property
    def unseen_offsets(self) -> int:
        """Offsets in the files behind ``end_offset``, all partitions together, which no checkpoint says to be
        committed; ``scan`` with ``bootstrap_servers`` reads what the broker has committed meanwhile."""
        return sum(one.log_end_offset - one.end_offset for one in self.partitions)

    @property
    def first_timestamp(self) -> datetime | None:
        """The least first timestamp of the partitions."""
        return min((one.first_timestamp for one in self.partitions if one.first_timestamp), default=None)

    @property
    def max_timestamp(self) -> datetime | None:
        """The greatest timestamp of the partitions."""
        return max((one.max_timestamp for one in self.partitions if one.max_timestamp), default=None)

    def __repr__(self) -> str:
        first, last = self.first_timestamp, self.max_timestamp
        times = f", {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S}" if first and last else ""
        internal = " (internal)" if self.is_internal else ""
        partitions = "1 partition" if len(self.partitions) == 1 else f"{len(self.partitions)} partitions"
        behind = f" and {self.unseen_offsets:,} behind the last checkpoint" if self.unseen_offsets else ""
        size = readable(self.size_bytes)
        return f"<Topic {self.name}{internal}: {partitions}, {self.offsets:,} offsets{behind}, {size}{times}>"


def readable(size_bytes: int) -> str:
    """A size with three digits and a decimal unit."""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB" if size < 999.5 else f"{size:.0f} TB"


def topics(log_dirs: PathLike | Iterable[PathLike]) -> list[Topic]:
    """The topics below the log directories, by name. Raises FileNotFoundError, NotADirectoryError or ValueError of one
    sentence."""
    found = sorted(_core.list_partitions(as_log_dirs(log_dirs)), key=lambda one: (one.topic, one.partition))
    return [
        Topic(name, name in INTERNAL, tuple(map(_partition, its)))
        for name, its in groupby(found, key=lambda one: one.topic)
    ]


def _partition(found: _core.TopicPartitionFiles) -> TopicPartition:
    return TopicPartition(
        partition=found.partition,
        log_dir=found.log_dir,
        path=found.path,
        segments=found.segments,
        size_bytes=found.size_bytes,
        start_offset=found.log_start_offset,
        end_offset=found.end_offset,
        log_end_offset=found.log_end_offset,
        first_timestamp=as_datetime(found.first_timestamp_ms),
        max_timestamp=as_datetime(found.max_timestamp_ms),
    )
