"""How a command of several things ends when some were refused: a sentence for each on stderr, exit status 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkastore.cli.output import printable

if TYPE_CHECKING:
    from collections.abc import Mapping


class RefusedError(Exception):
    """Something was refused, and the sentences are written: the exit status is 1."""


def fail_if_refused(refused: Mapping[str, object]) -> None:
    """Writes ``name: reason`` for each, and raises RefusedError if there is one."""
    for name, reason in refused.items():
        click.echo(f"{printable(name)}: {printable(str(reason))}", err=True)
    if refused:
        raise RefusedError
