"""Whether the replicas of a partition are equal: the same batches at the same offsets on every broker.

Compared are base offset, last offset, size, CRC and leader epoch of each batch; that the CRC fits the batch's bytes is
checked elsewhere. A partition is compared from the greatest to the smallest of these bounds of its replicas:

    a. from the log start offset: retention deletes on each broker when its time has come
    b. from the cleaner's checkpoint: each broker compacts its own log
    c. up to the high watermark in the checkpoint: what is above may still be truncated

Tasks read the headers of batches, a task for each segment; Spark brings the batches of an offset together.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafkastore.spark.pipeline.log_dirs import CLEANED, HIGH_WATERMARKS, LOG_STARTS, PartitionDir, offsets_in
from kafkastore.spark.pipeline.tasks import one_task_each

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, Row, SparkSession

    from kafkastore._core import BatchDescription

LISTED: Final = 20
"""Batches of a partition that are named; beyond, only their number is."""
_NO_BATCH: Final = -1
"""The base offset of the row that says that a segment was gone."""
_SCHEMA: Final = (
    "topic string, partition int, replicas int, broker string, path string, position long, base_offset long,"
    " last_offset long, size_bytes long, crc long, leader_epoch int"
)
_COMPARED: Final = ("last_offset", "size_bytes", "crc", "leader_epoch")


@dataclass(frozen=True)
class Finding:
    """One sentence about one place; ``severity`` is ``fault``, ``warning`` or ``note``, ``position`` a byte."""

    severity: str
    path: str
    position: int | None
    message: str

    def as_list(self) -> list[Any]:
        return [self.severity, self.path, self.position, self.message]


@dataclass(frozen=True)
class _Partition:
    """The replicas of a partition and the offsets [``low``, ``high``) in which they must be equal."""

    topic: str
    partition: int
    replicas: tuple[PartitionDir, ...]
    low: int
    high: int


def compare_replicas(spark: SparkSession, found: Sequence[PartitionDir]) -> tuple[int, list[Finding]]:
    """(replicas that were compared, findings)."""
    partitions, findings = _comparable(found)
    texts = [text for partition in partitions for text in _tasks(partition)]
    if not texts:
        return 0, findings
    batches = one_task_each(spark, texts).mapInArrow(_batches, _SCHEMA)
    brokers = {(one.topic, one.partition): {its.broker: its.path for its in one.replicas} for one in partitions}
    for row in _differences(batches).collect():
        findings.append(_finding(row, brokers[row.topic, row.partition]))
    return sum(len(one.replicas) for one in partitions), findings


def _comparable(found: Sequence[PartitionDir]) -> tuple[list[_Partition], list[Finding]]:
    """Partitions with several replicas; a note for each that has no offsets in common to compare."""
    by_partition: dict[tuple[str, int], dict[str, PartitionDir]] = defaultdict(dict)
    for one in found:
        if not one.is_future:
            by_partition[one.topic, one.partition].setdefault(one.broker, one)
    log_dirs = {one.log_dir for one in found}
    checkpoints = {
        (log_dir, name): offsets_in(log_dir, name)
        for log_dir in log_dirs
        for name in (HIGH_WATERMARKS, LOG_STARTS, CLEANED)
    }
    partitions, notes = [], []
    for (topic, number), replicas in sorted(by_partition.items()):
        if len(replicas) < 2:
            continue

        def checkpointed(name: str, one: PartitionDir, key: tuple[str, int] = (topic, number)) -> int | None:
            return checkpoints[one.log_dir, name].get(key)

        its = tuple(replicas[broker] for broker in sorted(replicas))
        highs = [checkpointed(HIGH_WATERMARKS, one) for one in its]
        starts = [one.segments[0].base_offset if one.segments else 0 for one in its]
        low = max([*starts, *(checkpointed(name, one) or 0 for one in its for name in (LOG_STARTS, CLEANED))])
        missing = [one for one, high in zip(its, highs, strict=True) if high is None]
        for one in missing:
            message = "the high watermark checkpoint does not have the partition: its replicas are not compared"
            notes.append(Finding("note", one.path, None, message))
        if not missing:
            partitions.append(_Partition(topic, number, its, low, min(high for high in highs if high is not None)))
    return partitions, notes


def _tasks(partition: _Partition) -> Iterator[str]:
    """A task for each segment that may have batches in the compared range."""
    for replica in partition.replicas:
        ends = [segment.base_offset for segment in replica.segments[1:]]
        for segment, end in zip(replica.segments, [*ends, partition.high], strict=True):
            if segment.base_offset < partition.high and partition.low < end:
                yield json.dumps(
                    {
                        "topic": partition.topic,
                        "partition": partition.partition,
                        "replicas": len(partition.replicas),
                        "broker": replica.broker,
                        "path": segment.path,
                        "low": partition.low,
                        "high": partition.high,
                    }
                )


def _batches(tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """On a worker: the batches of the segments in the compared range."""
    from kafkastore._core import BatchHeaders, ScanError

    for batch in tasks:
        for text in batch.column("task").to_pylist():
            task = json.loads(text)
            try:
                headers = BatchHeaders(task["path"])
                while chunk := headers.next_chunk():
                    yield _rows(task, [_row(one) for one in chunk if _is_compared(task, one)])
            except ScanError as error:
                if error.position is None:  # the broker has deleted the segment, or it cannot be read
                    yield _rows(task, [(0, _NO_BATCH, 0, 0, 0, 0)])
                # else a batch is damaged: the check says so, and what follows is missing here


def _is_compared(task: dict[str, Any], one: BatchDescription) -> bool:
    return bool(task["low"] <= one.base_offset and one.last_offset < task["high"])


def _row(one: BatchDescription) -> tuple[int, ...]:
    return one.position, one.base_offset, one.last_offset, one.size_bytes, one.crc, one.partition_leader_epoch


def _rows(task: dict[str, Any], found: Sequence[tuple[int, ...]]) -> pa.RecordBatch:
    import pyarrow as pa

    def same(name: str, kind: pa.DataType) -> pa.Array:
        return pa.array([task[name]] * len(found), kind)

    columns = {
        "topic": same("topic", pa.string()),
        "partition": same("partition", pa.int32()),
        "replicas": same("replicas", pa.int32()),
        "broker": same("broker", pa.string()),
        "path": same("path", pa.string()),
    }
    for number, name in enumerate(("position", "base_offset", "last_offset", "size_bytes", "crc", "leader_epoch")):
        kind = pa.int32() if name == "leader_epoch" else pa.int64()
        columns[name] = pa.array([one[number] for one in found], kind)
    return pa.RecordBatch.from_pydict(columns)


def _differences(batches: DataFrame) -> DataFrame:
    """The first offsets of each partition at which the replicas differ, and how many there are."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

    every = F.collect_list(F.struct("broker", "path", "position", *_COMPARED)).alias("found")
    is_same = [F.min(name) == F.max(name) for name in _COMPARED]
    equal = F.count("*") == F.max("replicas")
    for condition in is_same:
        equal &= condition
    by_offset = batches.groupBy("topic", "partition", "base_offset").agg(every, equal.alias("is_equal"))
    partition = Window.partitionBy("topic", "partition")
    return (
        by_offset.filter(~F.col("is_equal") | (F.col("base_offset") == _NO_BATCH))
        .withColumn("number", F.row_number().over(partition.orderBy("base_offset")))
        .withColumn("all", F.count("*").over(partition))
        .withColumn("is_gone", F.min("base_offset").over(partition) == _NO_BATCH)
        .filter((F.col("number") <= LISTED) & (~F.col("is_gone") | (F.col("number") == 1)))
        .orderBy("topic", "partition", "base_offset")
    )


def _finding(row: Row, paths: dict[str, str]) -> Finding:
    """The sentence about one offset. The replica that is named first is the one that fewer others agree with."""
    if row.is_gone:
        path = row.found[0].path
        return Finding(
            "note", path, None, "the segment was deleted meanwhile: the partition's replicas are not compared"
        )
    found = sorted(row.found, key=lambda one: one.broker)
    more = f"; {row['all'] - LISTED} more offsets differ" if row.number == LISTED < row["all"] else ""
    lacking = sorted(paths.keys() - {one.broker for one in found})
    if lacking:
        has = found[0]
        message = f"no batch at offset {row.base_offset}, which broker {has.broker} has in {has.path} at {has.position}"
        return Finding("fault", paths[lacking[0]], None, message + more)
    compared = {one.broker: tuple(one[name] for name in _COMPARED) for one in found}
    values = list(compared.values())
    odd = min(reversed(found), key=lambda one: values.count(compared[one.broker]))
    other = next(one for one in found if compared[one.broker] != compared[odd.broker])
    message = (
        f"the batch at offset {row.base_offset} has {_words(odd)}; that of broker {other.broker} has {_words(other)},"
        f" in {other.path} at {other.position}"
    )
    return Finding("fault", odd.path, odd.position, message + more)


def _words(one: Row) -> str:
    return f"{one.size_bytes} bytes, CRC {one.crc:#010x}, leader epoch {one.leader_epoch}"
