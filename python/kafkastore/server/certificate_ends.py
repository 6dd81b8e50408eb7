"""When certificates of listeners end, said in time: in the log, by ``kafkastore security doctor``, in the metrics."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from kafkastore._core import StartError, certificate_ends

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Ends = list[tuple[str, str, int]]
    """("ssl.keystore" or "ssl.truststore", subject, end in seconds since 1970)"""

logger = logging.getLogger("kafkastore.server.certificate_ends")

DAY_S: Final = 86_400

WARNED_DAYS: Final = (0, 1, 7, 30)
"""A certificate is named once when it has so many days left."""


def read_ends(settings: Mapping[str, str]) -> Ends:
    """Of the ``ssl.*`` settings of a listener; none when they cannot be read, which who opens the listener says."""
    try:
        return certificate_ends(settings)
    except StartError:
        return []


def sentences(listener: str, ends: Ends, now_s: float) -> Iterator[tuple[str, int]]:
    """(sentence, the number of :data:`WARNED_DAYS` that it has come to) of each certificate that has ended or has few
    days left."""
    from datetime import UTC, datetime

    for key, subject, ends_s in ends:
        left_s = ends_s - now_s
        level = next((days for days in WARNED_DAYS if left_s <= days * DAY_S), None)
        if level is None:
            continue
        date = datetime.fromtimestamp(ends_s, UTC).strftime("%Y-%m-%d %H:%M")
        what = "clients refuse it" if key == "ssl.keystore" else "what it has signed is refused"
        when = f"has ended on {date} UTC" if left_s <= 0 else f"ends on {date} UTC, in {_days(int(left_s // DAY_S))}"
        then = what if left_s <= 0 else f"then {what}"
        yield f"listener {listener}: the certificate {subject} of {key} {when}; {then}: renew it", level


def _days(count: int) -> str:
    return {0: "less than a day", 1: "1 day"}.get(count, f"{count} days")


class EndWarnings:
    """Logs each sentence once; ``ends`` has what was read of each listener last."""

    def __init__(self) -> None:
        self.ends: dict[str, Ends] = {}
        self._said: dict[tuple[str, str, str, int], int] = {}

    def note(self, listener: str, settings: Mapping[str, str]) -> None:
        """Reads the certificates of a listener, which may have changed."""
        self.ends[listener] = read_ends(settings)
        self.look()

    def look(self) -> None:
        now_s = time.time()
        for listener, ends in self.ends.items():
            for key, subject, ends_s in ends:
                for sentence, level in sentences(listener, [(key, subject, ends_s)], now_s):
                    if self._said.get((listener, key, subject, ends_s)) != level:
                        self._said[listener, key, subject, ends_s] = level
                        logger.warning("%s", sentence)

    def earliest(self) -> dict[tuple[str, str], int]:
        """By (listener, "keystore" or "truststore"), in seconds since 1970."""
        found: dict[tuple[str, str], int] = {}
        for listener, ends in self.ends.items():
            for key, _, ends_s in ends:
                store = listener, key.removeprefix("ssl.")
                found[store] = min(ends_s, found.get(store, ends_s))
        return found
