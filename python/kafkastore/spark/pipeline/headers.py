"""What the headers of batches say, summed by tasks: codecs, sizes of batches, records in a batch.

A task walks some segments of one partition; no record is read. Batches of control records count among the bytes and not
among the records.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kafkastore.spark.pipeline.log_dirs import segments_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from kafkastore._core import PartitionPlan

TASK_BYTES: Final = 512 << 20
"""Segment bytes of a task."""


@dataclass
class CodecFigures:
    """The batches of one codec. ``size_bytes`` are those of whole batches, headers included."""

    batches: int = 0
    records: int = 0
    size_bytes: int = 0


@dataclass
class BatchFigures:
    """The batches of a partition, or of several together."""

    codecs: dict[str, CodecFigures] = field(default_factory=dict)
    control_batches: int = 0
    transactional_batches: int = 0
    size_classes: dict[int, int] = field(default_factory=dict)
    """Batches by size: the number of those with at least 2^class bytes and less than twice that."""

    @property
    def batches(self) -> int:
        return sum(one.batches for one in self.codecs.values())

    @property
    def size_bytes(self) -> int:
        return sum(one.size_bytes for one in self.codecs.values())

    def add(self, other: BatchFigures) -> None:
        for codec, figures in other.codecs.items():
            own = self.codecs.setdefault(codec, CodecFigures())
            own.batches += figures.batches
            own.records += figures.records
            own.size_bytes += figures.size_bytes
        self.control_batches += other.control_batches
        self.transactional_batches += other.transactional_batches
        for size_class, batches in other.size_classes.items():
            self.size_classes[size_class] = self.size_classes.get(size_class, 0) + batches


def batch_figures(spark: SparkSession, plans: Sequence[PartitionPlan]) -> dict[tuple[str, int], BatchFigures]:
    """By topic and partition, in the ranges of the plans."""
    texts = [text for plan in plans for text in _tasks(plan)]
    found: dict[tuple[str, int], BatchFigures] = defaultdict(BatchFigures)
    for topic, partition, figures in spark.sparkContext.parallelize(texts, max(1, len(texts))).map(_walk).collect():
        found[topic, partition].add(figures)
    return found


def _tasks(plan: PartitionPlan) -> Iterator[str]:
    segments = segments_of(plan.path)
    ends = [segment.base_offset for segment in segments[1:]]
    paths, size = [], 0
    for segment, end in zip(segments, [*ends, plan.end_offset], strict=True):
        if segment.base_offset < plan.end_offset and plan.start_offset < end:
            paths.append(segment.path)
            size += segment.size_bytes
        if paths and size >= TASK_BYTES:
            yield _text(plan, paths)
            paths, size = [], 0
    if paths:
        yield _text(plan, paths)


def _text(plan: PartitionPlan, paths: Sequence[str]) -> str:
    place: dict[str, Any] = {"topic": plan.topic, "partition": plan.partition}
    return json.dumps({**place, "paths": list(paths), "low": plan.start_offset, "high": plan.end_offset})


def _walk(text: str) -> tuple[str, int, BatchFigures]:
    """On a worker. A segment that retention deletes meanwhile is left out."""
    from kafkastore._core import BatchHeaders, ScanError

    task = json.loads(text)
    figures = BatchFigures()
    for path in task["paths"]:
        try:
            headers = BatchHeaders(path)
        except ScanError as error:
            if error.position is None:
                continue
            raise
        while chunk := headers.next_chunk():
            for one in chunk:
                if one.last_offset < task["low"] or one.base_offset >= task["high"]:
                    continue
                codec = figures.codecs.setdefault(one.codec, CodecFigures())
                codec.batches += 1
                codec.records += 0 if one.is_control else one.count
                codec.size_bytes += one.size_bytes
                figures.control_batches += one.is_control
                figures.transactional_batches += one.is_transactional
                size_class = one.size_bytes.bit_length() - 1
                figures.size_classes[size_class] = figures.size_classes.get(size_class, 0) + 1
    return task["topic"], task["partition"], figures
