"""The work of ``kafkastore produce``: makes records of what is given, sends them, and says what was acknowledged."""

from __future__ import annotations

import json
import sys
import time
import uuid
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kafkastore.cli.output import printable
from kafkastore.errors import ConfigError, KafkastoreError
from kafkastore.producing.json_records import RecordError, plain_bytes, record_of, time_of
from kafkastore.producing.lines import chunks_of_lines, chunks_of_records
from kafkastore.producing.tracked_writer import TrackedWriter
from kafkastore.producing.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kafkastore._core import Delivery
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.producing.writer import Row

PROGRESS_S: Final = 1.0
INTERRUPTED_S: Final = 5.0
LARGEST_BYTES: Final = 1 << 30
"""A record may be as large as the broker lets it be: its answer counts."""


class ProduceOptions(NamedTuple):
    """The command line, checked. ``report``: how the place of each record is printed; None for not at all."""

    cluster: ClusterSettings
    topic: str
    files: tuple[Path, ...]
    format: str
    key: str | None
    key_separator: bytes | None
    delimiter: bytes | None
    headers: list[tuple[str, str]]
    partition: int | None
    timestamp: str | None
    has_tombstones: bool
    properties: dict[str, str]
    is_transaction: bool
    schema_file: str | None
    registry_url: str | None
    subject: str
    report: str | None
    has_progress: bool


def produce(options: ProduceOptions) -> int:
    """The exit status. Raises KafkastoreError."""
    from kafkastore.cli.ending import terminated_as_error
    from kafkastore.consuming.readers import Topics

    # a cluster that does not answer is told at once, not when the first record has waited for it
    options.cluster.ask(lambda client: Topics((options.topic,)).partitions(client, creates=True))
    producer = Producer(options)
    with terminated_as_error():
        return producer.run()


class Producer:
    """See the module."""

    def __init__(self, options: ProduceOptions) -> None:
        self._options = options
        self._encode = _encoder(options)
        self._timestamp = None if options.timestamp is None else time_of(options.timestamp)
        # what is no UTF-8 on the command line is written as it was typed
        self._headers = [(name, value.encode(errors="surrogateescape")) for name, value in options.headers] or None
        self._key = None if options.key is None else options.key.encode(errors="surrogateescape")
        self._failures: dict[str, int] = {}
        self._number = 0
        self._told_at = time.monotonic()
        properties = {
            "client.id": "kafkastore-produce",
            "max.request.size": str(LARGEST_BYTES),
            "buffer.memory": str(64 << 20),
            "linger.ms": "5",
            **options.properties,
            **options.cluster.properties,
            "bootstrap.servers": options.cluster.bootstrap_servers,
        }
        if options.is_transaction:
            properties.setdefault("transactional.id", f"kafkastore-produce-{uuid.uuid4()}")
        self._writer = (
            Writer(properties, self._note_failure)
            if options.report is None
            else TrackedWriter(properties, self._report)
        )

    def run(self) -> int:
        options = self._options
        problem: KafkastoreError | None = None
        with self._writer as writer:
            if options.is_transaction:
                writer.init_transactions()
                writer.begin()
            try:
                self._send_all()
                writer.flush()
            except KafkastoreError as error:
                problem = error
                self._finish(is_whole=False)
            except BaseException:  # Ctrl-C: what is on its way gets a little time
                self._finish(is_whole=False, limit_s=INTERRUPTED_S)
                self._tell_failures()
                raise
            else:
                self._finish(is_whole=not writer.failed)
        self._tell_failures()
        if problem is not None:
            click.echo(f"kafkastore produce: {printable(str(problem))}", err=True)
        return 1 if problem is not None or self._writer.failed else 0

    def _finish(self, *, is_whole: bool, limit_s: float = float("inf")) -> None:
        """Commits or aborts a transaction; flushes otherwise; says what is written."""
        writer, options = self._writer, self._options
        try:
            if not options.is_transaction:
                writer.flush(limit_s)
            elif is_whole:
                writer.commit()
            else:
                writer.abort()
        finally:
            is_aborted = options.is_transaction and not is_whole
            count = 0 if is_aborted else writer.acknowledged
            said = f"{options.topic}: {count} {'record' if count == 1 else 'records'} written"
            said += ", the transaction is aborted" if is_aborted else ""
            click.echo(said, err=options.report is not None or not is_whole)

    # ---- records
    def _send_all(self) -> None:
        if self._is_typed and sys.stderr.isatty():
            click.echo("type records, a line each; Ctrl-D ends", err=True)
        for rows in self._rows():
            if isinstance(rows[0], bytes):
                self._writer.send_values(self._options.topic, rows)
            elif isinstance(self._writer, TrackedWriter):
                self._writer.send_marked(self._options.topic, rows, range(self._number, self._number + len(rows)))
            else:
                self._writer.send(self._options.topic, rows)
            self._number += len(rows)
            if self._is_typed:
                self._writer.flush()
            self._tell_progress()

    @property
    def _is_typed(self) -> bool:
        return not self._options.files and sys.stdin.isatty()

    def _rows(self) -> Iterator[list[Any]]:
        """Rows, or plain values where there is nothing else to a record."""
        options = self._options
        if options.files:
            for path in options.files:
                yield [self._row_of(_content(path), str(path))]
            return
        if options.format == "raw":
            yield [self._row_of(sys.stdin.buffer.read(), "stdin")]
            return
        stream = sys.stdin.buffer
        chunks = chunks_of_lines(stream) if options.delimiter is None else chunks_of_records(stream, options.delimiter)
        is_plain = options.report is None and self._is_plain()
        number = 0
        for lines in chunks:
            if is_plain:
                yield lines
                continue
            rows: list[Row] = []
            try:
                for line in lines:
                    number += 1
                    rows.append(self._row_of(line, f"line {number}"))
            except RecordError:
                if rows:
                    yield rows
                raise
            yield rows

    def _is_plain(self) -> bool:
        options = self._options
        others = (options.key_separator, self._key, self._headers, options.partition, self._timestamp, self._encode)
        return options.format == "lines" and not options.has_tombstones and all(one is None for one in others)

    def _row_of(self, data: bytes, place: str) -> Row:
        """Raises RecordError, which begins with the place."""
        options = self._options
        try:
            if options.format == "json":
                key, value, headers, partition, timestamp = record_of(data, self._encode or plain_bytes)
            else:
                (key, text), headers, partition, timestamp = self._cut(data), None, None, None
                value = text if self._encode is None else self._encode(_parsed(text))
        except RecordError as error:
            raise RecordError(f"{place}: {error}") from None
        if options.has_tombstones and not value:
            value = None
        return (
            self._key if self._key is not None else key,
            value,
            [*(headers or ()), *(self._headers or ())] or None,
            options.partition if options.partition is not None else partition,
            self._timestamp if self._timestamp is not None else timestamp,
        )

    def _cut(self, data: bytes) -> tuple[bytes | None, bytes]:
        separator = self._options.key_separator
        if separator is None:
            return None, data
        key, found, value = data.partition(separator)
        if not found:
            raise RecordError(f"it has no key separator {separator.decode(errors='replace')!r}")
        return key, value

    # ---- what became of them
    def _note_failure(self, delivery: Delivery) -> None:
        if delivery.error is not None:
            reason = f"{delivery.error}: {delivery.message}"
            self._failures[reason] = self._failures.get(reason, 0) + delivery.count

    def _report(self, mark: int, delivery: Delivery, offset: int) -> None:
        if delivery.error is not None:
            reason = f"{delivery.error}: {delivery.message}"
            self._failures[reason] = self._failures.get(reason, 0) + 1
            return
        if self._options.report == "json":
            place = {"topic": delivery.topic, "partition": delivery.partition, "offset": offset}
            click.echo(json.dumps({"record": mark + 1, **place}))
        else:
            click.echo(f"{delivery.partition}@{offset}")

    def _tell_failures(self) -> None:
        for reason, count in self._failures.items():
            records = "record is" if count == 1 else "records are"
            click.echo(f"kafkastore produce: {count} {records} not written: {printable(reason)}", err=True)

    def _tell_progress(self) -> None:
        now = time.monotonic()
        if self._options.has_progress and now - self._told_at >= PROGRESS_S:
            self._told_at = now
            click.echo(f"{self._writer.acknowledged} written, {self._writer.pending} on their way", err=True)


def _encoder(options: ProduceOptions) -> Callable[[Any], bytes | None] | None:
    if options.schema_file is None and options.registry_url is None:
        return None
    from kafkastore.producing.avro_encoder import AvroEncoder, of_registry

    if options.registry_url is not None:
        return of_registry(options.registry_url, options.subject).encode
    assert options.schema_file is not None
    try:
        with open(options.schema_file, encoding="utf-8") as file:
            return AvroEncoder(file.read()).encode
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"--value-schema-file {options.schema_file} cannot be read: {reason}") from None


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError) as error:
        reason = "it nests too deeply" if isinstance(error, RecursionError) else error
        raise RecordError(f"its value is no JSON: {reason}") from None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
