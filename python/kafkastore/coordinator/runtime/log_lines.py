"""Names in log lines: long names that clients chose are cut, and so are long lists of names."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAMES: Final = 8
MAX_NAME_LENGTH: Final = 120


def cut(text: str) -> str:
    return text if len(text) <= MAX_NAME_LENGTH else f"{text[:MAX_NAME_LENGTH]}… ({len(text)} characters)"


def some(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    rest = iter(names)
    shown = ", ".join(cut(name) for name in islice(rest, MAX_NAMES))
    more = sum(1 for _ in rest)
    return f"{shown} and {more} more" if more else shown
