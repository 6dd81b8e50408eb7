"""``--watch``: a command that shows something shows it again and again, until Ctrl-C."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.option_types import Seconds

if TYPE_CHECKING:
    from collections.abc import Callable


def watch_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--watch`` to a command, which gets ``watch``: seconds, or None."""
    return click.option(
        "--watch", type=Seconds(min=0.1), metavar="SECONDS", help="Show it again every so many seconds."
    )(function)


def shown_again(show: Callable[[], None], seconds: float | None) -> None:
    """Once, or for ever; a terminal is cleared before each time."""
    while True:
        if seconds is not None and sys.stdout.isatty():
            click.clear()
        show()
        if seconds is None:
            return
        sys.stdout.flush()
        time.sleep(seconds)
