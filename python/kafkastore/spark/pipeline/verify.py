"""Every file of a cluster's log directories, checked by Spark's tasks: ``kafkastore check``, one task for a partition.

The driver checks what belongs to a whole log directory; ``replicas.py`` compares the replicas. Driver and tasks must
see the directories. Reads only and takes no lock, so brokers may run meanwhile.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kafkastore.spark.pipeline.log_dirs import PartitionDir, partition_dirs
from kafkastore.spark.pipeline.replicas import Finding, compare_replicas
from kafkastore.spark.pipeline.session import PipelineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

TOTALS: Final = ("partitions", "segments", "batches", "records", "bytes", "faults")
_NO_TOPIC: Final = "/"
"""No topic has this name, so a check of this topic alone reads only the files of log directories themselves, and a
partition's directory that is given beside them; without any a check refuses."""


@dataclass
class VerifyReport:
    """The totals of all checks, as ``kafkastore._core.CheckReport`` has them, and what was compared."""

    partitions: int = 0
    segments: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0
    faults: int = 0
    replicas: int = 0
    """Replicas of partitions that were compared with others."""
    findings: list[Finding] = field(default_factory=list)


def verify_cluster(
    spark: SparkSession, log_dirs: Sequence[str], *, topic: str | None = None, deep: bool = False
) -> VerifyReport:
    """Checks the log directories of one broker or several: each says in its ``meta.properties`` whose it is.

    ``deep`` also inflates and decodes every record. Raises PipelineError for a path that cannot be checked.
    """
    found = partition_dirs(log_dirs, topic)
    *others, smallest = sorted(found, key=lambda one: -one.size_bytes)
    report = VerifyReport()
    try:
        _add(report, _check([*log_dirs, smallest.path], _NO_TOPIC, deep=deep))
    except ValueError as error:
        raise PipelineError(str(error)) from None
    for text in _check_partitions(spark, [one.path for one in others], deep=deep):
        _add(report, text)
    compared, differences = compare_replicas(spark, found)
    report.replicas = compared
    for finding in (*_duplicates(found), *differences):
        report.findings.append(finding)
        report.faults += finding.severity == "fault"
    report.findings.sort(key=lambda one: (one.path, -1 if one.position is None else one.position))
    return report


def _check_partitions(spark: SparkSession, paths: Sequence[str], *, deep: bool) -> list[str]:
    """The reports of tasks."""

    def check(path: str) -> str:
        try:
            return _check([path], None, deep=deep)
        except ValueError:  # the broker deleted the partition meanwhile
            note = Finding("note", path, None, "it is gone, or is no partition any more; it was not checked")
            return json.dumps({"totals": {}, "findings": [note.as_list()]})

    if not paths:
        return []
    texts: list[str] = spark.sparkContext.parallelize(paths, len(paths)).map(check).collect()
    return texts


def _check(paths: list[str], topic: str | None, *, deep: bool) -> str:
    """The report of a check as JSON, which crosses from a task to the driver."""
    from kafkastore._core import Check

    report = Check(paths, topic=topic, threads=1, deep=deep).run()
    findings = [[one.severity, one.path, one.position, one.message] for one in report.findings]
    return json.dumps({"totals": {name: getattr(report, name) for name in TOTALS}, "findings": findings})


def _add(report: VerifyReport, text: str) -> None:
    one: dict[str, Any] = json.loads(text)
    for name, number in one["totals"].items():
        setattr(report, name, getattr(report, name) + number)
    report.findings.extend(Finding(*parts) for parts in one["findings"])


def _duplicates(found: Iterable[PartitionDir]) -> list[Finding]:
    """Partitions that are in two log directories of one broker."""
    places: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for one in found:
        if not one.is_future:
            places[one.broker, one.topic, one.partition].append(one.path)
    return [
        Finding("fault", path, None, f"partition {topic}-{partition} is in {paths[0]} too; remove the older of the two")
        for (_, topic, partition), paths in sorted(places.items())
        for path in paths[1:]
    ]
