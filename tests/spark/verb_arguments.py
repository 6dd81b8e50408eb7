"""What a verb of ``kafkastore spark`` makes of its command line, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.cli.spark_arguments import SparkArguments, arguments_of

if TYPE_CHECKING:
    import click


def parsed(verb: click.Command, *given: str) -> SparkArguments:
    values = verb.make_context(verb.name, list(given)).params
    del values["no_progress"]
    return arguments_of(shows_progress=False, **values)
