"""What configurations are called here: kinds of resources, and where a value comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from kafkastore.admin.configs import ConfigResource

KINDS: Final = {"topic": 2, "broker": 4, "broker-logger": 8, "client-metrics": 16, "group": 32}
"""Kafka's numbers of resource types."""
DEFAULT: Final = "default"
"""The name of all brokers together."""

SOURCES: Final = {
    1: "topic",
    2: "broker",
    3: "all brokers",
    4: "server.properties",
    5: "default",
    6: "logger",
    7: "client metrics",
    8: "group",
}


def source_in_words(source: int) -> str:
    return SOURCES.get(source, "unknown")


def resource_of(kind: str, name: str) -> ConfigResource:
    """Raises click.UsageError for what can be no broker."""
    from kafkastore.admin.configs import BROKER, BROKER_LOGGER, ConfigResource

    number = KINDS[kind]
    if number == BROKER and name == DEFAULT:
        return ConfigResource(number, "")
    if number in (BROKER, BROKER_LOGGER) and not (name.isascii() and name.isdigit()):
        raise click.UsageError(f"{name} is no broker; give its node id, or {DEFAULT} for what counts for all brokers")
    return ConfigResource(number, name)


def name_of(resource: ConfigResource) -> str:
    return resource.name or DEFAULT
