"""``kafka-get-offsets``: the first, the last, or the offsets of a time of partitions, a line ``topic:partition:offset``
for each."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.cli.kafka.flags import Flags, FlagsError, int64, split_list
from kafkastore.cli.kafka.run import KAFKA_VERSION, ask, java_text, say
from kafkastore.errors import ConfigError, KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Collection

    from kafkastore.admin.admin_client import AdminClient, Partition

PURPOSE: Final = "An interactive shell for getting topic-partition offsets."
WORDS: Final = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
TIMES: Final = " / ".join(f"{number} or {word}" for word, number in WORDS.items())
PATTERN: Final = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
SERVER: Final = re.compile(r".*?\[?[0-9a-zA-Z\-%._:]*\]?:[0-9]+")
UNKNOWN_OFFSET: Final = -1


def _flags() -> Flags:
    flags = Flags("kafka-get-offsets", PURPOSE)
    flags.add("--bootstrap-server", "HOST1:PORT1,...,HOST3:PORT3", help="REQUIRED: brokers to begin with.")
    flags.add("--command-config", "config file", help="A client.properties.")
    flags.add("--topic", "topic", help="A topic, or a regular expression; all without it.")
    flags.add("--partitions", "partition ids", help="Numbers by comma; all without it.")
    flags.add("--topic-partitions", "topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3", help="Topics and partitions.")
    flags.add("--time", "time", default="latest", help=f"A timestamp in ms, or {TIMES}. [latest]")
    flags.add("--exclude-internal-topics", is_switch=True, help="Without the topics of the brokers themselves.")
    return flags


FLAGS: Final = _flags()


class Rule(NamedTuple):
    """Partitions of the topics that match as a whole: some numbers, or those from ``first`` to before ``end``."""

    topic: re.Pattern[str]
    numbers: Collection[int] = ()
    first: int = 0
    end: int | None = None

    def takes(self, topic: str, number: int) -> bool:
        if not self.topic.fullmatch(topic):
            return False
        if self.numbers:
            return number in self.numbers
        return self.first <= number and (self.end is None or number < self.end)


def main(arguments: list[str]) -> int:
    try:
        given = FLAGS.read(arguments)
    except FlagsError as error:
        sys.stderr.write(f"Error occurred: {error}\n")
        return 1
    if given.help or not arguments:
        raise FlagsError(PURPOSE)
    if given.version:
        say(KAFKA_VERSION)
        return 0
    FLAGS.require(given, "bootstrap-server")
    if not all(SERVER.fullmatch(one) for one in given.bootstrap_server.split(",")):
        raise FlagsError("Please provide valid host:port like host1:9091,host2:9092\n")
    try:
        rules, time = _rules(given), _time(given.time)
        ask(given.bootstrap_server, given.command_config, lambda client: _print(client, rules, time, given))
    except KafkastoreError as error:
        sys.stderr.write(f"Error occurred: {error}\n")
        return 1
    return 0


async def _print(client: AdminClient, rules: list[Rule], time: int, given: Namespace) -> None:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.offsets import list_offsets
    from kafkastore.admin.topics import all_topics

    partitions: list[Partition] = [
        (name, one.number)
        for name, topic in (await all_topics(client)).items()
        if not (given.exclude_internal_topics and topic.is_internal)
        for one in topic.partitions
        if any(rule.takes(name, one.number) for rule in rules)
    ]
    if not partitions:
        raise ConfigError("Could not match any topic-partitions with the specified filters")
    listed = await list_offsets(client, dict.fromkeys(partitions, time))
    for topic, number in sorted(listed, key=lambda one: f"{one[0]}-{one[1]}"):
        found = listed[topic, number]
        if isinstance(found, KafkaError):
            why = f"Skip getting offsets for topic-partition {topic}-{number} due to error: {java_text(found)}"
            sys.stderr.write(f"{why}\n")
        elif found.offset != UNKNOWN_OFFSET:
            say(f"{topic}:{number}:{found.offset}")


def _rules(given: Namespace) -> list[Rule]:
    """Raises ConfigError for flags that mean nothing."""
    if given.topic_partitions is None:
        return [Rule(_topic(given.topic), _numbers(given.partitions))]
    if given.topic is not None or given.partitions is not None:
        raise ConfigError("--topic-partitions cannot be used with --topic or --partitions")
    return [_rule(one) for one in split_list(given.topic_partitions)]


def _rule(text: str) -> Rule:
    found = PATTERN.fullmatch(text)
    if found is None:
        raise ConfigError(f"Invalid rule specification: {text}")
    topic, number, first, end = found.groups()
    if number:
        return Rule(_topic(topic), (int(number),))
    return Rule(_topic(topic), (), int(first or 0), int(end) if end else None)


def _topic(text: str | None) -> re.Pattern[str]:
    plain = (text or ".*").strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        return re.compile(plain)
    except re.error:
        raise ConfigError(f"{plain} is an invalid regex.") from None


def _numbers(text: str | None) -> list[int]:
    try:
        return [int(one) for one in split_list(text)] if text else []
    except ValueError:
        raise ConfigError(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {text}"
        ) from None


def _time(text: str) -> int:
    try:
        return WORDS[text] if text in WORDS else int64(text)
    except ValueError:
        raise ConfigError(
            f"Malformed time argument {text}. Please use {TIMES}, or a specified long format timestamp"
        ) from None
