"""What a command line of ``kafka-configs`` asks for."""

from __future__ import annotations

from typing import NamedTuple

from kafkastore.errors import KafkastoreError


class ConfigCommandError(KafkastoreError):
    """A command that means nothing: its sentence alone goes to stderr, exit status 1."""


class Entity(NamedTuple):
    """``name``: None for all of the type, "" for its default."""

    type: str
    name: str | None


class ConfigCommand(NamedTuple):
    """What is to be set and removed, for a change; ``is_all`` for a description."""

    entities: list[Entity]
    added: dict[str, str]
    removed: list[str]
    is_all: bool

    @property
    def types(self) -> list[str]:
        return [one.type for one in self.entities]
