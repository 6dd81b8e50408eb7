"""Partitions on a command line: ``topic`` for all of a topic, ``topic:0,2`` for some. Nothing here connects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkastore.errors import ConfigError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkastore.admin.admin_client import AdminClient, Partition


MOST_DIGITS = 20
"""Of what can be a number of a partition."""


class TopicPartitions(NamedTuple):
    """``numbers`` is None for all."""

    topic: str
    numbers: tuple[int, ...] | None


def topic_partitions(given: str) -> TopicPartitions:
    """Raises ConfigError of Kafka's sentence."""
    if ":" not in given:
        return TopicPartitions(given, None)
    topic, _, numbers = given.partition(":")
    if not topic or not numbers or ":" in numbers:
        raise ConfigError(f"Invalid topic arg '{given}', expected topic name and partitions")
    return TopicPartitions(topic, tuple(_number(one, given) for one in numbers.split(",")))


def _number(text: str, given: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
        raise ConfigError(f"Invalid partition '{text}' specified in topic arg '{given}''")
    return int(text)


async def partitions_of(
    client: AdminClient, given: Iterable[TopicPartitions], *, names_topic: bool = True
) -> list[Partition]:
    """The partitions themselves, each once. Raises ConfigError for a topic that is not described, or the KafkaError as
    it is, which does not name the topic."""
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.topics import describe_topics

    asked = list(given)
    whole = [one.topic for one in asked if one.numbers is None]
    described = await describe_topics(client, whole) if whole else {}
    found: list[Partition] = []
    for topic, numbers in asked:
        if numbers is None:
            description = described[topic]
            if isinstance(description, KafkaError):
                is_missing = description.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                sentence = "there is no such topic" if is_missing else description
                raise ConfigError(f"{topic}: {sentence}") if names_topic else description
            numbers = tuple(one.number for one in description.partitions)  # noqa: PLW2901 - all of them
        found += [(topic, number) for number in numbers]
    return list(dict.fromkeys(found))
