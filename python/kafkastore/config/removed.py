"""Brokers that were removed from the cluster (spec R1.4): ``kafkastore.removed.brokers``, a list in the store that all
brokers know.

Nothing is placed on them, by whatever request, until they are taken out of the list; what they hold stays until it is
moved.
"""

from __future__ import annotations

from typing import Final

from kafkastore.errors import ConfigError

REMOVED_KEY: Final = "kafkastore.removed.brokers"

LARGEST_ID: Final = 2**31 - 1


def parse_removed(text: str | None) -> frozenset[int]:
    """Raises ConfigError."""
    items = [item.strip() for item in (text or "").split(",")]
    for item in items:
        if item and not (item.isascii() and item.isdigit() and len(item) <= 10 and int(item) <= LARGEST_ID):
            raise ConfigError(
                f"Invalid value {text} for configuration {REMOVED_KEY}: {item} is no broker id; give ids, separated by "
                "commas"
            )
    return frozenset(int(item) for item in items if item)


def refusal(broker: int) -> str:
    """Why nothing is placed there."""
    return f"The assignment includes broker {broker}, which was removed from the cluster ({REMOVED_KEY})."
