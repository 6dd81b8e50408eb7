"""The keys that limit connections: which may stand for one listener, and ``max.connections.per.ip.overrides``.

Never: looks a host up; the data plane does (``rust/broker/options/connections.rs``).
"""

from __future__ import annotations

from typing import Final

from kafkastore.errors import ConfigError

OVERRIDES_KEY: Final = "max.connections.per.ip.overrides"

LISTENER_LIMITS: Final = frozenset(["max.connections", "max.connection.creation.rate"])
"""Keys that ``listener.name.<listener>.`` may stand before."""


def check_overrides(text: str) -> None:
    """Raises ConfigError unless ``text`` is a list of host:count."""
    for part in filter(None, (one.strip() for one in text.split(","))):
        host, colon, count = part.rpartition(":")
        if not colon or not host.strip() or not count.strip().isascii() or not count.strip().isdigit():
            raise ConfigError(
                f"Invalid value {text} for configuration {OVERRIDES_KEY}: {part} is not host:count, as in 127.0.0.1:20"
            )


def check_listener_limit(listener: str, name: str, value: str) -> None:
    """Raises ConfigError unless ``value`` is a number that the key may have."""
    least = 0 if name == "max.connections" else 1
    if not value.strip().isascii() or not value.strip().isdigit() or int(value) < least:
        raise ConfigError(
            f"Invalid value {value} for configuration listener.name.{listener}.{name}: Value must be at least {least}"
        )
