"""Log lines that clients cause: at most so many a second in all, the rest counted, and what clients wrote is cut.

Place: under everything; ``server/broker.py`` puts :data:`LIMIT` on the loggers of what serves clients
(:data:`LIMITED`). The data plane keeps the same rule for its own lines (``Broker::log`` in ``rust/broker/state.rs``),
which come through one of these loggers. Invariants: a line of another logger is never held back. A text that is shown
has at most :data:`SHOWN_CHARACTERS` characters and none that a terminal obeys. Never: changes what a line says beyond
that, holds lines back for later.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LINES_A_SECOND: Final = 20
"""As in the data plane."""

SHOWN_CHARACTERS: Final = 100
SHOWN_MESSAGE_CHARACTERS: Final = 400
"""Of a name; of an exception's sentence, which may have one in it."""

LIMITED: Final = (
    "kafkastore.controller.topics",
    "kafkastore.coordinator.group",
    "kafkastore.coordinator.runtime",
    "kafkastore.handlers.config_changes",
    "kafkastore.handlers.coordinators_topic",
    "kafkastore.handlers.metadata",
    "kafkastore.net",
    "kafkastore.replica.log_dir_moves",
    "kafkastore.requests.forwarding",
    "kafkastore.server.kafka_apis",
)

logger = logging.getLogger("kafkastore.client_log")


def shown(text: str, characters: int = SHOWN_CHARACTERS) -> str:
    """What is logged of a text that a client wrote."""
    cut = text if len(text) <= characters else f"{text[:characters]}... ({len(text)} characters)"
    if cut.isprintable():
        return cut
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in cut)


class Limit(logging.Filter):
    """One for all loggers that it is put on."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self.reset()

    def reset(self) -> None:
        self._since = self._now()
        self._lines = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if self._now() - self._since >= 1:
            left_out = self._lines - LINES_A_SECOND
            self.reset()
            if left_out > 0:
                logger.warning("%d more lines about requests of clients were left out", left_out)
        self._lines += 1
        if self._lines > LINES_A_SECOND:
            return False
        if isinstance(record.args, tuple):
            record.args = tuple(_cut(one) for one in record.args)
        return True


LIMIT: Final = Limit()


def install() -> None:
    """May be called again."""
    for name in LIMITED:
        logging.getLogger(name).addFilter(LIMIT)


def _cut(argument: Any) -> Any:
    if isinstance(argument, str):
        return shown(argument, SHOWN_MESSAGE_CHARACTERS if " " in argument else SHOWN_CHARACTERS)
    if isinstance(argument, Exception):
        return shown(str(argument), SHOWN_MESSAGE_CHARACTERS)
    return argument
