"""``kafka-producer-perf-test``: sends records as fast as it is told, and prints how fast they were acknowledged."""

from __future__ import annotations

import random
import sys
import time
import uuid
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.cli.kafka.client_flags import pairs, properties_of
from kafkastore.cli.kafka.flags import FlagsError, int32, int64
from kafkastore.cli.kafka.subcommands import Subcommands

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from kafkastore._core import Delivery
    from kafkastore.cli.kafka.perf_figures import PerfFigures
    from kafkastore.producing.writer import Writer

TRANSACTION_MS: Final = 3000
PREFIX: Final = "performance-producer-"
POOL_BYTES: Final = 1 << 20
LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DISTRIBUTIONS: Final = ("none", "range", "random")
DEPRECATED: Final = "Option --{} has been deprecated and will be removed in a future version. Use --{} instead."

FLAGS = Subcommands(
    "kafka-producer-perf-test", description="Measures how fast records are written.", allow_abbrev=False
)
FLAGS.add_argument("--bootstrap-server", metavar="BOOTSTRAP-SERVER", help="Counts before bootstrap.servers elsewhere.")
FLAGS.add_argument("--topic", required=True, metavar="TOPIC", help="Write to this topic.")
FLAGS.add_argument("--num-records", type=int64, required=True, metavar="NUM-RECORDS", help="How many.")
FLAGS.add_argument(
    "--throughput", type=float, required=True, metavar="THROUGHPUT", help="Records a second; -1: no limit."
)
FLAGS.add_argument("--payload-delimiter", default="\\n", metavar="PAYLOAD-DELIMITER", help="Between those of the file.")
FLAGS.add_argument("--producer-props", nargs="+", metavar="KEY=VALUE", help="(DEPRECATED) As --command-property.")
FLAGS.add_argument(
    "--command-property", nargs="+", metavar="KEY=VALUE", help="Properties; count before those of a file."
)
FLAGS.add_argument("--producer.config", metavar="CONFIG-FILE", help="(DEPRECATED) As --command-config.")
FLAGS.add_argument("--command-config", metavar="CONFIG-FILE", help="Properties of the producer.")
FLAGS.add_argument("--print-metrics", action="store_true", help="Print figures of the producer at the end.")
FLAGS.add_argument("--transactional-id", metavar="TRANSACTIONAL-ID", help="Write in transactions of this id.")
FLAGS.add_argument("--transaction-duration-ms", type=int64, metavar="MS", help="Commit after this time (3000).")
FLAGS.add_argument("--warmup-records", type=int64, default=0, metavar="NUMBER", help="Not counted as steady state.")
FLAGS.add_argument("--reporting-interval", type=int64, default=5000, metavar="MS", help="Between lines of progress.")
FLAGS.add_argument("--record-key-range", type=int64, metavar="KEY-RANGE", help="Keys are numbers below this one.")
FLAGS.add_argument("--key-distribution", default="none", metavar="HOW", help="none, range (in turn) or random.")
FLAGS.add_argument("--random-seed", type=int64, default=0, metavar="SEED", help="Of payloads and keys.")
PAYLOADS = FLAGS.add_mutually_exclusive_group(required=True)
PAYLOADS.add_argument("--record-size", type=int32, metavar="RECORD-SIZE", help="Bytes of a record.")
PAYLOADS.add_argument("--payload-file", metavar="PAYLOAD-FILE", help="Records are taken out of it by chance.")
PAYLOADS.add_argument("--payload-monotonic", action="store_true", help="Records are rising numbers.")


class Settings(NamedTuple):
    """The command line, checked. ``payloads`` and ``keys`` make so many of them from a number on."""

    properties: dict[str, str]
    topic: str
    records: int
    throughput: float
    payloads: Callable[[int, int], list[bytes]]
    keys: Callable[[int, int], list[bytes]] | None
    warmup: int
    interval_ms: int
    transaction_ms: int | None
    prints_metrics: bool


def main(arguments: list[str]) -> int:
    if not arguments:
        FLAGS.print_help()
        return 0
    given = FLAGS.read(arguments)
    if given is None:
        return 1
    Test(_settings(given)).run()
    return 0


class Test:
    """One run."""

    def __init__(self, settings: Settings) -> None:
        from kafkastore.cli.kafka.perf_figures import PerfFigures
        from kafkastore.producing.writer import Writer

        self._settings = settings
        self._writer = Writer(settings.properties, self._note)
        self._acknowledged = 0
        self._figures = PerfFigures(settings.interval_ms)
        self._steady: PerfFigures | None = None

    def run(self) -> None:
        settings = self._settings
        with self._writer as writer:
            if settings.transaction_ms is not None:
                writer.init_transactions()
            if settings.warmup:
                sys.stdout.write(
                    f"Warmup first {settings.warmup} records. Steady state results will print after the complete test "
                    "summary.\n"
                )
            self._send_all(writer)
            writer.flush()
        self._figures.print_total()
        if self._steady is not None:
            self._steady.print_total()
        if settings.prints_metrics:
            _print_metrics(self._figures, settings)

    def _send_all(self, writer: Writer) -> None:
        from kafkastore.cli.kafka.pace import Pace

        settings, sent, began = self._settings, 0, 0.0
        pace = Pace(settings.throughput)
        is_open = False
        while sent < settings.records:
            if settings.transaction_ms is not None and not is_open:
                writer.begin()
                is_open, began = True, time.monotonic()
            count = pace.at_once(settings.records - sent)
            if sent < settings.warmup:
                count = min(count, settings.warmup - sent)
            self._send(writer, sent, count)
            sent += count
            if is_open and (time.monotonic() - began) * 1000 >= (settings.transaction_ms or 0):
                writer.commit()
                is_open = False
            writer.serve(pace.due_in_s(sent))
        if is_open:
            writer.commit()

    def _send(self, writer: Writer, first: int, count: int) -> None:
        settings = self._settings
        values = settings.payloads(first, count)
        if settings.keys is None:
            writer.send_values(settings.topic, values)
        else:
            keys = settings.keys(first, count)
            rows = [(key, value, None, None, None) for key, value in zip(keys, values, strict=True)]
            writer.send(settings.topic, rows)

    def _note(self, delivery: Delivery) -> None:
        if delivery.error is not None:
            sys.stderr.write(f"{delivery.error}: {delivery.message}\n")
            return
        each_bytes = delivery.bytes // delivery.count
        for waited_ms, count in delivery.waited:
            before, warmup = self._acknowledged, self._settings.warmup
            self._acknowledged += count
            self._figures.record(count, count * each_bytes, int(waited_ms))
            if warmup and self._acknowledged > warmup:
                steady_count = self._acknowledged - max(before, warmup)
                self._steady_figures().record(steady_count, steady_count * each_bytes, int(waited_ms))

    def _steady_figures(self) -> PerfFigures:
        from kafkastore.cli.kafka.perf_figures import PerfFigures

        if self._steady is None:
            self._steady = PerfFigures(self._settings.interval_ms, is_steady=True)
            self._figures.is_printing = False
        return self._steady


def _print_metrics(figures: PerfFigures, settings: Settings) -> None:
    """As Kafka's tool prints the metrics of a producer, of those that are counted here."""
    client = settings.properties["client.id"]
    rows = {f"producer-metrics:record-send-total:{{client-id={client}}}": float(figures.count)}
    width = max(map(len, rows))
    lines = [f"\n{'Metric Name':<{width}}   Value", *(f"{name:<{width}} : {value:.3f}" for name, value in rows.items())]
    sys.stdout.write("\n".join(lines) + "\n")


# ---- the command line


def _settings(given: argparse.Namespace) -> Settings:
    _check(given)
    transaction_ms = given.transaction_duration_ms
    payloads = _payloads(given)
    properties = _properties(given)
    is_transactional = transaction_ms or given.transactional_id or properties.get("transactional.id")
    if is_transactional:
        identity = given.transactional_id or properties.get("transactional.id") or f"{PREFIX}{uuid.uuid4()}"
        properties["transactional.id"] = identity
        transaction_ms = transaction_ms or TRANSACTION_MS
    return Settings(
        properties,
        given.topic,
        given.num_records,
        given.throughput,
        payloads,
        _keys(given),
        given.warmup_records,
        given.reporting_interval,
        transaction_ms,
        given.print_metrics,
    )


def _check(given: Any) -> None:
    """Raises FlagsError, with Kafka's sentences."""
    for name in ("num_records", "record_size", "transaction_duration_ms", "reporting_interval", "record_key_range"):
        number = getattr(given, name)
        if number is not None and number <= 0:
            raise FlagsError(f"--{name.replace('_', '-')} should be greater than zero.")
    if given.warmup_records >= given.num_records:
        raise FlagsError(
            "The value for --warmup-records must be strictly fewer than the number of records in the test, "
            "--num-records."
        )
    if not (
        given.bootstrap_server
        or given.command_property
        or given.producer_props
        or given.command_config
        or getattr(given, "producer.config")
    ):
        raise FlagsError(
            "At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or "
            "--command-config must be specified."
        )
    for new, old in (("command-property", "producer-props"), ("command-config", "producer.config")):
        if getattr(given, new.replace("-", "_")) and getattr(given, old.replace("-", "_")):
            raise FlagsError(f"--{new} and --{old} cannot be specified together.")
    if given.key_distribution not in DISTRIBUTIONS:
        raise FlagsError(f"--key-distribution: {given.key_distribution} is none of {', '.join(DISTRIBUTIONS)}")
    if given.key_distribution == "none" and given.record_key_range is not None:
        raise FlagsError("--key-distribution must be 'range' or 'random' when --record-key-range is specified.")
    if given.key_distribution != "none" and given.record_key_range is None:
        raise FlagsError("--record-key-range is required when --key-distribution is 'range' or 'random'.")


def _properties(given: Any) -> dict[str, str]:
    old_file = getattr(given, "producer.config")
    for old, new, value in (
        ("producer-props", "command-property", given.producer_props),
        ("producer.config", "command-config", old_file),
    ):
        if value:
            sys.stdout.write(f"{DEPRECATED.format(old, new)}\n")
    words = given.command_property or given.producer_props
    properties = properties_of((), "--command-config", given.command_config or old_file) | pairs(words)
    if given.bootstrap_server:
        properties["bootstrap.servers"] = given.bootstrap_server
    properties.setdefault("client.id", "perf-producer-client")
    return properties


def _payloads(given: argparse.Namespace) -> Callable[[int, int], list[bytes]]:
    chance = random.Random(given.random_seed)  # noqa: S311 - a measurement that can be repeated
    if given.payload_monotonic:
        return lambda first, count: [b"%d" % number for number in range(first, first + count)]
    if given.payload_file is not None:
        choices = _read_payloads(given.payload_file, given.payload_delimiter)
        return lambda _, count: chance.choices(choices, k=count)
    size = given.record_size
    pool = bytes(chance.choices(LETTERS, k=POOL_BYTES + size))

    def cut(_: int, count: int) -> list[bytes]:
        starts = [int(chance.random() * POOL_BYTES) for _ in range(count)]
        return [pool[start : start + size] for start in starts]

    return cut


def _read_payloads(path: str, delimiter: str) -> list[bytes]:
    import re
    from pathlib import Path

    sys.stdout.write(f"Reading payloads from: {Path(path).absolute()}\n")
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    if not text:
        raise FlagsError("File does not exist or empty file provided.")
    pieces = re.split("\n" if delimiter == "\\n" else delimiter, text)
    while len(pieces) > 1 and not pieces[-1]:  # as Java's split
        pieces.pop()
    sys.stdout.write(f"Number of records read: {len(pieces)}\n")
    return [piece.encode() for piece in pieces]


def _keys(given: argparse.Namespace) -> Callable[[int, int], list[bytes]] | None:
    if given.key_distribution == "none":
        return None
    span = given.record_key_range
    if given.key_distribution == "range":
        return lambda first, count: [b"%d" % (number % span) for number in range(first, first + count)]
    chance = random.Random(given.random_seed)  # noqa: S311 - as above
    return lambda _, count: [b"%d" % chance.randrange(span) for _ in range(count)]
