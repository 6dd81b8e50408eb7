"""The work of ``kafkastore consume``: reads, decodes, filters and prints until there is enough.

What ends it is said on stderr, and nothing of it goes to stdout, which has records alone.
"""

from __future__ import annotations

import asyncio
import re
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from kafkastore.admin.offsets import LATEST
from kafkastore.cli import record_text
from kafkastore.cli.consume_offsets import BEGIN, END, Bound, offset_range, resolve
from kafkastore.cli.output import printable, printable_json
from kafkastore.cli.record_text import ReadRecord
from kafkastore.consuming.readers import GroupReader, TopicReader, Topics
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkastore._core import FetchedRecords
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.consume_filter import RecordFilter
    from kafkastore.consuming.assignors import Partition
    from kafkastore.consuming.readers import Reader
    from kafkastore.consuming.value_decoder import ValueDecoder

POLL_MS: Final = 200
MOST_RECORDS: Final = 10_000
END_NOW: Final = Bound(LATEST)


class ConsumeOptions(NamedTuple):
    """The command line, checked."""

    cluster: ClusterSettings
    topics: tuple[str, ...]
    is_regex: bool
    offset: str
    partitions: tuple[range, ...] | None
    limit: int | None
    is_ending: bool
    group: str | None
    pattern: str | None
    format: str
    condition: str | None
    isolation_level: str
    values: dict[str, str]


def consume(options: ConsumeOptions) -> int:
    """The exit status. Raises KafkastoreError."""
    from kafkastore.cli.ending import terminated_as_error

    printer = Printer(options)
    try:
        with terminated_as_error():
            printer.run()
    finally:
        printer.close()
    return printer.status


class Printer:
    """See the module."""

    def __init__(self, options: ConsumeOptions) -> None:
        self.status = 0
        self._options = options
        self._out = sys.stdout.buffer
        self._write = _writer(options)
        self._count = 0
        self._filter: RecordFilter | None = None
        self._decoders: dict[str, ValueDecoder] = {}
        self._ends: dict[Partition, int] = {}
        self._done: set[Partition] = set()
        self._starts: dict[Partition, int] = {}
        if options.condition is not None:
            from kafkastore.cli.consume_filter import RecordFilter

            self._filter = RecordFilter(options.condition)

    def close(self) -> None:
        if self._filter is not None:
            self._filter.close()
        for decoder in self._decoders.values():
            decoder.close()

    def run(self) -> None:
        reader = self._reader()
        is_done = False
        is_array = self._options.format == "json"
        try:
            if is_array:
                self._out.write(b"[")
            self._read_all(reader)
            is_done = True
        finally:
            if is_array:
                self._out.write(b"\n]\n" if self._count else b"]\n")
            reader.close(is_done=is_done)
        self._out.flush()

    def _read_all(self, reader: Reader) -> None:
        options = self._options
        if options.offset in END and not options.is_ending and sys.stderr.isatty():
            click.echo("waiting for new records; Ctrl-C ends, --offset begin reads those that are there", err=True)
        while options.limit is None or self._count < options.limit:
            is_counted = options.limit is not None and self._filter is None and not self._ends
            most = min(MOST_RECORDS, (options.limit or 0) - self._count) if is_counted else MOST_RECORDS
            found = reader.poll(POLL_MS, most)
            self._print([one for fetched in found for one in self._wanted(fetched)])
            self._out.flush()
            if self._is_at_end(reader):
                return

    # ---- where it ends
    def _wanted(self, fetched: FetchedRecords) -> Iterable[ReadRecord]:
        end = self._ends.get((fetched.topic, fetched.partition))
        records = fetched.records()
        if end is not None and fetched.last_offset >= end:
            records = [record for record in records if record.offset < end]
        return (ReadRecord(fetched.topic, fetched.partition, record, record.value) for record in records)

    def _is_at_end(self, reader: Reader) -> bool:
        if not (self._ends or self._options.is_ending):
            return False
        positions, marks = reader.consumer.positions(), reader.consumer.high_watermarks()
        assigned = reader.assigned
        for one in assigned:
            if one in self._done or one not in positions:
                continue
            position, end = positions[one], self._ends.get(one)
            is_behind = end is not None and position >= end
            if is_behind or (self._options.is_ending and one in marks and position >= marks[one]):
                self._done.add(one)
                reader.consumer.pause([one])
        return reader.has_looked and self._done >= set(assigned)

    # ---- one record
    def _print(self, records: list[ReadRecord]) -> None:
        if self._options.values:
            records = self._decoded(records)
        if self._filter is not None:
            records = self._filter.matching(records)
        if self._options.limit is not None:
            records = records[: self._options.limit - self._count]
        is_array = self._options.format == "json"
        for number, one in enumerate(records, self._count):
            if is_array:
                self._out.write(b",\n" if number else b"\n")
            self._out.write(self._write(one))
        self._count += len(records)

    def _decoded(self, records: list[ReadRecord]) -> list[ReadRecord]:
        from kafkastore.consuming.value_decoder import DecodeError, ValueDecoder

        made: list[ReadRecord] = []
        for topic in dict.fromkeys(one.topic for one in records):
            of_topic = [one for one in records if one.topic == topic]
            if topic not in self._decoders:
                self._decoders[topic] = ValueDecoder(topic, self._options.values)
            found = self._decoders[topic].decode([one.record.value for one in of_topic])
            for one, value in zip(of_topic, found, strict=True):
                if isinstance(value, DecodeError):
                    self.status = 1
                    _warn(f"{topic}-{one.partition}@{one.record.offset}: {value}")
                    made.append(one._replace(error=str(value)))
                else:
                    made.append(one._replace(value=value, is_decoded=True))
        return made

    # ---- what is read
    def _reader(self) -> Reader:
        options = self._options
        properties = {
            "auto.offset.reset": "earliest" if options.group is None or options.offset in BEGIN else "latest",
            "client.id": "kafkastore-consume",
            "allow.auto.create.topics": "false",
            **options.cluster.properties,
            "isolation.level": options.isolation_level,
            "bootstrap.servers": options.cluster.bootstrap_servers,
        }
        topics = _topics(options)
        if options.group is not None:
            return GroupReader(properties | {"group.id": options.group}, topics, warn=_warn)
        properties.pop("group.id", None)
        return TopicReader(properties, topics, starts=self._start_offsets, warn=_warn)

    def _start_offsets(self, counts: dict[str, int]) -> dict[Partition, int]:
        """Where each partition is read from; also notes where it ends."""
        options = self._options
        missing = [topic for topic in options.topics if not options.is_regex and topic not in counts]
        if missing and (options.is_ending or ":" in options.offset):
            raise ConfigError(f"there is no topic {missing[0]}; see kafkastore topics list")
        asked = options.partitions
        partitions = [
            (topic, number)
            for topic, count in counts.items()
            for number in range(count)
            if asked is None or any(number in one for one in asked)
        ]
        last = max(counts.values(), default=0) - 1
        absent = [max(one.start, last + 1) for one in asked or () if one[-1] > last]
        if absent and counts:
            raise ConfigError(f"--partition {min(absent)}: no topic has that partition; see kafkastore topics list")
        wanted = offset_range(options.offset)
        new = [one for one in partitions if one not in self._starts]

        async def ask() -> None:
            from kafkastore.admin.admin_client import AdminClient

            async with AdminClient(options.cluster.bootstrap_servers, options.cluster.properties).within() as client:
                self._starts |= await resolve(client, new, wanted.start)
                if wanted.end is not None:
                    self._ends |= await resolve(client, new, wanted.end)
                elif options.is_ending:
                    self._ends |= await resolve(client, new, END_NOW)

        asyncio.run(ask())
        return self._starts


def _topics(options: ConsumeOptions) -> Topics:
    if not options.is_regex:
        return Topics(options.topics)
    try:
        return Topics(pattern=re.compile("|".join(f"(?:{topic})" for topic in options.topics)))
    except re.error as error:
        raise ConfigError(f"TOPIC {' '.join(options.topics)} is no regular expression: {error}") from None


def _writer(options: ConsumeOptions) -> Callable[[ReadRecord], bytes]:
    if options.format in ("json", "jsonl"):
        end = b"\n" if options.format == "jsonl" else b""
        show = printable_json if sys.stdout.isatty() else str
        return lambda one: show(record_text.json_text(one)).encode() + end
    if options.format == "raw":
        return record_text.value_bytes
    write = record_text.pattern_writer(options.pattern or record_text.VALUE_LINE)
    return record_text.for_terminal(write) if sys.stdout.isatty() else write


def _warn(sentence: str) -> None:
    click.echo(f"kafkastore consume: {printable(sentence)}", err=True)
