"""``kafka-share-groups``: not here; says what shows share groups."""

from __future__ import annotations

from typing import Final

from kafkastore.cli.kafka.flags import Flags
from kafkastore.cli.kafka.run import KAFKA_VERSION, say
from kafkastore.errors import ConfigError

WHY: Final = (
    "kafka-share-groups is not here yet; kafkastore groups list --type share lists the share groups of Apache "
    "Kafka, and kafkastore groups describe shows one"
)
FLAGS: Final = Flags("kafka-share-groups", WHY)


def main(arguments: list[str]) -> int:
    if "--version" in arguments:
        say(KAFKA_VERSION)
        return 0
    raise ConfigError(WHY)
