"""Finds records that a scan of the files alone leaves out: those at or beyond the high watermark of the checkpoints.

A checkpoint is written every few seconds and at a clean stop, so beside a live broker, or after a crash, the newest
records are beyond it: in a young topic, perhaps all records. A scan without rows then looks like a topic without
records. This module reads headers of batches and never records.
"""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

WHY = (
    "the checkpoints do not tell that they are committed (a broker that runs writes them every few seconds, one that "
    "was killed does not any more)"
)


def unseen(plans: Sequence[_core.PartitionPlan]) -> dict[int, tuple[int, int]]:
    """By partition the offsets [from, to) in the files that lie at or beyond the end limit of its plan; partitions
    without such offsets are left out."""
    found = {plan.partition: (plan.end_limit, _end_of_files(plan.path)) for plan in plans}
    return {partition: (limit, end) for partition, (limit, end) in found.items() if limit < end}


def _end_of_files(path: str) -> int:
    """One past the last good batch of a partition's directory, by the headers of its last segment; -1 without a
    segment."""
    end = -1
    with suppress(FileNotFoundError, _core.ScanError):  # deleted meanwhile, or damaged
        names = [name for name in os.listdir(path) if name.endswith(".log") and name.removesuffix(".log").isdigit()]
        last = max(names, default="-1.log")
        end = int(last.removesuffix(".log"))
        headers = _core.BatchHeaders(os.path.join(path, last))
        while chunk := headers.next_chunk():
            end = chunk[-1].last_offset + 1
    return end


def sentence(topic: str, left_out: dict[int, tuple[int, int]]) -> str:
    """How many offsets are left out, and why; the caller adds what to do."""
    offsets = sum(end - limit for limit, end in left_out.values())
    where = f"{topic}-{next(iter(left_out))}" if len(left_out) == 1 else f"{len(left_out)} partitions of {topic}"
    return f"{offsets} offsets of {where} are in the files and are left out: {WHY}"


def warn_when_nothing_is_seen(topic: str, plans: Sequence[_core.PartitionPlan]) -> None:
    """Warns (RuntimeWarning) when the plans hold no offset at all although the files do, and name none as lost."""
    if any(plan.start_offset < plan.end_offset or plan.lost for plan in plans):
        return
    if left_out := unseen(plans):
        message = f"{sentence(topic, left_out)}; give bootstrap_servers to ask the broker, or start and stop it"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
