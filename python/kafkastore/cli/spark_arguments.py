"""What the verbs of ``kafkastore spark`` share about their command lines: their options, and how bounds are written.

Checks text; looks at no log and starts nothing. A mistake is a click.UsageError of one sentence.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from kafkastore.cli.option_types import PAIR, OptionType, moment_of
from kafkastore.cli.progress import progress_option
from kafkastore.cli.scan_options import bounds_options

if TYPE_CHECKING:
    from collections.abc import Callable

    Decorated = Callable[..., Any]


@dataclass(frozen=True)
class SparkArguments:
    """What all verbs share. ``kafka`` has the keys of ``--command-config`` as options of the source; ``options`` are
    those of ``--option``; ``own`` has the verb's own."""

    log_dirs: tuple[str, ...]
    topics: tuple[str, ...]
    pattern: str | None
    bootstrap_server: str | None
    kafka: dict[str, str] = field(repr=False)
    options: dict[str, str]
    master: str | None
    conf: dict[str, str]
    is_json: bool
    shows_progress: bool
    own: dict[str, Any] = field(default_factory=dict)

    def source_options(self) -> dict[str, str]:
        """The options of ``format("kafkastore")``."""
        found = {"path": ",".join(self.log_dirs), **self.broker_options()}
        if self.topics:
            found["subscribe"] = ",".join(self.topics)
        if self.pattern is not None:
            found["subscribePattern"] = self.pattern
        return {**found, **self.options}

    def broker_options(self) -> dict[str, str]:
        """Those of them that say how brokers are reached."""
        if self.bootstrap_server is None:
            return {}
        return {"kafka.bootstrap.servers": self.bootstrap_server, **self.kafka}

    def need_topic(self) -> None:
        """Raises UsageError unless the command line says in one way which topics."""
        ways = [bool(self.topics), self.pattern is not None, bool({"assign", "subscribe"} & self.options.keys())]
        if sum(ways) != 1:
            raise click.UsageError("give either --topic NAME, once or more often, or --topic-pattern REGEX")


def spark_options(function: Decorated) -> Decorated:
    """Adds what all verbs have; the command gets the SparkArguments alone."""

    @click.argument("log_dirs", metavar="DIR...", nargs=-1, type=click.Path())
    @click.option("--topic", "topics", metavar="NAME", multiple=True, help="A topic; may be given again (verify: one).")
    @click.option(
        "--topic-pattern", "pattern", metavar="REGEX", help="The topics whose whole name matches (not verify, stats)."
    )
    @bounds_options
    @click.option(
        "--option",
        "options",
        type=PAIR,
        multiple=True,
        help='An option of Spark\'s source format("kafkastore"); may be given again (not verify).',
    )
    @click.option("--master", metavar="URL", help="Where Spark runs.  [default: local[*]]")
    @click.option("--conf", type=PAIR, multiple=True, help="A configuration of Spark; may be given again.")
    @click.option("--json", "is_json", is_flag=True, help="One JSON object a line.")
    @progress_option
    @wraps(function)
    def with_arguments(**given: Any) -> Any:
        return function(arguments_of(**given))

    return with_arguments


def arguments_of(
    *,
    log_dirs: tuple[str, ...],
    topics: tuple[str, ...],
    pattern: str | None,
    bootstrap_server: str | None,
    command_config: str | None,
    options: tuple[tuple[str, str], ...],
    master: str | None,
    conf: tuple[tuple[str, str], ...],
    is_json: bool,
    shows_progress: bool,
    **own: Any,
) -> SparkArguments:
    """Of the values of the options. Raises UsageError."""
    if not log_dirs:
        raise click.UsageError("no directory is given; name the entries of log.dirs")
    return SparkArguments(
        log_dirs=log_dirs,
        topics=tuple(name.strip() for text in topics for name in text.split(",") if name.strip()),
        pattern=pattern,
        bootstrap_server=bootstrap_server,
        kafka=kafka_of(command_config),
        options=dict(options),
        master=master,
        conf=dict(conf),
        is_json=is_json,
        shows_progress=shows_progress and not is_json,
        own=own,
    )


def kafka_of(command_config: str | None) -> dict[str, str]:
    """The options of source and sink that a ``client.properties`` stands for. Raises UsageError."""
    from kafkastore.cli.scan_sentences import option_names
    from kafkastore.errors import ConfigError
    from kafkastore.interbroker.command_config import spark_options

    if command_config is None:
        return {}
    try:
        return spark_options(command_config)
    except ConfigError as error:
        raise click.UsageError(option_names(error.client_message)) from None


class _Time(OptionType):
    """A TIME as ms since the epoch, rounded up."""

    name = "TIME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from kafkastore.scanning.bounds import as_timestamp_ms

        try:
            return as_timestamp_ms(self.name, moment_of(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Bound(OptionType):
    """``earliest``, ``latest``, a TIME or JSON of offsets, as the source's options. A start after the last record reads
    nothing."""

    name = "bound"

    def __init__(self, side: Literal["starting", "ending"]) -> None:
        self._side = side

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str]:
        if value in ("earliest", "latest"):
            return {f"{self._side}Offsets": value}
        if value.startswith("{"):
            try:
                json.loads(value)
            except ValueError:
                self.fail(f'{value} is no JSON; write it as {{"topic":{{"0":23,"1":-2}}}}', param, ctx)
            return {f"{self._side}Offsets": value}
        bound = {f"{self._side}Timestamp": str(TIME.convert(value, param, ctx))}
        return bound | ({"startingOffsetsByTimestampStrategy": "latest"} if self._side == "starting" else {})


TIME: Final = _Time()
