"""The question before something that cannot be undone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable


def yes_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--yes``, which becomes ``is_confirmed``."""
    return click.option("-y", "--yes", "is_confirmed", is_flag=True, help="Ask nothing.")(function)


def confirm(question: str, *, is_confirmed: bool) -> None:
    """Asks on a terminal, unless it is confirmed; a no ends the command. Raises click.UsageError where nobody can be
    asked."""
    if is_confirmed:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} nobody can be asked, so say it with --yes")
    if not click.confirm(question, err=True):
        click.echo("nothing was done", err=True)
        raise click.exceptions.Exit(1)
