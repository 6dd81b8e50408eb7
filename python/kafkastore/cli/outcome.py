"""How a command ends that was not done, or not all of it: sentences on stderr, exit status 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkastore.cli.output import printable
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping


class FailedError(Exception):
    """Why the command failed, one sentence, and its exit status."""

    def __init__(self, sentence: object, status: int = 1) -> None:
        super().__init__(str(sentence))
        self.status = status


class RefusedError(Exception):
    """Something was refused, and the sentences are written: the exit status is 1."""


def fail_if_refused(refused: Mapping[str, object]) -> None:
    """Writes ``name: reason`` for each, and raises RefusedError if there is one."""
    for name, reason in refused.items():
        is_missing = getattr(reason, "code", None) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        sentence = "there is no such topic or partition" if is_missing else str(reason)
        click.echo(f"{printable(name)}: {printable(sentence)}", err=True)
    if refused:
        raise RefusedError
