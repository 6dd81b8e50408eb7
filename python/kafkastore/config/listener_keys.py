"""Keys that are set for one listener: ``listener.name.<listener>.<key>``, the listener's name in lower case (KIP-103).

Never: decides what a value means (``tls.py``, ``sasl.py``, ``connection_limits.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.config import sasl, tls
from kafkastore.config.connection_limits import LISTENER_LIMITS

if TYPE_CHECKING:
    from collections.abc import Mapping

LISTENER_PREFIX: Final = "listener.name."


def listener_key(name: str) -> tuple[str, str] | None:
    """(listener in lower case, key) of ``listener.name.<listener>.<key>`` when the key may be set for a listener."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    listener, _, key = name.removeprefix(LISTENER_PREFIX).partition(".")
    is_known = key in tls.SERVED or key in tls.IDLE or sasl.is_of_listeners(key) or key in LISTENER_LIMITS
    return (listener, key) if is_known else None


def of_listeners(properties: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The keys set for one listener alone, by listener in lower case."""
    found: dict[str, dict[str, str]] = {}
    for name, value in properties.items():
        if (parts := listener_key(name)) is not None:
            found.setdefault(parts[0], {})[parts[1]] = value
    return found
