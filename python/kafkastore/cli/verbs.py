"""Commands with verbs, each for the broker of one server.properties: ``kafkastore metadata`` and ``kafkastore stray``.

Never knows what a verb does.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.cli.broker import parse_arguments
from kafkastore.cli.usage import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafkastore.config import BrokerConfig


class Verb(NamedTuple):
    """``run`` gets the configuration and the operand, "" without one. ``operand`` is the usage's name of the argument
    that the verb needs before server.properties."""

    run: Callable[[BrokerConfig, str], int]
    operand: str = ""


def run_verb(verbs: Mapping[str, Verb], arguments: list[str]) -> int:
    """Runs a verb. Returns its exit status; 1 when it raised a KafkastoreError, printed on stderr. Raises
    UsageError."""
    from kafkastore.errors import KafkastoreError

    verb, operand, path, overrides = _parse(verbs, arguments)
    try:
        from kafkastore.config import BrokerConfig

        return verb.run(BrokerConfig.load(path, overrides, is_start=False), operand)
    except KafkastoreError as error:
        sys.stderr.write(f"kafkastore: {error}\n")
        return 1


def _parse(verbs: Mapping[str, Verb], arguments: list[str]) -> tuple[Verb, str, str | None, list[str]]:
    """(verb, operand, path of the properties file or None, overrides). Raises UsageError."""
    name, *remaining = arguments
    verb = verbs.get(name)
    if verb is None:
        raise UsageError(f"there is no command {name}")
    operand = ""
    if verb.operand:
        if not remaining or remaining[0].startswith("-"):
            raise UsageError(f"{name} needs a {verb.operand}")
        operand, *remaining = remaining
    return verb, operand, *parse_arguments(remaining)
