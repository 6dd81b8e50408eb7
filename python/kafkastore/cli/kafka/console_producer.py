"""``kafka-console-producer``: sends each line of stdin as a record."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO, Final

from kafkastore.cli.kafka.client_flags import choose, pairs, properties_of
from kafkastore.cli.kafka.flags import Flags, FlagsError, int32, int64, is_given

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kafkastore._core import Delivery
    from kafkastore.producing.line_parser import LineParser
    from kafkastore.producing.writer import Row, Writer

LOGGER: Final = "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback"
INTERRUPTED_S: Final = 5.0
"""How long what is on its way is waited for after Ctrl-C."""
LINE_READERS: Final = ("org.apache.kafka.tools.LineMessageReader", "kafka.tools.ConsoleProducer$LineMessageReader")
PROPERTIES: Final = """\
parse.key, parse.headers, ignore.error (true or false), key.separator, headers.delimiter, headers.separator,
headers.key.separator, null.marker"""
DEPRECATED: Final = "Warning: --{} is deprecated and will be removed in a future version. Use --{} instead."
OF_PRODUCER: Final = {
    "timeout": ("linger.ms", 1000),
    "request-required-acks": ("acks", "-1"),
    "request-timeout-ms": ("request.timeout.ms", 1500),
    "message-send-max-retries": ("retries", 3),
    "retry-backoff-ms": ("retry.backoff.ms", 100),
    "socket-buffer-size": ("send.buffer.bytes", 102_400),
    "max-memory-bytes": ("buffer.memory", 32 << 20),
    "batch-size": ("batch.size", 16_384),
    "max-partition-memory-bytes": ("batch.size", 16_384),
    "metadata-expiry-ms": ("metadata.max.age.ms", 300_000),
    "max-block-ms": ("max.block.ms", 60_000),
}
"""What a flag sets, and to what without it; a later flag counts before an earlier one."""

FLAGS = Flags("kafka-console-producer", "Sends each line of stdin as a record.")
FLAGS.add("--topic", "TOPIC", help="REQUIRED: the topic to write to.")
FLAGS.add("--bootstrap-server", "HOST:PORT,...", help="REQUIRED: brokers to begin with.")
FLAGS.add("--sync", is_switch=True, help="Wait for each record before the next one is sent.")
FLAGS.add("--compression-codec", "CODEC", is_optional=True, help="none, gzip (without a value), snappy, lz4 or zstd.")
FLAGS.add("--batch-size", "BYTES", type=int32, help="Of a batch of a partition (16384).")
FLAGS.add("--message-send-max-retries", "NUMBER", type=int32, help="How often a record is sent again (3).")
FLAGS.add("--retry-backoff-ms", "MS", type=int64, help="Between those (100).")
FLAGS.add("--timeout", "MS", type=int64, help="How long a record may wait for others (1000).")
FLAGS.add("--request-required-acks", "ACKS", help="-1 or all, 1, or 0.")
FLAGS.add("--request-timeout-ms", "MS", type=int32, help="How long a request may take (1500).")
FLAGS.add("--metadata-expiry-ms", "MS", type=int64, help="How soon partitions are looked up again (300000).")
FLAGS.add("--max-block-ms", "MS", type=int64, help="How long sending may wait (60000).")
FLAGS.add("--max-memory-bytes", "BYTES", type=int64, help="Of all records that are not sent (33554432).")
FLAGS.add("--max-partition-memory-bytes", "BYTES", type=int32, help="(DEPRECATED) As --batch-size.")
FLAGS.add("--line-reader", "CLASS", default=LINE_READERS[0], help="What takes lines apart: Kafka's own class alone.")
FLAGS.add("--socket-buffer-size", "BYTES", type=int32, help="Of the socket (102400).")
FLAGS.add("--reader-property", "KEY=VALUE", is_repeated=True, help=f"How lines are taken apart: {PROPERTIES}.")
FLAGS.add("--reader-config", "FILE", help="A file of such properties.")
FLAGS.add("--property", "KEY=VALUE", is_repeated=True, help="(DEPRECATED) As --reader-property.")
FLAGS.add("--command-config", "FILE", help="Properties of the producer.")
FLAGS.add("--command-property", "KEY=VALUE", is_repeated=True, help="One such property; counts before the file.")
FLAGS.add("--producer.config", "FILE", help="(DEPRECATED) As --command-config.")
FLAGS.add("--producer-property", "KEY=VALUE", is_repeated=True, help="(DEPRECATED) As --command-property.")


def main(arguments: list[str]) -> int:
    given = FLAGS.read(arguments)
    if given.help:
        raise FlagsError("This tool helps to read data from standard input and publish it to Kafka.")
    if given.version:
        from kafkastore.cli.kafka.run import KAFKA_VERSION, say

        say(KAFKA_VERSION)
        return 0
    FLAGS.require(given, "topic")
    _check_servers(given.bootstrap_server)
    if given.line_reader not in LINE_READERS:
        raise FlagsError(f"--line-reader {given.line_reader} is a class of Java; leave it out, Kafka's own is here")
    from kafkastore.producing.line_parser import LineError, LineParser
    from kafkastore.producing.writer import Writer

    words = choose(given, "reader-property", "property", warning=DEPRECATED.format("property", "reader-property"))
    properties = _properties(given)
    parser = LineParser(properties_of((), "--reader-config", given.reader_config) | pairs(words))
    with Writer(properties, _log_failure) as writer:
        try:
            _send_all(writer, parser, given)
        except LineError as error:
            writer.flush()
            sys.stderr.write(f"{error}\n")
            return 1
        except KeyboardInterrupt:
            writer.flush(INTERRUPTED_S)
            raise
        writer.flush()
    return 1 if given.sync and writer.failed else 0


def _send_all(writer: Writer, parser: LineParser, given: argparse.Namespace) -> None:
    number = 0
    for lines in _lines(sys.stdin.buffer, writer):
        if parser.is_plain and not given.sync:
            writer.send_values(given.topic, lines)
            continue
        rows: list[Row] = []
        try:
            for line in lines:
                number += 1
                key, value, headers = parser.parse(line, number)
                rows.append((key, value, headers, None, None))
        finally:
            _send(writer, given.topic, rows, is_sync=given.sync)
        if given.sync and writer.failed:
            return


def _send(writer: Writer, topic: str, rows: list[Row], *, is_sync: bool) -> None:
    if not is_sync:
        if rows:
            writer.send(topic, rows)
        return
    for row in rows:
        writer.send(topic, [row])
        writer.flush()
        if writer.failed:
            return


def _lines(stream: BinaryIO, writer: Writer) -> Iterator[list[bytes]]:
    """The lines; before each one that is typed a prompt. What was sent is on its way while the next is waited for."""
    from kafkastore.producing.lines import chunks_of_lines

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield from chunks_of_lines(stream)
        return
    while True:
        sys.stdout.write(">")
        sys.stdout.flush()
        line = stream.readline()
        if not line:
            return
        yield [line.removesuffix(b"\n").removesuffix(b"\r")]
        writer.flush()


def _log_failure(delivery: Delivery) -> None:
    from kafkastore.cli.kafka.run import log_error

    if delivery.error is None:
        return
    log_error(
        f"Error when sending message to topic {delivery.topic}: {delivery.count} records of {delivery.bytes} bytes "
        f"with error: {delivery.error}: {delivery.message}",
        LOGGER,
    )


# ---- the command line


def _check_servers(servers: str | None) -> None:
    """Raises FlagsError, with Kafka's sentences."""
    if servers is None or not servers.strip():
        raise FlagsError("Error while validating the bootstrap address\n")
    if not all(server.rpartition(":")[2].isdigit() and ":" in server for server in servers.split(",")):
        raise FlagsError("Please provide valid host:port like host1:9091,host2:9092\n")


def _properties(given: argparse.Namespace) -> dict[str, str]:
    words = choose(
        given,
        "command-property",
        "producer-property",
        warning=DEPRECATED.format("producer-property", "command-property"),
    )
    path = choose(
        given, "command-config", "producer.config", warning=DEPRECATED.format("producer.config", "command-config")
    )
    if given.max_partition_memory_bytes is not None:
        sys.stdout.write(
            "Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache Kafka 5.0. Use "
            "--batch-size instead.\n"
        )
    properties = properties_of((), "--command-config", path) | pairs(words)
    for flag, (key, default) in OF_PRODUCER.items():
        if is_given(given, flag):
            properties[key] = str(getattr(given, flag.replace("-", "_")))
        else:
            properties.setdefault(key, str(default))
    properties["bootstrap.servers"] = given.bootstrap_server
    properties["compression.type"] = _codec(given)
    properties.setdefault("client.id", "console-producer")
    return properties


def _codec(given: argparse.Namespace) -> str:
    if not is_given(given, "compression-codec"):
        return "none"
    codec: str = given.compression_codec
    return codec or "gzip"
