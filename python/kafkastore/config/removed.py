"""Brokers that were removed from the cluster: ``kafkastore.removed.brokers``, a list in the store that all
brokers know.

No request places replicas on a removed broker until it is taken out of the list. The replicas that it has stay until
they are moved.
"""

from __future__ import annotations

from typing import Final

from kafkastore.errors import ConfigError

REMOVED_KEY: Final = "kafkastore.removed.brokers"

LARGEST_ID: Final = 2**31 - 1


def parse_removed(text: str | None) -> frozenset[int]:
    """The broker ids in the value of the key. Raises ConfigError."""
    items = [item.strip() for item in (text or "").split(",")]
    for item in items:
        if item and not (item.isascii() and item.isdigit() and len(item) <= 10 and int(item) <= LARGEST_ID):
            raise ConfigError(
                f"Invalid value {text} for configuration {REMOVED_KEY}: {item} is no broker id; give ids, separated by "
                "commas"
            )
    return frozenset(int(item) for item in items if item)


def refusal(broker: int) -> str:
    """The message that refuses an assignment to a removed broker."""
    return f"The assignment includes broker {broker}, which was removed from the cluster ({REMOVED_KEY})."
