"""How a process ends that is told to: at once, where threads cannot be ended, or with what is open closed."""

from __future__ import annotations

import logging
import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from kafkastore.cli.main import ENDED_BY_SIGNAL

if TYPE_CHECKING:
    from collections.abc import Iterator


def end_at_once(status: int) -> NoReturn:
    """Writes out the log and ends the process."""
    logging.shutdown()
    os._exit(status)


class TerminatedError(BaseException):
    """SIGTERM came: what is open is closed on the way out."""


@contextmanager
def terminated_as_error() -> Iterator[None]:
    """Within it SIGTERM ends the work as Ctrl-C does; the process ends with the status that a shell gives to the
    signal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise TerminatedError

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except TerminatedError:
        raise SystemExit(ENDED_BY_SIGNAL + signal.SIGTERM) from None
    finally:
        signal.signal(signal.SIGTERM, before)
