"""The keys of a subscription to clients' metrics (KIP-714), and what they may be."""

from __future__ import annotations

from re import _parser, error  # type: ignore[attr-defined]  # to read an expression, which costs little
from typing import TYPE_CHECKING, Final

from kafkastore.config.definitions import ConfigKey
from kafkastore.errors import ConfigError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

SUBSCRIPTION_KEYS: Final = {
    name: ConfigKey(name, kind, default, "", "cluster-wide", is_internal=False)
    for name, kind, default in (("interval.ms", "int", "300000"), ("match", "list", ""), ("metrics", "list", ""))
}

_SHORTEST_MS, _LONGEST_MS = 100, 3_600_000
_LONGEST_MATCH: Final = 10_000
"""Characters: reading expressions of more would hold up the loop."""
_MATCHED: Final = frozenset(
    (
        "client_id",
        "client_instance_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    )
)


def validate_subscription(overrides: Mapping[str, str]) -> None:
    """Raises InvalidRequestError, or ConfigError for a value that is none of its kind, with Kafka's messages."""
    for name, value in overrides.items():
        key = SUBSCRIPTION_KEYS.get(name)
        if key is None:
            raise InvalidRequestError(f"Unknown client metrics configuration: {name}")
        parsed = key.parse(value)
        if name == "interval.ms" and not _SHORTEST_MS <= parsed <= _LONGEST_MS:
            raise InvalidRequestError(
                f"Invalid value {parsed} for interval.ms, interval must be between {_SHORTEST_MS} and {_LONGEST_MS} "
                "(1 hour)"
            )
        if name == "match":
            if len(value) > _LONGEST_MATCH:
                raise ConfigError(f"The client matching pattern has more than {_LONGEST_MATCH} characters")
            for pattern in parsed:
                _check_pattern(pattern)


def _check_pattern(pattern: str) -> None:
    """``client_id=<regular expression>``. Java's expressions and Python's differ in details that clients' names do not
    need. The expression is read and not made ready for use: that may take seconds, of a few thousand characters."""
    name, equals, expression = pattern.partition("=")
    try:
        is_legal = bool(equals) and "=" not in expression and name.strip() in _MATCHED
        _parser.parse(expression.strip())
    except (error, RecursionError, OverflowError):
        is_legal = False
    if not is_legal:
        raise ConfigError(f"Illegal client matching pattern: {pattern}")
