"""The order in which Java's HashMap keeps things, and Java's way to write a double: Kafka's tools print some things so,
and scripts compare them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

BUCKETS: Final = 16
"""Of a HashMap that is made without a size."""
LOAD: Final = 0.75
_WORD: Final = 0xFFFFFFFF
LEAST_PLAIN, MOST_PLAIN = 1e-3, 1e7
"""Doubles between these are written without an exponent."""


def java_hash(text: str | None) -> int:
    """String.hashCode, as 32 bits; of null 0."""
    code = 0
    raw = (text or "").encode("utf-16-be", "surrogatepass")
    for at in range(0, len(raw), 2):
        code = code * 31 + int.from_bytes(raw[at : at + 2], "big") & _WORD
    return code


def hash_order(names: Iterable[str]) -> list[str]:
    """Names as the keys of a HashMap that has grown."""
    return map_order(names, java_hash)


def map_order(things: Iterable[T], code: Callable[[T], int], buckets: int = BUCKETS) -> list[T]:
    """By bucket, in one bucket as they came."""
    given = list(things)
    while len(given) > buckets * LOAD:
        buckets *= 2
    return sorted(given, key=lambda one: (code(one) ^ code(one) >> 16) & buckets - 1)


def sized(count: int) -> int:
    """The buckets of a HashMap that is made for so many."""
    return 1 << max(count - 1, 0).bit_length()


def java_double(value: float) -> str:
    """Double.toString."""
    if value == 0 or LEAST_PLAIN <= abs(value) < MOST_PLAIN:
        return repr(value)
    digits, exponent = f"{value:.17g}", 0
    for precision in range(1, 18):
        digits, _, power = f"{value:.{precision - 1}e}".partition("e")
        exponent = int(power)
        if float(f"{digits}e{power}") == value:
            break
    return f"{digits if '.' in digits else digits + '.0'}E{exponent}"
