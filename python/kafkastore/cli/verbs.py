"""Commands with verbs, each for the broker of one server.properties: ``kafkastore metadata`` and ``kafkastore stray``.

Never knows what a verb does.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.cli.broker import UsageError, parse_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafkastore.config import BrokerConfig

_HELP = ("-h", "--help")


class Verb(NamedTuple):
    """``run`` gets the configuration and the operand, "" without one. ``operand`` is the usage's name of the argument
    that the verb needs before server.properties."""

    run: Callable[[BrokerConfig, str], int]
    operand: str = ""


def run_verb(command: str, usage: str, verbs: Mapping[str, Verb], arguments: list[str]) -> int:
    """Runs a verb. Returns its exit status; 1 when it raised a KafkastoreError, printed on stderr; 2 for wrong
    usage."""
    if not arguments or arguments[0] in _HELP:
        (sys.stdout if arguments else sys.stderr).write(usage)
        return 0 if arguments else 2
    from kafkastore.errors import KafkastoreError

    try:
        verb, operand, path, overrides = _parse(verbs, arguments)
    except UsageError as error:
        sys.stderr.write(f"kafkastore {command}: {error}\n\n{usage}")
        return 2
    if path == "--help":
        sys.stdout.write(usage)
        return 0
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
    if verb.operand and remaining[:1] not in ([one] for one in _HELP):
        if not remaining or remaining[0].startswith("-"):
            raise UsageError(f"{name} needs a {verb.operand}")
        operand, *remaining = remaining
    return verb, operand, *parse_arguments(remaining)
