"""``kafkastore.scan``: a topic's segment files as Arrow, without a broker in the way.

``scan()`` fixes a closed range of offsets for each partition and opens the files; the :class:`Scan` that it returns may
be read any number of times and always gives the same rows, whatever the broker beside it appends, rolls or deletes.
``_core`` reads the files; this module checks arguments, asks a broker how far may be read, and cuts the ranges into
shares. It writes nothing and takes no lock. pyarrow is not needed, except for ``Scan.schema`` to be pyarrow's.
"""

from __future__ import annotations

import os
import warnings
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kafkastore import _core
from kafkastore.scanning import bounds
from kafkastore.scanning.unseen import unseen, warn_when_nothing_is_seen
from kafkastore.scanning.values import as_value_spec, drops_records
from kafkastore.system import processors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from pandas import DataFrame
    from pyarrow import Schema

    from kafkastore.interbroker.command_config import CommandConfig
    from kafkastore.scanning.bounds import Bound, PathLike
    from kafkastore.scanning.broker_offsets import PartitionOffsets
    from kafkastore.scanning.dataset import ScanDataset
    from kafkastore.scanning.pushdown import ScanLimits

BATCH_ROWS = 65_536
BATCH_BYTES = 1 << 20
"""Columns of this size stay in a processor's second-level cache from when they are filled until their consumer reads
them."""
NARROWED_SCANS = 16
"""Streams of narrowed scans whose losses and failures are remembered, the latest."""
OVERTAKEN_TRIES = 10
"""How often partitions are planned again whose segments were sealed above the broker's offset meanwhile."""
SPLIT_BYTES = 4 << 20
"""The bytes that a thread reads at a time: large enough that opening a split costs next to nothing, small enough that
its batches fit the thread's queue even when compressed records grow to four times their size, because a thread with a
full queue stands still."""


def scan(
    log_dirs: PathLike | Iterable[PathLike],
    topic: str,
    *,
    partitions: Iterable[int] | None = None,
    columns: Sequence[str] | None = None,
    start: Bound | Mapping[int, Bound] | None = None,
    end: Bound | Mapping[int, Bound] | None = None,
    isolation_level: str = "read_uncommitted",
    keys: Iterable[bytes | str | None] | None = None,
    min_timestamp: datetime | None = None,
    end_timestamp: datetime | None = None,
    bootstrap_servers: str | Sequence[str] | None = None,
    command_config: CommandConfig = None,
    check_crcs: bool = True,
    threads: int | None = None,
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
    fail_on_data_loss: bool = True,
    ignore_corrupt_batches: bool = False,
    value_format: str | None = None,
    value_schema: object | None = None,
    value_options: Mapping[str, str] | None = None,
) -> Scan:
    """The records of ``topic`` in the segment files below ``log_dirs``, by partition and offset.

    ``log_dirs``: a broker's log directory, or several. ``partitions``: the partitions to read, by default all.
    ``columns``: any of key, value, topic, partition, offset, timestamp, timestampType, headers in any order, by default
    all but headers.

    ``start`` (inclusive) and ``end`` (exclusive): an offset, or an aware datetime, which stands for the first offset
    with that timestamp or a later one; -2 is the earliest offset, -1 the latest; a mapping gives them by partition.
    Besides, ``min_timestamp`` (inclusive) and ``end_timestamp`` (exclusive) drop records by their own timestamp, and
    ``keys`` drops all records whose key is not among them (texts as UTF-8; None is the null key).

    How far the scan reads: with ``bootstrap_servers``, up to the broker's high watermark at this moment, or its last
    stable offset under ``isolation_level="read_committed"``; without, up to the offsets in the checkpoints beside the
    segments (docs/scan.md), with a RuntimeWarning when these leave nothing to read although the files hold records.
    The end does not move afterwards. ``command_config`` is a ``client.properties``, or its keys as a mapping.

    ``check_crcs=False`` skips checksums; ``threads`` is by default the number of cores; a batch of the stream ends at
    ``batch_rows`` rows or ``batch_bytes`` bytes. With ``fail_on_data_loss=False`` requested offsets that
    are gone are skipped, with ``ignore_corrupt_batches=True`` unreadable batches; :attr:`Scan.lost` lists them.

    ``value_format`` (json, csv, avro or protobuf) has the column ``value`` parsed into a struct of ``value_schema``
    (DDL, the JSON of Spark's ``StructType``, a ``pyarrow.Schema``, Avro's JSON). ``value_options``: further options of
    values by their names in Spark (docs/spark-values.md).

    Raises ValueError or TypeError for a wrong argument, FileNotFoundError for what is not there,
    :class:`~kafkastore.DataLossError`, :class:`~kafkastore.ScanError` for unreadable files, ConnectionError or
    PermissionError when broker or registry cannot be asked; reading the stream those that the files' contents cause.
    """
    values = as_value_spec(topic, value_format, value_schema, value_options)
    options = _options(columns, keys, min_timestamp, end_timestamp, check_crcs, batch_rows, batch_bytes)
    options = replace(options, values=values, ignore_corrupt_batches=ignore_corrupt_batches)
    request = _Request(
        bounds.as_log_dirs(log_dirs),
        bounds.as_topic(topic),
        bounds.as_partitions(partitions),
        bounds.as_bounds("start", start, bounds.EARLIEST),
        bounds.as_bounds("end", end, bounds.LATEST),
        bounds.as_isolation_level(isolation_level),
        fail_on_data_loss,
        ignore_corrupt_batches,
    )
    asked = None if bootstrap_servers is None else (bootstrap_servers, _client_properties(command_config))
    plans = _plan(request) if asked is None else _plan_beside(request, *asked)
    if asked is None:
        warn_when_nothing_is_seen(topic, plans)
    return Scan(topic, plans, options, _thread_count(threads), fail_on_data_loss)


def _thread_count(threads: int | None) -> int:
    return processors() if threads is None else bounds.as_limit("threads", threads)


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments of a plan."""

    log_dirs: list[str]
    topic: str
    partitions: list[int] | None
    start: dict[int, tuple[str, int]]
    end: dict[int, tuple[str, int]]
    isolation_level: str
    fail_on_data_loss: bool
    ignore_corrupt_batches: bool

    def of_partitions(self, numbers: list[int]) -> _Request:
        kept = {*numbers, bounds.EVERY_PARTITION}
        return replace(
            self,
            partitions=numbers,
            start={number: bound for number, bound in self.start.items() if number in kept},
            end={number: bound for number, bound in self.end.items() if number in kept},
        )


def _plan(request: _Request, watermarks: Mapping[int, PartitionOffsets] | None = None) -> list[_core.PartitionPlan]:
    return _core.plan_scan(
        request.log_dirs,
        request.topic,
        partitions=request.partitions,
        start=request.start,
        end=request.end,
        isolation_level=request.isolation_level,
        watermarks=watermarks,
        fail_on_data_loss=request.fail_on_data_loss,
        ignore_corrupt_batches=request.ignore_corrupt_batches,
    )


def _client_properties(command_config: CommandConfig) -> Mapping[str, str]:
    if command_config is None:
        return {}
    from kafkastore.errors import ConfigError
    from kafkastore.interbroker.command_config import properties_of

    try:
        return properties_of(command_config)
    except ConfigError as error:
        raise ValueError(error.client_message) from None


def _plan_beside(
    request: _Request, bootstrap_servers: str | Sequence[str], properties: Mapping[str, str]
) -> list[_core.PartitionPlan]:
    """The plan up to the broker's offsets. A partition that never had a record may have no files yet and gives no rows;
    a partition that has records must have files here, else the scan would lack them."""
    from kafkastore.scanning.broker_offsets import fetch_broker_offsets

    watermarks = fetch_broker_offsets(bootstrap_servers, request.topic, request.partitions, properties=properties)
    missing = {number for number in watermarks if not _has_files(request, number)}
    for number in sorted(missing):
        if watermarks[number].high_watermark > watermarks[number].log_start_offset:
            raise FileNotFoundError(
                f"log_dirs: {request.topic}-{number} has records at the broker and no directory in"
                f" {', '.join(request.log_dirs)}; name every log directory of the broker that leads it"
            )
    if len(missing) == len(watermarks):
        _core.list_partitions(request.log_dirs, request.topic)  # raises for a path that is no directory
        return []
    there = request.of_partitions([number for number in watermarks if number not in missing])
    plans = {plan.partition: plan for plan in _plan(there, watermarks)}
    for _ in range(OVERTAKEN_TRIES):
        overtaken = [plan.partition for plan in plans.values() if plan.is_overtaken]
        told = (
            fetch_broker_offsets(bootstrap_servers, request.topic, overtaken, properties=properties)
            if overtaken
            else {}
        )
        overtaken = [number for number in told if told[number] != watermarks[number]]  # else no cleaner has passed them
        if not overtaken:
            break
        watermarks |= told
        plans |= {plan.partition: plan for plan in _plan(there.of_partitions(overtaken), watermarks)}
    else:
        message = "the broker cleans faster than its files are opened; the newest value of a key may be missing"
        warnings.warn(f"{request.topic}: {message}", RuntimeWarning, stacklevel=3)
    return list(plans.values())


def _has_files(request: _Request, partition: int) -> bool:
    return any(os.path.isdir(os.path.join(path, f"{request.topic}-{partition}")) for path in request.log_dirs)


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of reading that hold for every range."""

    columns: tuple[str, ...]
    keys: list[bytes | None] | None
    min_timestamp_ms: int | None
    end_timestamp_ms: int | None
    check_crcs: bool
    batch_rows: int
    batch_bytes: int
    values: str | None = None
    ignore_corrupt_batches: bool = False


def _options(
    columns: Sequence[str] | None,
    keys: Iterable[bytes | str | None] | None,
    min_timestamp: datetime | None,
    end_timestamp: datetime | None,
    check_crcs: bool,
    batch_rows: int,
    batch_bytes: int,
) -> _Options:
    least = None if min_timestamp is None else bounds.as_timestamp_ms("min_timestamp", min_timestamp)
    end = None if end_timestamp is None else bounds.as_timestamp_ms("end_timestamp", end_timestamp)
    if least is not None and end is not None and end < least:
        raise ValueError(
            f"end_timestamp {end_timestamp} is before min_timestamp {min_timestamp}; give the earlier one as "
            "min_timestamp"
        )
    return _Options(
        bounds.as_columns(columns),
        bounds.as_keys(keys),
        least,
        end,
        bool(check_crcs),
        bounds.as_limit("batch_rows", batch_rows),
        bounds.as_limit("batch_bytes", batch_bytes),
    )


def _core_scan(
    splits: Sequence[_core.Split],
    options: _Options,
    threads: int,
    fail_on_data_loss: bool,
    columns: tuple[str, ...] | None = None,
) -> _core.Scan:
    return _core.Scan(
        splits,
        options.columns if columns is None else columns,
        min_timestamp_ms=options.min_timestamp_ms,
        end_timestamp_ms=options.end_timestamp_ms,
        keys=options.keys,
        check_crcs=options.check_crcs,
        threads=threads,
        batch_rows=options.batch_rows,
        batch_bytes=options.batch_bytes,
        fail_on_data_loss=fail_on_data_loss,
        ignore_corrupt_batches=options.ignore_corrupt_batches,
        values=options.values,
    )


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The closed range of one partition that a scan reads. ``size_bytes``: of the segment files that it touches."""

    partition: int
    start_offset: int
    end_offset: int
    size_bytes: int


class ArrowSchema:
    """A schema for libraries that take Arrow's PyCapsules; stands in for pyarrow's where pyarrow is not installed."""

    __slots__ = ("_scan",)

    def __init__(self, scan: _core.Scan) -> None:
        self._scan = scan

    def __arrow_c_schema__(self) -> object:
        return self._scan.__arrow_c_schema__()


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a scan, to be read by another process on the same disk: picklable, and read like the scan, with one
    thread."""

    splits: tuple[_core.Split, ...]
    options: _Options
    fail_on_data_loss: bool

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.opened().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.opened().__arrow_c_schema__()

    def opened(self) -> _core.Scan:
        """What reads it; knows the offsets that it has passed over."""
        return _core_scan(self.splits, self.options, 1, self.fail_on_data_loss)


@dataclass(frozen=True, slots=True)
class Piece:
    """The offsets [``start_offset``, ``end_offset``) of a partition, and the share that reads them."""

    partition: int
    start_offset: int
    end_offset: int
    size_bytes: int
    share: Share


class Scan:
    """A topic's records in a fixed range; made by :func:`scan`.

    Anything that takes Arrow's PyCapsule stream reads it as it is: ``pyarrow.table(scan)``, ``polars.DataFrame(scan)``,
    ``duckdb.sql("select count(*) from scan")``. Every stream begins anew and gives the same rows in the same order: by
    partition, then by offset.
    """

    def __init__(
        self, topic: str, plans: list[_core.PartitionPlan], options: _Options, threads: int, fail_on_data_loss: bool
    ) -> None:
        self.topic = topic
        self._plans = plans
        self._options = options
        self._threads = threads
        self._fail_on_data_loss = fail_on_data_loss
        self._splits = _cut(plans, SPLIT_BYTES)
        self._narrowed: deque[_core.Scan] = deque(maxlen=NARROWED_SCANS)
        self._core = _core_scan(self._splits, options, threads, fail_on_data_loss)

    def narrowed(self, columns: Sequence[str], wanted: ScanLimits | None = None) -> _core.Scan:
        """The rows with these columns, those outside of ``wanted`` left out as far as that saves reading them: a
        superset of the rows within ``wanted``. For readers that push conditions down."""
        splits, options = self._splits, self._options
        if wanted is not None:
            splits = [part for split in splits if (part := _part(split, wanted.offsets.get(split.partition)))]
            options = _within(options, wanted)
        made = _core_scan(splits, options, self._threads, self._fail_on_data_loss, tuple(columns))
        self._narrowed.append(made)
        return made

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's PyCapsule stream: scans the range from its beginning."""
        return self._core.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Arrow's PyCapsule schema."""
        return self._core.__arrow_c_schema__()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names."""
        return self._options.columns

    @property
    def schema(self) -> Schema | ArrowSchema:
        """The columns and their types: a ``pyarrow.Schema`` where pyarrow is installed, else an object with
        ``__arrow_c_schema__``."""
        try:
            import pyarrow as pa
        except ImportError:
            return ArrowSchema(self._core)
        return pa.schema(self._core)

    def count(self) -> int:
        """How many rows a stream gives. Reads batch headers and no records, so no checksum fails, unless ``keys`` were
        given, or malformed values or unreadable batches leave records out."""
        counts = self.counts()
        if counts is None:
            return sum(len(rows) for rows in _core.Rows(self.narrowed(("offset",))))
        return sum(counts.values())

    def counts(self) -> dict[int, int] | None:
        """The rows of each partition by headers of batches; None when ``keys`` were given, or malformed values or
        unreadable batches leave records out, which headers do not tell."""
        options = self._options
        if options.keys is not None or options.ignore_corrupt_batches or drops_records(options.values):
            return None
        least, end = options.min_timestamp_ms, options.end_timestamp_ms
        return {plan.partition: plan.count(min_timestamp_ms=least, end_timestamp_ms=end) for plan in self._plans}

    def dataset(self) -> ScanDataset:
        """The scan as a :class:`pyarrow.dataset.Dataset`, into which DuckDB and Polars push the columns and conditions
        of a query. Raises ImportError without pyarrow."""
        import pyarrow as pa

        from kafkastore.scanning.dataset import ScanDataset

        return ScanDataset(pa.schema(self._core), lambda: self)

    def to_pandas(self) -> DataFrame:
        """The rows as a pandas data frame: ``key`` and ``value`` are bytes or None, ``timestamp`` is
        ``datetime64[us, UTC]``, ``topic`` a category, ``headers`` a list of (name, value) or None, the others are
        integers of Arrow's widths. Raises ImportError without pandas and pyarrow."""
        from kafkastore.scanning.frames import data_frame

        return data_frame(self)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as tuples of bytes, text, int and None, in the order of :attr:`columns`, without any Arrow library:
        slow, to look at rows. Timestamps are microseconds since the epoch, headers are lists of (name, value).
        TypeError for parsed values."""
        if self._options.values is not None and "value" in self.columns:
            raise TypeError("rows: values that are parsed are given as Arrow alone; read the scan with pyarrow.table")
        for rows in _core.Rows(self._core):
            yield from rows

    def partitions(self) -> list[PartitionRange]:
        """The range that is read of each partition, in order."""
        return [
            PartitionRange(plan.partition, plan.start_offset, plan.end_offset, plan.size_bytes) for plan in self._plans
        ]

    def splits(self, count: int) -> list[Share]:
        """The scan in at most ``count`` shares of about the same size, in order, each readable in another process on
        the same disk. Shares hold paths, not open files: segments that the broker deletes before a share is read are
        lost to it."""
        size = sum(plan.size_bytes for plan in self._plans)
        wanted = bounds.as_limit("count", count)
        share_bytes = max(1, -(-size // wanted))
        shares: list[list[_core.Split]] = []
        filled = share_bytes
        for split in _cut(self._plans, share_bytes):
            if filled >= share_bytes and len(shares) < wanted:
                shares.append([])
                filled = 0
            shares[-1].append(split)
            filled += split.size_bytes
        return [Share(tuple(share), self._options, self._fail_on_data_loss) for share in shares]

    def pieces(self, size_bytes: int) -> list[Piece]:
        """The scan in pieces of one partition each, of about that size, in order: together exactly the offsets of the
        scan. They keep the scan's files open."""
        wanted = bounds.as_limit("size_bytes", size_bytes)
        return [
            Piece(
                split.partition,
                split.start_offset,
                split.end_offset,
                split.size_bytes,
                Share((split,), self._options, self._fail_on_data_loss),
            )
            for split in _cut(self._plans, wanted)
        ]

    def unseen(self) -> dict[int, tuple[int, int]]:
        """By partition the offsets [from, to) that the files hold now at or beyond the last offset that the scan might
        read."""
        return unseen(self._plans)

    @property
    def lost(self) -> list[tuple[int, int, int]]:
        """(partition, from, to) of requested offsets that are gone, or of batches that cannot be read, as found when
        planning or by streams so far; empty unless ``fail_on_data_loss`` is False or ``ignore_corrupt_batches`` is
        True."""
        planned = {(plan.partition, start, end) for plan in self._plans for start, end in plan.lost}
        found = {lost[1:] for stream in (self._core, *self._narrowed) for lost in stream.lost}
        return sorted(planned | found)

    @property
    def failure(self) -> _core.ScanError | ValueError | OSError | None:
        """Why a stream of this scan ended early: Arrow's interface passes only a sentence to the libraries that read
        it, and they raise errors of their own."""
        return next((stream.failure for stream in (self._core, *self._narrowed) if stream.failure), None)

    def __repr__(self) -> str:
        records = sum(plan.end_offset - plan.start_offset for plan in self._plans)
        return (
            f"<kafkastore.Scan of {self.topic}: {len(self._plans)} partitions, {records:,} offsets, "
            f"{sum(plan.size_bytes for plan in self._plans):,} bytes, columns {', '.join(self.columns)}>"
        )


def _part(split: _core.Split, wanted: tuple[int | None, int | None] | None) -> _core.Split | None:
    """The part of the split with offsets from the first to the second, None where there is no limit; None when there is
    no such part, as without a range."""
    if wanted is None:
        return None
    start = split.start_offset if wanted[0] is None else max(split.start_offset, wanted[0])
    end = split.end_offset if wanted[1] is None else min(split.end_offset, wanted[1] + 1)
    if (start, end) == (split.start_offset, split.end_offset):
        return split
    return split.within(start, end) if start < end else None


def _within(options: _Options, wanted: ScanLimits) -> _Options:
    """The options for records that are within these limits as well."""
    earliest, latest = wanted.timestamps_us
    least, end = options.min_timestamp_ms, options.end_timestamp_ms
    if earliest is not None:
        least = earliest // 1000 if least is None else max(least, earliest // 1000)
    if latest is not None:
        end = latest // 1000 + 1 if end is None else min(end, latest // 1000 + 1)
    keys = options.keys
    if wanted.keys is not None:
        keys = sorted(wanted.keys, key=repr) if keys is None else [key for key in keys if key in wanted.keys]
    return replace(options, min_timestamp_ms=least, end_timestamp_ms=end, keys=keys)


def _cut(plans: Sequence[_core.PartitionPlan], split_bytes: int) -> list[_core.Split]:
    return [split for plan in plans for split in plan.splits(split_bytes)]
