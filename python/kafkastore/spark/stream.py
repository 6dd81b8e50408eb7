"""``spark.readStream.format("kafkastore_py")``: a stream of batches, each a plan over a range of offsets that is fixed
when the batch begins.

Offsets in checkpoints are those of Spark's Kafka source, ``{"topic": {"0": 23}}``. PySpark 4.2 asks with a start and a
limit how far a batch goes, and lets ``Trigger.AvailableNow`` end at what was there when the query began; 4.0 and 4.1
ask without, and take everything.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kafkastore.spark import planning
from kafkastore.spark.columns import arrow_schema, columns_of
from kafkastore.spark.reading import read_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:  # PySpark 4.0 and 4.1

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """There is none."""


BOUNDS = ("starting", "ending", "subscribe", "assign")
MAX_OFFSETS = "maxOffsetsPerTrigger"
EARLIEST = -2
"""In ``startingOffsets``."""

Places = dict[str, dict[str, int]]
"""Topic, partition, offset."""


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans on the driver, reads in the tasks."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        given = {name.lower(): value for name, value in planning.with_command_config(options).items()}
        self.max_offsets = _positive(MAX_OFFSETS, given.pop(MAX_OFFSETS.lower(), None))
        self.options = given
        planning.parse(self._without("startingoffsets"))
        self.spark_schema = schema
        self.columns = columns_of(schema)
        self.last: list[dict[str, Any]] | None = None

    def _without(self, *prefixes: str) -> dict[str, str]:
        return {name: value for name, value in self.options.items() if not name.startswith(prefixes)}

    def initialOffset(self) -> Places:  # noqa: N802 - Spark's name
        """Where a query without a checkpoint begins: at the latest, unless an option says otherwise."""
        start = self.options.get("startingoffsets", "latest").lower()
        says_when = any(name.startswith(("startingtimestamp", "startingoffsetsby")) for name in self.options)
        if start == "latest" and not says_when:
            return _places(self._now(), "endOffset")
        return _places(planning.offsets(self._without("ending")), "startOffset")

    def getDefaultReadLimit(self) -> Any:  # noqa: N802 - Spark's name
        """``maxOffsetsPerTrigger``, or everything."""
        return ReadAllAvailable() if self.max_offsets is None else ReadMaxRows(self.max_offsets)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """The query ends at what is there now."""
        self.last = self._now()

    def reportLatestOffset(self) -> Places:  # noqa: N802 - Spark's name
        """The ends of all partitions."""
        return _places(self._now(), "endOffset")

    def latestOffset(self, start: Places | None = None, limit: Any = None) -> Places:  # noqa: N802 - Spark's name
        """The end of the next batch: the same part of what waits in each partition, if there is a limit."""
        now = self.last or self._now()
        latest = _places(now, "endOffset")
        if start is None:
            return latest
        begin = {topic: {**begins, **start.get(topic, {})} for topic, begins in _places(now, "startOffset").items()}
        # a checkpoint of the files may be behind what was read
        latest = {
            topic: {number: max(end, begin[topic][number]) for number, end in ends.items()}
            for topic, ends in latest.items()
        }
        waiting = sum(end - begin[topic][number] for topic, ends in latest.items() for number, end in ends.items())
        most = getattr(limit, "max_rows", waiting)
        if waiting <= most:
            return latest
        return {
            topic: {
                number: begin[topic][number] + -(-(end - begin[topic][number]) * most // waiting)
                for number, end in ends.items()
            }
            for topic, ends in latest.items()
        }

    def _now(self) -> list[dict[str, Any]]:
        return planning.offsets(self._without("starting", "ending"))

    def partitions(self, start: Places, end: Places) -> list[InputPartition]:
        """One partition for each share; a partition that is new is read from its beginning."""
        bounds = [
            (topic, number, start.get(topic, {}).get(number, EARLIEST), last)
            for topic, ends in end.items()
            for number, last in ends.items()
        ]
        bounds = [bound for bound in bounds if bound[2] < bound[3]]
        if not bounds:
            return []
        assign: dict[str, list[int]] = {}
        begins: Places = {}
        ends: Places = {}
        for topic, number, first, last in bounds:
            assign.setdefault(topic, []).append(int(number))
            begins.setdefault(topic, {})[number] = first
            ends.setdefault(topic, {})[number] = last
        own = {"assign": assign, "startingOffsets": begins, "endingOffsets": ends}
        given = self._without(*BOUNDS) | {name: json.dumps(value) for name, value in own.items()}
        return [InputPartition(share) for share in planning.plan(given)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The batches of a share, of exactly the schema that Spark expects."""
        if partition is None or partition.value is None:
            return iter(())
        return read_share(partition.value, self.columns, schema=arrow_schema(self.spark_schema), options=self.options)


def _places(partitions: list[dict[str, Any]], field: str) -> Places:
    found: Places = {}
    for one in partitions:
        found.setdefault(one["topic"], {})[str(one["partition"])] = one[field]
    return found


def _positive(name: str, value: str | None) -> int | None:
    if value is None:
        return None
    if not value.strip().isdecimal() or int(value) < 1:
        raise ValueError(f"{name}: {value!r} is no whole number above 0; give one")
    return int(value)
