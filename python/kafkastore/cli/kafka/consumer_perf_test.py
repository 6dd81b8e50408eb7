"""``kafka-consumer-perf-test``: reads so many records, and prints how fast they came.

Without ``--group`` the topic is read without one: the time of a rebalance is then that in which the partitions are
looked up.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.cli.kafka.client_flags import pairs, properties_of
from kafkastore.cli.kafka.flags import Flags, FlagsError, int32, int64, is_given

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from kafkastore.consuming.readers import Reader

MEGABYTE: Final = 1024.0 * 1024.0
POLL_MS: Final = 100
DATE_FORMAT: Final = "yyyy-MM-dd HH:mm:ss:SSS"
BEHIND: Final = "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
HEADER: Final = f"start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, {BEHIND}\n"
DETAILED_HEADER: Final = f"time, threadId, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, {BEHIND}\n"

FLAGS = Flags("kafka-consumer-perf-test", "Measures how fast records are read.")
FLAGS.add("--bootstrap-server", "HOST:PORT,...", help="REQUIRED: brokers to begin with.")
FLAGS.add("--topic", "TOPIC", help="The topic to read.")
FLAGS.add("--include", "REGEX", help="Read the topics whose whole names match.")
FLAGS.add("--num-records", "NUMBER", type=int64, help="REQUIRED: how many records to read.")
FLAGS.add("--messages", "NUMBER", type=int64, help="(DEPRECATED) As --num-records.")
FLAGS.add("--group", "GROUP", help="Read as a member of this consumer group.")
FLAGS.add("--fetch-size", "BYTES", type=int32, default=1 << 20, help="Of a partition in a request at most (1 MiB).")
FLAGS.add("--from-latest", is_switch=True, help="Begin behind the last record, not with the first one.")
FLAGS.add("--socket-buffer-size", "BYTES", type=int32, default=2 << 20, help="Of the socket (2 MiB).")
FLAGS.add("--command-config", "FILE", help="Properties of the consumer.")
FLAGS.add("--command-property", "KEY=VALUE", is_repeated=True, help="One such property; counts before the file.")
FLAGS.add("--consumer.config", "FILE", help="(DEPRECATED) As --command-config.")
FLAGS.add("--print-metrics", is_switch=True, help="Print figures of the consumer at the end.")
FLAGS.add("--show-detailed-stats", is_switch=True, help="A line for each interval.")
FLAGS.add("--timeout", "MS", is_optional=True, default="10000", help="The longest time without a record (10000).")
FLAGS.add("--reporting-interval", "MS", type=int64, default=5000, help="Between the lines (5000).")
FLAGS.add("--date-format", "FORMAT", default=DATE_FORMAT, help="Of times, as java.text.SimpleDateFormat has them.")
FLAGS.add("--hide-header", is_switch=True, help="Leave the header out.")


class Settings(NamedTuple):
    """The command line, checked."""

    properties: dict[str, str]
    topic: str | None
    include: str | None
    records: int
    timeout_ms: int
    interval_ms: int
    is_detailed: bool
    has_header: bool
    prints_metrics: bool
    date: Callable[[datetime], str]


class Progress(NamedTuple):
    records: int = 0
    bytes: int = 0


def main(arguments: list[str]) -> int:
    given = FLAGS.read(arguments)
    if given.help:
        raise FlagsError("This tool is used to verify the consumer performance.")
    if given.version:
        from kafkastore.cli.kafka.run import KAFKA_VERSION

        sys.stdout.write(f"{KAFKA_VERSION}\n")
        return 0
    Test(_settings(given)).run()
    return 0


class Test:
    """One run."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._read = Progress()
        self._joining_s = 0.0
        self._joined_from: float | None = None

    def run(self) -> None:
        settings = self._settings
        if settings.has_header:
            sys.stdout.write(DETAILED_HEADER if settings.is_detailed else HEADER)
            sys.stdout.flush()
        start = time.time()
        reader = self._reader()
        self._joined_from = time.time()
        try:
            self._read_all(reader)
            end = time.time()
        finally:
            reader.close()
        if not settings.is_detailed:
            self._print_total(start, end)
        if settings.prints_metrics:
            _print_metrics(self._read, settings)

    def _reader(self) -> Reader:
        import re

        from kafkastore.consuming.readers import GroupReader, TopicReader, Topics

        settings = self._settings
        try:
            pattern = None if settings.include is None else re.compile(settings.include)
        except re.error as error:
            raise FlagsError(f"--include {settings.include} is no regular expression: {error}") from None
        topics = Topics(() if settings.topic is None else (settings.topic,), pattern)
        kind = GroupReader if settings.properties.get("group.id") else TopicReader
        return kind(settings.properties, topics, on_assigned=self._note_assigned, on_revoked=self._note_revoked)

    def _note_assigned(self, _: object) -> None:
        if self._joined_from is not None:
            self._joining_s += time.time() - self._joined_from
            self._joined_from = None

    def _note_revoked(self, _: object) -> None:
        self._joined_from = time.time()

    def _read_all(self, reader: Reader) -> None:
        from kafkastore.consuming.readers import MOST_RECORDS

        settings = self._settings
        reported, reported_at, joining_s = self._read, time.time(), 0.0
        last_at = time.time()
        while self._read.records < settings.records and (time.time() - last_at) * 1000 <= settings.timeout_ms:
            found = reader.poll(POLL_MS, min(MOST_RECORDS, settings.records - self._read.records))
            now = time.time()
            if not found:
                continue
            last_at = now
            self._read = Progress(
                self._read.records + sum(one.count for one in found), self._read.bytes + sum(one.bytes for one in found)
            )
            if (now - reported_at) * 1000 >= settings.interval_ms:
                if settings.is_detailed:
                    self._print_progress(reported, reported_at, now, self._joining_s - joining_s)
                reported, reported_at, joining_s = self._read, now, self._joining_s
        if self._read.records < settings.records:
            sys.stdout.write(
                f"WARNING: Exiting before consuming the expected number of records: timeout ({settings.timeout_ms} ms) "
                "exceeded. You can use the --timeout option to increase the timeout.\n"
            )

    def _print_progress(self, before: Progress, since: float, now: float, joining_s: float) -> None:
        records, megabytes = self._read.records - before.records, (self._read.bytes - before.bytes) / MEGABYTE
        elapsed_s = now - since
        fetching_s = elapsed_s - joining_s
        rates = (megabytes / fetching_s, records / fetching_s) if fetching_s > 0 else (0.0, 0.0)
        sys.stdout.write(
            f"{self._time(now)}, 0, {self._read.bytes / MEGABYTE:.4f}, {megabytes / elapsed_s:.4f}, "
            f"{self._read.records}, {records / elapsed_s:.4f}, {joining_s * 1000:.0f}, {fetching_s * 1000:.0f}, "
            f"{rates[0]:.4f}, {rates[1]:.4f}\n"
        )
        sys.stdout.flush()

    def _print_total(self, start: float, end: float) -> None:
        megabytes, records = self._read.bytes / MEGABYTE, self._read.records
        elapsed_s = max(end - start, 0.001)
        fetching_s = max(elapsed_s - self._joining_s, 0.001)
        sys.stdout.write(
            f"{self._time(start)}, {self._time(end)}, {megabytes:.4f}, {megabytes / elapsed_s:.4f}, {records}, "
            f"{records / elapsed_s:.4f}, {self._joining_s * 1000:.0f}, {fetching_s * 1000:.0f}, "
            f"{megabytes / fetching_s:.4f}, {records / fetching_s:.4f}\n"
        )

    def _time(self, seconds: float) -> str:
        return self._settings.date(datetime.fromtimestamp(seconds).astimezone())


def _print_metrics(read: Progress, settings: Settings) -> None:
    """As Kafka's tool prints the metrics of a consumer, of those that are counted here."""
    client = settings.properties["client.id"]
    group = f"consumer-fetch-manager-metrics:%s:{{client-id={client}}}"
    rows = {group % "bytes-consumed-total": float(read.bytes), group % "records-consumed-total": float(read.records)}
    width = max(map(len, rows))
    lines = [f"\n{'Metric Name':<{width}}   Value", *(f"{name:<{width}} : {value:.3f}" for name, value in rows.items())]
    sys.stdout.write("\n".join(lines) + "\n")


# ---- the command line


def _settings(given: argparse.Namespace) -> Settings:
    from kafkastore.cli.kafka.java_dates import java_date_format

    FLAGS.require(given, "bootstrap-server")
    if is_given(given, "topic") == is_given(given, "include"):
        raise FlagsError("Exactly one of --include/--topic is required. ")
    FLAGS.forbid(given, "num-records", "messages")
    if given.messages is not None:
        sys.stdout.write("Warning: --messages is deprecated. Use --num-records instead.\n")
    count = given.num_records if given.messages is None else given.messages
    if count is None:
        raise FlagsError('Missing required argument "[num-records]"')
    if given.reporting_interval <= 0:
        raise FlagsError("Reporting interval must be greater than 0.")
    try:
        timeout_ms = int(given.timeout or 10_000)
    except ValueError:
        raise FlagsError(f"Cannot parse argument '{given.timeout}' of option timeout") from None
    return Settings(
        _properties(given),
        given.topic,
        given.include,
        count,
        timeout_ms,
        given.reporting_interval,
        given.show_detailed_stats,
        not given.hide_header,
        given.print_metrics,
        java_date_format(given.date_format),
    )


def _properties(given: argparse.Namespace) -> dict[str, str]:
    former = getattr(given, "consumer.config")
    if former and given.command_config:
        raise FlagsError("Options --command-config and --consumer.config cannot be specified together.")
    if former:
        sys.stdout.write("Warning: --consumer.config is deprecated. Use --command-config instead.\n")
    properties = properties_of((), "--command-config", given.command_config or former) | pairs(given.command_property)
    properties |= {
        "bootstrap.servers": given.bootstrap_server,
        "receive.buffer.bytes": str(given.socket_buffer_size),
        "max.partition.fetch.bytes": str(given.fetch_size),
        "auto.offset.reset": "latest" if given.from_latest else "earliest",
        "check.crcs": "false",
    }
    properties.setdefault("client.id", "perf-consumer-client")
    properties.pop("group.id", None)
    return properties | ({} if given.group is None else {"group.id": given.group})
