"""The keys that limit connections: which may stand for one listener, and ``max.connections.per.ip.overrides``.

Never: looks a host up (``dynamic_config/hosts.py``).
"""

from __future__ import annotations

from typing import Final

from kafkastore.errors import ConfigError

OVERRIDES_KEY: Final = "max.connections.per.ip.overrides"

LISTENER_LIMITS: Final = frozenset(["max.connections", "max.connection.creation.rate"])
"""Keys that ``listener.name.<listener>.`` may stand before."""


MAX_COUNT: Final = 2**31 - 1
MAX_DIGITS: Final = 10


def parse_overrides(text: str) -> list[tuple[str, int]]:
    """(host, count) of a list of ``host:count``; an IPv6 address may have brackets. Raises ConfigError."""
    found = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        host, _, count = (one.strip() for one in part.rpartition(":"))
        host, number = host.removeprefix("[").removesuffix("]"), _count(count)
        if not host or number is None:
            raise ConfigError(
                f"Invalid value {text} for configuration {OVERRIDES_KEY}: {part} is not host:count, as in 127.0.0.1:20"
            )
        found.append((host, number))
    return found


def check_listener_limit(listener: str, name: str, value: str) -> None:
    """Raises ConfigError unless ``value`` is a number that the key may have."""
    least, number = 0 if name == "max.connections" else 1, _count(value.strip())
    if number is None or number < least:
        raise ConfigError(
            f"Invalid value {value[:100]} for configuration listener.name.{listener}.{name}: Value must be from "
            f"{least} to {MAX_COUNT}"
        )


def _count(text: str) -> int | None:
    if not text.isascii() or not text.isdigit() or len(text) > MAX_DIGITS:
        return None
    return number if (number := int(text)) <= MAX_COUNT else None
