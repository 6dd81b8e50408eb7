"""A topic as a pyarrow dataset: DuckDB and Polars give it the columns and the condition of a query, and it reads no
more of the segment files than these need.

Rows that only need counting come from headers of batches: a query that looks at no other columns than ``topic`` and
``partition`` reads no record. These columns come first, because DuckDB counts rows by a dataset's first column. The
scan is opened by the first query and stays the same for later ones. Needs pyarrow; nothing here is imported before
somebody asks for a dataset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset

from kafkastore.scanning.pushdown import columns_of, limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafkastore.scanning.scan import Scan

COUNTED = ("partition", "topic")
"""Columns that are the same in all records of a partition."""
COUNTED_ROWS = 1 << 20
"""Rows of a batch that is only counted; one such batch is given again and again."""
TEXTS = ("key", "value")


class NotTextError(ValueError):
    """A record's key or value should be a text and is no UTF-8."""


class ScanDataset(dataset.InMemoryDataset):
    """The rows of a scan, for libraries that read a :class:`pyarrow.dataset.Dataset` by its ``scanner``.

    ``open_scan`` is called once, when rows are read first. ``is_text`` makes ``key`` and ``value`` texts; a wanted row
    whose key or value is no UTF-8 fails the read (:attr:`failure` names its place).
    """

    def __init__(self, schema: pa.Schema, open_scan: Callable[[], Scan], *, is_text: bool = False) -> None:
        ordered = sorted(schema.names, key=lambda name: name not in COUNTED)
        fields = [schema.field(name) for name in ordered]
        if is_text:
            fields = [pa.field(one.name, pa.string()) if one.name in TEXTS else one for one in fields]
        super().__init__(pa.schema(fields).empty_table())
        self._open = open_scan
        self._scan: Scan | None = None
        self._failure: Exception | None = None

    @property
    def scan(self) -> Scan:
        """The scan that is read."""
        if self._scan is None:
            self._scan = self._open()
        return self._scan

    @property
    def is_read(self) -> bool:
        """Whether a query has read rows."""
        return self._scan is not None

    @property
    def failure(self) -> Exception | None:
        """Why rows could not be read; libraries wrap it in errors of their own."""
        return self._failure or (None if self._scan is None else self._scan.failure)

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: dataset.Expression | None = None,  # noqa: A002 - pyarrow's name
        **options: Any,
    ) -> Rows:
        """The rows for which the condition ``filter`` is true, with these columns: as pyarrow's scanner. Other options
        of pyarrow's scanners have no meaning here. Raises ValueError for an unknown column, and what a scan raises."""
        del options
        names = self.schema.names if columns is None else list(columns)
        if unknown := [name for name in names if name not in self.schema.names]:
            raise ValueError(f"columns: there is no column {unknown[0]}; there are {', '.join(self.schema.names)}")
        try:
            return self._rows(names, filter)
        except Exception as error:
            self._failure = error
            raise

    def _rows(self, columns: list[str], condition: dataset.Expression | None) -> Rows:
        wanted = set(columns)
        if condition is not None:
            wanted |= columns_of(condition, self.schema)
        counts = None if wanted - set(COUNTED) else self.scan.counts()
        if counts is not None:
            reader = self._counted(wanted, counts)
        elif self._texts(wanted):
            reader = self._decoded(wanted, condition)
        else:
            reader = self._records(wanted, condition)
        return Rows(reader, columns, condition)

    def _texts(self, wanted: set[str]) -> list[str]:
        return [name for name in TEXTS if name in wanted and self.schema.field(name).type == pa.string()]

    def _of(self, wanted: set[str]) -> pa.Schema:
        return pa.schema([one for one in self.schema if one.name in wanted])

    def _records(self, wanted: set[str], condition: dataset.Expression | None) -> pa.RecordBatchReader:
        scan = self.scan
        found = None
        if condition is not None:
            found = limits(condition, self.schema, scan.topic, [one.partition for one in scan.partitions()])
        return pa.RecordBatchReader.from_stream(scan.narrowed(self._of(wanted).names, found))

    def _counted(self, wanted: set[str], counts: dict[int, int]) -> pa.RecordBatchReader:
        schema = self._of(wanted or set(COUNTED[:1]))
        return pa.RecordBatchReader.from_batches(schema, _repeated(schema, self.scan.topic, counts))

    def _decoded(self, wanted: set[str], condition: dataset.Expression | None) -> pa.RecordBatchReader:
        texts = self._texts(wanted)
        wanted = wanted | {"partition", "offset"}  # to name the place of a record that is no text
        reader, schema = self._records(wanted, condition), self._of(wanted)

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in reader:
                try:
                    yield batch.cast(schema)
                except pa.ArrowInvalid:
                    yield self._only_texts(batch, texts, schema, condition)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def _only_texts(
        self, batch: pa.RecordBatch, texts: list[str], schema: pa.Schema, condition: dataset.Expression | None
    ) -> pa.RecordBatch:
        """The batch without the rows that are no UTF-8, if the condition drops them. Raises NotTextError otherwise."""
        bad = {name: [not _is_utf8(value) for value in batch.column(name).to_pylist()] for name in texts}
        is_bad = pa.array([any(row) for row in zip(*bad.values(), strict=True)])
        nulled = batch
        for name in texts:
            values = pc.if_else(pa.array(bad[name]), pa.scalar(None, pa.binary()), batch.column(name))
            nulled = nulled.set_column(nulled.schema.get_field_index(name), name, values)
        kept = nulled.cast(schema).filter(is_bad)
        if condition is not None:
            kept = kept.filter(condition)
        if kept.num_rows:
            place = f"{self.scan.topic}-{kept.column('partition')[0]}: the record at offset {kept.column('offset')[0]}"
            self._failure = NotTextError(f"{place} has a {' or '.join(texts)} that is no UTF-8")
            raise self._failure
        return nulled.cast(schema).filter(pc.invert(is_bad))

    # pyarrow's methods that would look at the empty table, which stands where a dataset of pyarrow has its files

    def get_fragments(self, filter: dataset.Expression | None = None) -> NoReturn:  # noqa: A002 - pyarrow's name
        raise NotImplementedError("a topic has no fragments; read it by scanner(), to_table() or to_batches()")

    def replace_schema(self, schema: pa.Schema) -> NoReturn:
        raise NotImplementedError("the columns of a topic are fixed; cast the table that is read")

    def filter(self, expression: dataset.Expression) -> NoReturn:
        raise NotImplementedError("give the condition to scanner(), to_table() or to_batches(), as filter=")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a scan's dataset cannot be pickled; Scan.splits() gives shares for other processes")


class Rows:
    """Rows to be read once, with the methods of :class:`pyarrow.dataset.Scanner`. The thread that reads does the work:
    a pyarrow scanner reads ahead in threads that would still run this code when Python ends."""

    def __init__(self, reader: pa.RecordBatchReader, columns: list[str], condition: dataset.Expression | None) -> None:
        self._reader = reader
        self._columns = columns
        self._condition = condition
        self.dataset_schema = reader.schema
        self.projected_schema = pa.schema([reader.schema.field(name) for name in columns])

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a reader."""
        if self._condition is None and self._columns == self._reader.schema.names:
            return self._reader
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as record batches."""
        for batch in self._reader:
            kept = batch if self._condition is None else batch.filter(self._condition)
            if kept.num_rows:
                yield kept.select(self._columns)

    def to_table(self) -> pa.Table:
        """All rows."""
        return self.to_reader().read_all()

    def head(self, num_rows: int) -> pa.Table:
        """The first rows."""
        held: list[pa.RecordBatch] = []
        for batch in self.to_batches():
            held.append(batch.slice(0, num_rows - sum(one.num_rows for one in held)))
            if sum(one.num_rows for one in held) >= num_rows:
                break
        return pa.Table.from_batches(held, self.projected_schema)

    def count_rows(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.to_batches())


def _repeated(schema: pa.Schema, topic: str, counts: dict[int, int]) -> Iterator[pa.RecordBatch]:
    """As many rows as each partition has."""
    for partition, count in counts.items():
        rows = min(count, COUNTED_ROWS)
        values = {"partition": pa.repeat(pa.scalar(partition, pa.int32()), rows), "topic": pa.repeat(topic, rows)}
        batch = pa.record_batch([values[name] for name in schema.names], schema=schema)
        for start in range(0, count, COUNTED_ROWS):
            yield batch.slice(0, min(COUNTED_ROWS, count - start))


def _is_utf8(value: bytes | None) -> bool:
    try:
        return value is None or value.decode() is not None
    except UnicodeDecodeError:
        return False
