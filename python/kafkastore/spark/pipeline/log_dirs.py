"""What log directories say about themselves: the broker they belong to, their partitions, the offsets in checkpoints.

Reads names and small text files, on the driver. A checkpoint that cannot be read counts as missing: the check itself
reports it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkastore.spark.pipeline.session import PipelineError

if TYPE_CHECKING:
    from collections.abc import Sequence

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
CLEANED: Final = "cleaner-offset-checkpoint"
_PARTITION_DIR: Final = re.compile(r"([a-zA-Z0-9._-]{1,249})-(\d{1,10})(\.[0-9a-f]{32}-future)?")
_SEGMENT: Final = re.compile(r"\d{20}\.log")
_ID: Final = re.compile(r"^(?:node|broker)\.id\s*=\s*(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Segment:
    """A segment file."""

    path: str
    base_offset: int
    size_bytes: int


@dataclass(frozen=True)
class PartitionDir:
    """A partition's directory. ``is_future``: the broker copies the partition there from another of its log
    directories."""

    broker: str
    log_dir: str
    topic: str
    partition: int
    path: str
    is_future: bool
    segments: tuple[Segment, ...]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)


def broker_of(log_dir: str) -> str:
    """The broker's id in ``meta.properties``; the directory itself when it does not say."""
    try:
        found = _ID.search(Path(log_dir, "meta.properties").read_text())
    except (OSError, ValueError):
        found = None
    return found[1] if found else log_dir


def partition_dirs(log_dirs: Sequence[str], topic: str | None = None) -> list[PartitionDir]:
    """The partitions below the log directories, by broker. Raises PipelineError for a directory that cannot be listed,
    and where there is no partition."""
    found = []
    for log_dir in log_dirs:
        broker = broker_of(log_dir)
        try:
            entries = sorted(os.scandir(log_dir), key=lambda entry: entry.name)
        except OSError as error:
            raise PipelineError(f"{log_dir}: {error.strerror}; name the entries of log.dirs") from None
        for entry in entries:
            name = _PARTITION_DIR.fullmatch(entry.name)
            if name and entry.is_dir() and topic in (None, name[1]):
                its = (broker, log_dir, name[1], int(name[2]), entry.path, bool(name[3]))
                found.append(PartitionDir(*its, segments_of(entry.path)))
    if not found:
        what = f"topic {topic}" if topic else "partition"
        raise PipelineError(f"{', '.join(log_dirs)}: there is no {what} here; name the entries of log.dirs")
    return found


def segments_of(path: str) -> tuple[Segment, ...]:
    """The segments of a partition's directory; none when it is gone meanwhile."""
    try:
        with os.scandir(path) as entries:
            named = [entry for entry in entries if _SEGMENT.fullmatch(entry.name)]
            found = [Segment(entry.path, int(entry.name[:20]), entry.stat().st_size) for entry in named]
    except FileNotFoundError:
        return ()
    return tuple(sorted(found, key=lambda segment: segment.base_offset))


def offsets_in(log_dir: str, checkpoint: str) -> dict[tuple[str, int], int]:
    """The offsets of a checkpoint file by topic and partition: a version, a count, then ``topic partition offset``."""
    try:
        lines = Path(log_dir, checkpoint).read_text().splitlines()[2:]
    except (OSError, ValueError):
        return {}
    found = {}
    for line in lines:
        topic, _, rest = line.partition(" ")
        partition, _, offset = rest.partition(" ")
        if partition.isdigit() and offset.isdigit():
            found[topic, int(partition)] = int(offset)
    return found
