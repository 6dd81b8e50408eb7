"""``spark.read.format("kafkastore_py")``: a data source over segment files (Spark's Python Data Source API, 4.0 on).

    spark.dataSource.register(kafkastore.spark.KafkastoreDataSource)
    spark.read.format("kafkastore_py").option("path", "/var/lib/kafka").option("subscribe", "flights").load()

Options, schema and meanings are those of Spark's Kafka source. Spark makes the source and its reader on the driver,
pickles the reader once, and calls ``read`` in each task, so neither holds open files. Spark 4 prunes no columns for
such a source: every column of the schema crosses to the JVM, and only a user's own schema (``.schema("offset long")``)
leaves columns out. Filters reach the source only through a reader with a method ``pushFilters``, which Spark refuses
while ``spark.sql.python.filterPushdown.enabled`` is false; so the option ``pushFilters`` chooses the reader.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from kafkastore.spark import claims, filters, planning
from kafkastore.spark.columns import arrow_schema, columns_of, spark_schema
from kafkastore.spark.reading import read_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

    from kafkastore.spark.stream import StreamReader
except ImportError:
    raise ImportError(
        "KafkastoreDataSource needs PySpark 4.0 or newer; in 3.5 use segments() and scan_segments() with mapInArrow"
    ) from None

FORMAT = "kafkastore_py"


class KafkastoreDataSource(DataSource):
    """The source; Spark makes one for each ``load()``."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return FORMAT

    def schema(self) -> StructType:
        """The schema of Spark's Kafka source. Raises ValueError for a mistake in the options."""
        return spark_schema(include_headers=planning.parse(self.options).include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for the columns of ``schema``, a user's or our own. Raises ValueError for a mistake in the schema
        or the options."""
        if not planning.parse(self.options).push_filters:
            return Reader(self.options, schema)
        if not hasattr(DataSourceReader, "pushFilters"):
            raise ValueError("pushFilters: true needs PySpark 4.1 or newer; leave it out")
        return FilteringReader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """The reader of a stream, for the columns of ``schema``. Raises ValueError for a mistake in either."""
        return StreamReader(self.options, schema)


class Reader(DataSourceReader):
    """Plans on the driver, reads in the tasks."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self.options = planning.with_command_config(options)
        self.spark_schema = schema
        self.columns = columns_of(schema)
        self.filters: list[dict[str, Any]] = []

    def partitions(self) -> list[InputPartition]:
        """One partition for each share, which is its value. When there are no partitions Spark calls :meth:`read` with
        None (4.0, 4.1) or with a partition of value None (4.2 on)."""
        return [InputPartition(share) for share in planning.plan(self.options, self.filters)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The batches of a share, of exactly the schema that Spark expects."""
        if partition is None or partition.value is None:
            return iter(())
        return read_share(partition.value, self.columns, schema=arrow_schema(self.spark_schema), options=self.options)


class FilteringReader(Reader):
    """The reader of ``pushFilters=true``. A reader that has taken filters serves a single query, see
    :mod:`kafkastore.spark.claims`."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        super().__init__(options, schema)
        self.plan = str(uuid.uuid4())

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Reads as :meth:`Reader.read` does. Raises ReusedPlanError when Spark runs the plan for a second query."""
        if self.filters:
            from pyspark import TaskContext

            context = TaskContext.get()
            claims.claim(self.plan, (context and context.getLocalProperty("spark.sql.execution.id")) or "")
        return super().read(partition)

    def pushFilters(self, pushed: list[Any]) -> Iterable[Any]:  # noqa: N802 - Spark's name
        """Takes the filters that the scan can apply exactly; returns those that Spark must apply itself."""
        self.filters, left = filters.taken(pushed, self.columns)
        return left
