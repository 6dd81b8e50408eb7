"""``kafka-console-consumer``: prints the records of topics.

Without a group the partitions are read without one: Kafka's tool joins a group of a random name, which nobody sees but
the brokers.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.cli.kafka.client_flags import choose, pairs, properties_of
from kafkastore.cli.kafka.flags import Flags, FlagsError, int32, int64, is_given

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from kafkastore._core import FetchedRecords
    from kafkastore.cli.kafka.message_formatters import Formatter
    from kafkastore.consuming.readers import Reader

LOGGER: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FOREVER_MS: Final = 3_600_000
TIMEOUT: Final = "\norg.apache.kafka.common.errors.TimeoutException: no record came in time"
"""Scripts look for the exception's name."""
PROPERTIES: Final = """\
print.timestamp, print.key, print.offset, print.epoch, print.partition, print.headers, print.value (true or false),
key.separator, line.separator, headers.separator, null.literal, key.deserializer, value.deserializer,
headers.deserializer"""

FLAGS = Flags("kafka-console-consumer", "Reads topics and prints their records.")
FLAGS.add("--topic", "TOPIC", help="The topic to read.")
FLAGS.add("--include", "REGEX", help="Read the topics whose whole names match.")
FLAGS.add("--partition", "NUMBER", type=int32, help="Read this partition only, from its end without --offset.")
FLAGS.add("--offset", "OFFSET", help="A number, earliest or latest (the default); needs --partition.")
FLAGS.add("--from-beginning", is_switch=True, help="Begin with the first record, not behind the last one.")
FLAGS.add("--max-messages", "NUMBER", type=int32, help="End after so many records.")
FLAGS.add("--timeout-ms", "MS", type=int64, help="End when no record came for so long.")
FLAGS.add("--group", "GROUP", help="Read as a member of this consumer group.")
FLAGS.add("--isolation-level", "LEVEL", default="read_uncommitted", help="read_committed or read_uncommitted.")
FLAGS.add("--formatter", "CLASS", help="How records are printed: a class of Kafka's.")
FLAGS.add("--formatter-property", "KEY=VALUE", is_repeated=True, help=f"{PROPERTIES}.")
FLAGS.add("--formatter-config", "FILE", help="A file of such properties.")
FLAGS.add("--property", "KEY=VALUE", is_repeated=True, help="(DEPRECATED) As --formatter-property.")
FLAGS.add("--key-deserializer", "CLASS", help="A class of Kafka's, such as LongDeserializer with its package.")
FLAGS.add("--value-deserializer", "CLASS", help="The same for values.")
FLAGS.add("--skip-message-on-error", is_switch=True, help="Go on behind a record that cannot be printed.")
FLAGS.add("--enable-systest-events", is_switch=True, help="Print shutdown_complete at the end.")
FLAGS.add("--bootstrap-server", "HOST:PORT,...", help="REQUIRED: brokers to begin with.")
FLAGS.add("--command-config", "FILE", help="Properties of the consumer.")
FLAGS.add("--command-property", "KEY=VALUE", is_repeated=True, help="One such property; counts before the file.")
FLAGS.add("--consumer.config", "FILE", help="(DEPRECATED) As --command-config.")
FLAGS.add("--consumer-property", "KEY=VALUE", is_repeated=True, help="(DEPRECATED) As --command-property.")


class Settings(NamedTuple):
    """The command line, checked. ``start`` of the one partition, where it is named."""

    properties: dict[str, str]
    topic: str | None
    include: str | None
    partition: int | None
    start: int
    most: int | None
    timeout_ms: int
    formatter: Formatter
    skips_errors: bool
    has_events: bool


def main(arguments: list[str]) -> int:
    given = FLAGS.read(arguments)
    if given.help:
        raise FlagsError("This tool helps to read data from Kafka topics and outputs it to standard output.")
    if given.version:
        from kafkastore.cli.kafka.run import KAFKA_VERSION

        sys.stdout.write(f"{KAFKA_VERSION}\n")
        return 0
    settings = _settings(given)
    from kafkastore.cli.ending import terminated_as_error
    from kafkastore.cli.kafka.run import log_error
    from kafkastore.consuming.readers import ReadError

    printer = Printer(settings)
    try:
        with terminated_as_error():
            printer.run()
    except ReadError as error:
        log_error(f"Error processing message, terminating consumer process: {error}", LOGGER)
    except PrintingError as error:
        log_error(f"Unknown error when running consumer: {error}", LOGGER)
        return 1
    finally:
        sys.stderr.write(f"Processed a total of {printer.count} messages\n")
        if settings.has_events:
            sys.stdout.write("shutdown_complete\n")
    return 0


class PrintingError(Exception):
    """A record cannot be printed, which ends the tool: the sentence."""


class Printer:
    """Reads, and prints until there is enough."""

    def __init__(self, settings: Settings) -> None:
        self.count = 0
        self._settings = settings
        sys.stdout.flush()  # what is said of flags stands before the records
        self._out = sys.stdout.buffer

    def run(self) -> None:
        reader = _reader(self._settings)
        is_done = False
        try:
            self._print_all(reader)
            is_done = True
        finally:
            reader.close(is_done=is_done)

    def _print_all(self, reader: Reader) -> None:
        from kafkastore.cli.kafka.run import drop_stdout, log_error
        from kafkastore.consuming.readers import MOST_RECORDS

        most = self._settings.most
        while most is None or self.count < most:
            left = MOST_RECORDS if most is None else min(MOST_RECORDS, most - self.count)
            found = reader.poll(self._settings.timeout_ms, left)
            if not found:
                if self._settings.timeout_ms == FOREVER_MS:
                    continue
                log_error(f"Error processing message, terminating consumer process: {TIMEOUT}", LOGGER)
                return
            try:
                for fetched in found:
                    self._print(fetched)
                self._out.flush()
            except BrokenPipeError:
                sys.stderr.write("Unable to write to standard out, closing consumer.\n")
                drop_stdout()
                return

    def _print(self, fetched: FetchedRecords) -> None:
        whole = self._settings.formatter.whole(fetched)
        if whole is not None:
            self.count += fetched.count
            self._out.write(whole)
            return
        self._out.writelines(self._each(fetched))

    def _each(self, fetched: FetchedRecords) -> Iterator[bytes]:
        from kafkastore.cli.kafka.message_formatters import FormatError
        from kafkastore.cli.kafka.run import log_error

        for record in fetched.records():
            self.count += 1
            try:
                yield self._settings.formatter.one(fetched, record)
            except FormatError as error:
                if not self._settings.skips_errors:
                    raise PrintingError(str(error)) from None
                log_error(f"Error processing message, skipping this message: {error}", LOGGER)


def _reader(settings: Settings) -> Reader:
    import re

    from kafkastore.consuming.readers import GroupReader, TopicReader, Topics

    properties = settings.properties
    try:
        pattern = None if settings.include is None else re.compile(settings.include)
    except re.error as error:
        raise FlagsError(f"--include {settings.include} is no regular expression: {error}") from None
    has_internal = properties.get("exclude.internal.topics", "true").lower() == "false"
    topics = Topics(() if settings.topic is None else (settings.topic,), pattern, has_internal)
    if properties.get("group.id"):
        return GroupReader(properties, topics, warn=_warn)
    topic, partition = settings.topic, settings.partition
    if topic is None or partition is None:
        return TopicReader(properties, topics, warn=_warn)
    return TopicReader(properties, topics, starts=lambda _: {(topic, partition): settings.start}, warn=_warn)


def _warn(sentence: str) -> None:
    from kafkastore.cli.output import printable

    sys.stderr.write(f"WARN {printable(sentence)}\n")


# ---- the command line


def _settings(given: argparse.Namespace) -> Settings:
    from kafkastore.cli.kafka.message_formatters import DEFAULT, PACKAGES, formatter_of

    if is_given(given, "topic") == is_given(given, "include"):
        raise FlagsError("Exactly one of --include/--topic is required. ")
    _check_partition(given)
    FLAGS.require(given, "bootstrap-server")
    properties = _properties(given)
    start = _start(given)
    name = given.formatter or PACKAGES[0] + DEFAULT
    return Settings(
        properties,
        given.topic,
        given.include,
        given.partition,
        start,
        None if given.max_messages in (None, -1) else given.max_messages,
        FOREVER_MS if given.timeout_ms is None or given.timeout_ms < 0 else given.timeout_ms,
        formatter_of(name, _formatter_configs(given), _warn),
        given.skip_message_on_error,
        given.enable_systest_events,
    )


def _check_partition(given: argparse.Namespace) -> None:
    if given.partition is None:
        if given.offset is not None:
            raise FlagsError("The partition is required when offset is specified.")
        return
    if given.topic is None:
        raise FlagsError("The topic is required when partition is specified.")
    if given.from_beginning and given.offset is not None:
        raise FlagsError("Options from-beginning and offset cannot be specified together.")


def _properties(given: argparse.Namespace) -> dict[str, str]:
    old = "Option --{} is deprecated and will be removed in a future version. Use --{} instead."
    words = choose(
        given, "command-property", "consumer-property", warning=old.format("consumer-property", "command-property")
    )
    path = choose(given, "command-config", "consumer.config", warning=old.format("consumer.config", "command-config"))
    of_file = properties_of((), "--command-config", path)
    properties = of_file | pairs(words)
    groups = {one for one in (given.group, of_file.get("group.id"), pairs(words).get("group.id")) if one is not None}
    if len(groups) > 1:
        named = ", ".join(f"'{group}'" for group in sorted(groups))
        raise FlagsError(
            "The group ids provided in different places (directly using '--group', via '--command-property', or via "
            f"'--command-config') do not match. Detected group ids: {named}"
        )
    if groups and given.partition is not None:
        raise FlagsError("Options group and partition cannot be specified together.")
    _set_reset(given, properties)
    properties.setdefault("client.id", "console-consumer")
    _merge(given, properties)
    if groups:
        properties["group.id"] = groups.pop()
    return properties


def _merge(given: argparse.Namespace, properties: dict[str, str]) -> None:
    properties["bootstrap.servers"] = given.bootstrap_server
    if given.isolation_level != "read_uncommitted" or "isolation.level" not in properties:
        properties["isolation.level"] = given.isolation_level


def _set_reset(given: argparse.Namespace, properties: dict[str, str]) -> None:
    reset = properties.get("auto.offset.reset")
    if reset is None:
        properties["auto.offset.reset"] = "earliest" if given.from_beginning else "latest"
    elif given.from_beginning and reset != "earliest":
        raise FlagsError(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', please remove one option"
        )


def _start(given: argparse.Namespace) -> int:
    from kafkastore.admin.offsets import EARLIEST, LATEST

    text = given.offset
    if text is None:
        return EARLIEST if given.from_beginning else LATEST
    named = {"earliest": EARLIEST, "latest": LATEST}.get(text.lower())
    if named is not None:
        return named
    try:
        if text.isdigit():
            return int64(text)
    except ValueError:
        pass
    raise FlagsError(
        f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a "
        "non-negative long."
    )


def _formatter_configs(given: argparse.Namespace) -> Mapping[str, str]:
    words = choose(
        given,
        "formatter-property",
        "property",
        warning="Option --property is deprecated and will be removed in a future version. Use --formatter-property "
        "instead.",
    )
    deserializers = {
        f"{what}.deserializer": name
        for what, name in (("key", given.key_deserializer), ("value", given.value_deserializer))
        if name
    }
    return properties_of((), "--formatter-config", given.formatter_config) | deserializers | pairs(words)
