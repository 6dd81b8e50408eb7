"""Finds the records that a pyarrow expression can be true for: which partitions, offsets, timestamps and keys.

DuckDB and Polars give their conditions to a dataset as an expression, whose form is Arrow's own business. So nothing
here looks at its form: Arrow itself is asked, as for the files of a partitioned dataset, which of several guarantees
("offset < 5", "offset = 5", "offset > 5") contradict the expression. The guarantees of a column are its literals in the
expression and the gaps between them. What Arrow cannot decide is kept, so the answer may be too wide and is never too
narrow; whoever reads by it applies the expression to the rows. Never looks at records.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import dataset, fs
from pyarrow.compute import field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_LITERALS = 1000
"""Literals of a column beyond which the column does not narrow the scan: the guarantees of a partition grow with
them."""


Span = tuple[int | None, int | None]
"""The least and the greatest value, None where there is no limit."""


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """The records that may be wanted. ``offsets``: by partition; a partition that is missing has no such records.
    ``timestamps_us``: of all these partitions. ``keys``: every key that may be wanted (None is the null key), or None
    where the keys are not known."""

    offsets: dict[int, Span]
    timestamps_us: Span
    keys: frozenset[bytes | None] | None


def limits(condition: dataset.Expression, schema: pa.Schema, topic: str, partitions: Iterable[int]) -> ScanLimits:
    """The limits of the rows of ``topic`` in ``partitions`` for which ``condition``, on columns of ``schema``, may be
    true."""
    literals, asked, numbers = _literals(condition), _Condition(condition, schema, topic), list(partitions)
    is_same_in_all = "partition" not in columns_of(condition, schema)
    offsets: dict[int, Span] = {}
    times: list[Span] = []
    by_offset: Span | None = None
    by_time: Span | None = None
    for place in asked.kept([asked.in_partition(number) for number in numbers]):
        if not offsets or not is_same_in_all:
            by_offset = _span(asked, "offset", literals, numbers[place])
            by_time = _span(asked, "timestamp", literals, numbers[place])
        if by_offset is not None and by_time is not None:
            offsets[numbers[place]] = by_offset
            times.append(by_time)
    return ScanLimits(offsets, _union(times), _keys(asked, literals))


def _union(spans: Sequence[Span]) -> Span:
    lows, highs = [low for low, _ in spans if low is not None], [high for _, high in spans if high is not None]
    return (
        min(lows) if lows and len(lows) == len(spans) else None,
        max(highs) if highs and len(highs) == len(spans) else None,
    )


def columns_of(condition: dataset.Expression, schema: pa.Schema) -> set[str]:
    """The columns that the condition looks at: those that it cannot do without."""
    empty = schema.empty_table()
    found = set()
    for name in schema.names:
        try:
            empty.drop_columns([name]).filter(condition)
        except pa.ArrowInvalid:
            found.add(name)
    return found


class _Condition:
    """The questions to Arrow about one condition."""

    def __init__(self, condition: dataset.Expression, schema: pa.Schema, topic: str) -> None:
        self.schema = schema
        self._condition = condition
        self._is_topic = field("topic") == topic

    def in_partition(self, number: int) -> dataset.Expression:
        """The guarantee that a row is in that partition."""
        return field("partition") == pa.scalar(number, self.schema.field("partition").type)

    def kept(self, guarantees: Sequence[dataset.Expression]) -> list[int]:
        """The places of the guarantees that do not contradict the condition."""
        if not guarantees:
            return []
        files = dataset.FileSystemDataset.from_paths(
            [str(place) for place in range(len(guarantees))],  # no file is opened: fragments are made of names
            schema=self.schema,
            format=dataset.IpcFileFormat(),
            filesystem=fs.LocalFileSystem(),
            partitions=[self._is_topic & guarantee for guarantee in guarantees],
        )
        return sorted(int(fragment.path) for fragment in files.get_fragments(self._condition))


def _literals(condition: dataset.Expression) -> dict[pa.DataType, set[Any]]:
    """The literals of the condition by their types. Arrow writes an expression as an IPC file that has them as columns;
    where it does not there are none, and only partitions are limited."""
    found: dict[pa.DataType, set[Any]] = {}
    try:
        with pa.ipc.open_file(condition.__reduce__()[1][0]) as file:
            columns = [column for place in range(file.num_record_batches) for column in file.get_batch(place).columns]
    except (pa.ArrowInvalid, TypeError, IndexError):
        return found
    for column in columns:
        values = column
        if pa.types.is_struct(column.type) and column.type.get_field_index("value_set") >= 0:
            values = column.field("value_set").flatten()  # of IN
        if pa.types.is_timestamp(values.type):
            found.setdefault(values.type, set()).update(values.cast(pa.int64()).to_pylist())
        elif pa.types.is_int64(values.type) or pa.types.is_binary(values.type) or pa.types.is_string(values.type):
            found.setdefault(values.type, set()).update(values.to_pylist())
    return {kind: values - {None} for kind, values in found.items()}


def _span(asked: _Condition, name: str, literals: dict[pa.DataType, set[Any]], partition: int) -> Span | None:
    """The least and the greatest value of a column of whole numbers, in that partition; None when it has no row."""
    kind = asked.schema.field(name).type
    known = sorted(literals.get(kind, ()))
    if not 0 < len(known) <= MAX_LITERALS:
        return None, None
    points = [pa.scalar(value, kind) for value in known]
    regions: list[Span] = [(None, known[0] - 1), (known[0], known[0])]
    for low, high in pairwise(known):
        regions += [(low + 1, high - 1), (high, high)]
    regions.append((known[-1] + 1, None))
    kept = asked.kept([asked.in_partition(partition) & guarantee for guarantee in _guarantees(name, points)])
    return (regions[kept[0]][0], regions[kept[-1]][1]) if kept else None


def _guarantees(name: str, points: list[pa.Scalar]) -> list[dataset.Expression]:
    """Below the first point, at it, between it and the second, and so on: together every value but null."""
    column = field(name)
    found = [column < points[0], column == points[0]]
    for low, high in pairwise(points):
        found += [(column > low) & (column < high), column == high]
    return [*found, column > points[-1]]


def _keys(asked: _Condition, literals: dict[pa.DataType, set[Any]]) -> frozenset[bytes | None] | None:
    kind = asked.schema.field("key").type
    known = sorted(literals.get(kind, ()), key=_as_bytes)
    if len(known) > MAX_LITERALS:
        return None
    column = field("key")
    guarantees = _guarantees("key", [pa.scalar(value, kind) for value in known]) if known else [column.is_valid()]
    kept = set(asked.kept([*guarantees, column.is_null()]))
    is_null_wanted = len(guarantees) in kept
    kept.discard(len(guarantees))
    points = dict(zip(range(1, len(guarantees), 2), known, strict=False))
    if not kept <= points.keys():
        return None
    return frozenset([_as_bytes(points[place]) for place in kept] + [None] * is_null_wanted)


def _as_bytes(key: str | bytes) -> bytes:
    return key.encode() if isinstance(key, str) else key
