"""The keys that limit connections: which may stand for one listener, and ``max.connections.per.ip.overrides``.

Never: looks a host up (``configuration/hosts.py``).
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
        host = host.removeprefix("[").removesuffix("]")
        is_number = count.isascii() and count.isdigit() and len(count) <= MAX_DIGITS
        if not host or not is_number or int(count) > MAX_COUNT:
            raise ConfigError(
                f"Invalid value {text} for configuration {OVERRIDES_KEY}: {part} is not host:count, as in 127.0.0.1:20"
            )
        found.append((host, int(count)))
    return found


def check_listener_limit(listener: str, name: str, value: str) -> None:
    """Raises ConfigError unless ``value`` is a number that the key may have."""
    least = 0 if name == "max.connections" else 1
    if not value.strip().isascii() or not value.strip().isdigit() or int(value) < least:
        raise ConfigError(
            f"Invalid value {value} for configuration listener.name.{listener}.{name}: Value must be at least {least}"
        )
