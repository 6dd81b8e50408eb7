"""``kafka-streams-groups``: not here; says what shows streams groups."""

from __future__ import annotations

from typing import Final

from kafkastore.cli.kafka.flags import Flags
from kafkastore.cli.kafka.run import KAFKA_VERSION, say
from kafkastore.errors import ConfigError

WHY: Final = (
    "kafka-streams-groups is not here yet; kafkastore groups list --type streams lists the streams groups of Apache "
    "Kafka, and kafkastore groups describe shows one"
)
FLAGS: Final = Flags("kafka-streams-groups", WHY)


def main(arguments: list[str]) -> int:
    if "--version" in arguments:
        say(KAFKA_VERSION)
        return 0
    raise ConfigError(WHY)
