"""Times and durations on a command line, as milliseconds: ISO 8601 as Kafka's tools read it, and shorter words."""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import Final

from kafkastore.errors import ConfigError

DURATION: Final = re.compile(
    r"([+-])?P(?:([+-]?\d+)D)?"
    r"(T(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE,
)
SHORT: Final = re.compile(r"(?:\d{1,20}(?:ms|s|m|h|d|w))+", re.ASCII)
DIGITS: Final = re.compile(r"\d{1,20}", re.ASCII)
LAST_MS: Final = (1 << 63) - 1
UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
ISO: Final = re.compile(r"([^.]+)\.(\d{1,3})(Z|[+-]\d{2}(?::?\d{2})?)?")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def iso_time_ms(text: str) -> int:
    """``2026-01-31T23:59:59.000``, in UTC without a zone, as Kafka's --to-datetime. Raises ConfigError of its
    sentence."""
    if "T" not in text:
        raise ConfigError("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    found = ISO.fullmatch(text)
    moment, millis, zone = found.groups("Z") if found else ("", "0", "Z")
    offset = {1: "+0000", 3: f"{zone}00"}.get(len(zone), zone)
    try:
        parsed = datetime.strptime(f"{moment} {offset}", "%Y-%m-%dT%H:%M:%S %z")
    except ValueError:
        added = "" if re.search("[+Z-]", text.partition("T")[2]) else "Z"
        raise ConfigError(f'Unparseable date: "{text}{added}"') from None
    return round(parsed.timestamp() * 1000) + int(millis)


def iso_duration_ms(text: str) -> int:
    """The time that was so long ago: ``P7DT2H``, as Kafka's --by-duration. Raises ConfigError of its sentence."""
    found = DURATION.fullmatch(text)
    if found is None or text[-1] in "PpTt":
        raise ConfigError("Text cannot be parsed to a Duration")
    sign, days, _, hours, minutes, seconds, fraction = found.groups()
    whole = int(days or 0) * 86_400 + int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    parts = int((fraction or "").ljust(3, "0")[:3])
    long_ms = whole * 1000 + (-parts if (seconds or "").startswith("-") else parts)
    return now_ms() - (-long_ms if sign == "-" else long_ms)


def time_ms(text: str) -> int:
    """Milliseconds since 1970, an ISO 8601 date or time, or how long ago: ``90s``, ``2h30m``, ``7d``. Raises
    ConfigError."""
    found = _time_ms(text)
    if not 0 <= found <= LAST_MS:  # brokers take a negative time for a word, such as the newest offset
        raise ConfigError(f"{text} is {'before 1970' if found < 0 else 'later than any time'}; give another time")
    return found


def _time_ms(text: str) -> int:
    if DIGITS.fullmatch(text):
        return int(text)
    if SHORT.fullmatch(text):
        return now_ms() - duration_ms(text)
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"{text} is no time; write 2026-01-31T12:00:00Z, how long ago it was (90s, 2h30m, 7d), or milliseconds "
            "since 1970"
        ) from None
    return round((parsed if parsed.tzinfo else parsed.astimezone()).timestamp() * 1000)


def duration_ms(text: str) -> int:
    """``90s``, ``2h30m``, ``7d``. Raises ConfigError."""
    if not SHORT.fullmatch(text):
        raise ConfigError(f"{text} is no duration; write it as 90s, 2h30m or 7d")
    found = sum(int(count) * UNITS_MS[unit] for count, unit in re.findall(r"(\d+)(ms|s|m|h|d|w)", text))
    if found > LAST_MS:
        raise ConfigError(f"{text} is longer than any time; give a shorter one")
    return found


def duration_text(seconds: float) -> str:
    """``3d4h``, ``2h10m``, ``1m5s``, ``12s``: the two largest units."""
    left = round(seconds)
    parts: list[tuple[int, str]] = []
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or parts:
            parts.append((count, unit))
    return "".join(f"{count}{unit}" for count, unit in parts[:2] if count) or "0s"
