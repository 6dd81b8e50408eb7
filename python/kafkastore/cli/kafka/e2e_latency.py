"""``kafka-e2e-latency``: how long a record takes from the producer to the consumer, one record after the other."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.cli.kafka.client_flags import properties_of
from kafkastore.cli.kafka.flags import Flags, FlagsError, int32, int64

if TYPE_CHECKING:
    from kafkastore.consuming.readers import TopicReader
    from kafkastore.producing.writer import Writer

TIMEOUT_MS: Final = 60_000
REPORT_EVERY: Final = 1000
PERCENTILES: Final = (0.5, 0.99, 0.999)
NAMES: Final = ("bootstrap-server", "topic", "num-records", "producer-acks", "record-size", "command-config")
NEEDED: Final = 5

FLAGS = Flags("kafka-e2e-latency", "Measures how long a record takes from a producer to a consumer.")
FLAGS.add("--bootstrap-server", "HOST:PORT,...", help="REQUIRED: brokers to begin with.")
FLAGS.add("--topic", "TOPIC", help="REQUIRED: the topic; it is made where there is none.")
FLAGS.add("--num-records", "NUMBER", type=int64, help="REQUIRED: how many records.")
FLAGS.add("--producer-acks", "ACKS", help="REQUIRED: 1 or all.")
FLAGS.add("--record-size", "BYTES", type=int32, help="REQUIRED: of a value.")
FLAGS.add("--command-config", "FILE", help="Properties of both clients.")
FLAGS.add("--record-key-size", "BYTES", type=int32, default=0, help="Of a key (0: none).")
FLAGS.add("--num-headers", "NUMBER", type=int32, default=0, help="Of a record (0).")
FLAGS.add("--record-header-key-size", "BYTES", type=int32, default=0, help="Of the name of a header.")
FLAGS.add("--record-header-size", "BYTES", type=int32, default=0, help="Of the value of a header.")


class Record(NamedTuple):
    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes | None]]


class LatencyError(Exception):
    """A record did not come back as it was sent: the sentence."""


def main(arguments: list[str]) -> int:
    if arguments and not arguments[0].startswith("-"):
        arguments = _named(arguments)
    given = FLAGS.read(arguments)
    if given.help:
        raise FlagsError("This tool measures end-to-end latency.")
    if given.version:
        from kafkastore.cli.kafka.run import KAFKA_VERSION

        sys.stdout.write(f"{KAFKA_VERSION}\n")
        return 0
    FLAGS.require(given, *NAMES[:NEEDED])
    if given.producer_acks not in ("1", "all"):
        raise FlagsError("Latency testing requires synchronous acknowledgement. Please use 1 or all")
    headers: list[tuple[str, bytes | None]] = [
        ("a" * given.record_header_key_size, b"b" * given.record_header_size)
    ] * given.num_headers
    record = Record(b"k" * given.record_key_size or None, b"v" * given.record_size, headers)
    try:
        _measure(given, record)
    except LatencyError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _named(arguments: list[str]) -> list[str]:
    """Words in the order of older versions as flags."""
    if len(arguments) not in (NEEDED, NEEDED + 1):
        raise FlagsError(
            f"Invalid number of arguments. Expected 5 or 6 positional arguments, but got {len(arguments)}. Usage: "
            "bootstrap-server topic num-records producer-acks record-size [optional] command-config"
        )
    sys.stdout.write(
        "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. Please use named "
        f"arguments instead: {', '.join(f'--{name}' for name in NAMES)}\n"
    )
    return [word for name, value in zip(NAMES, arguments, strict=False) for word in (f"--{name}", value)]


def _measure(given: object, record: Record) -> None:
    from kafkastore.consuming.readers import TopicReader, Topics
    from kafkastore.producing.writer import Writer

    options = vars(given)
    common = properties_of((), "--command-config", options["command_config"])
    common["bootstrap.servers"] = options["bootstrap_server"]
    topic = options["topic"]
    reader = TopicReader(common | {"auto.offset.reset": "latest", "fetch.max.wait.ms": "0"}, Topics((topic,)))
    latencies: list[float] = []
    with Writer(common | {"linger.ms": "0", "acks": options["producer_acks"]}) as writer:
        try:
            _find_end(reader)
            for number in range(options["num_records"]):
                latencies.append(_round_trip(writer, reader, topic, record))
                if number % REPORT_EVERY == 0:
                    sys.stdout.write(f"{number}\t{latencies[-1]}\n")
        finally:
            reader.close()
    ordered = sorted(int(latency) for latency in latencies)
    named = [ordered[int(len(ordered) * of)] for of in PERCENTILES]
    sys.stdout.write(f"Avg latency: {sum(latencies) / len(latencies):.4f} ms\n")
    sys.stdout.write("Percentiles: 50th = {}, 99th = {}, 99.9th = {}\n".format(*named))


def _find_end(reader: TopicReader) -> None:
    """Waits until it is known where every partition ends: what is sent from then on is read."""
    until = time.monotonic() + TIMEOUT_MS / 1000
    while not reader.assigned or len(reader.consumer.positions()) < len(reader.assigned):
        reader.poll(10)
        if time.monotonic() > until:
            raise LatencyError("the topic has no leader within 60 seconds")


def _round_trip(writer: Writer, reader: TopicReader, topic: str, record: Record) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    writer.send(topic, [(record.key, record.value, record.headers, None, None)])
    writer.flush()
    if writer.failed:
        raise LatencyError("a record was not written; see the log of the broker")
    found = reader.poll(TIMEOUT_MS)
    elapsed_ms = (time.perf_counter() - start) * 1000
    if not found:
        raise LatencyError(f"poll() timed out before finding a result (timeout:[{TIMEOUT_MS}ms])")
    records = [one for fetched in found for one in fetched.records()]
    if len(records) != 1:
        raise LatencyError(f"Only one result was expected during this test. We found [{len(records)}]")
    if (records[0].key, records[0].value, records[0].headers) != tuple(record):
        raise LatencyError("The message read did not match the message sent")
    return elapsed_ms
