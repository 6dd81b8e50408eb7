"""The command lines of ``kafkastore spark``: what all its commands share, and how values are written.

Checks text; looks at no file and starts nothing. A mistake is a UsageError of one sentence.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from kafkastore.cli.arguments import Parser
from kafkastore.cli.usage import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

UNITS: Final = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class SparkArguments:
    """What all commands share. ``kafka`` has the keys of ``--command-config`` as options of the source; ``options`` are
    those of ``--option``; ``own`` has the command's own arguments."""

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
        """The options of ``format("kafkastore")``. Raises UsageError without topics."""
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


def parse(command: str, add_arguments: Callable[[argparse.ArgumentParser], None], given: list[str]) -> SparkArguments:
    """Parses the command line of a command. Raises UsageError."""
    parser = Parser(f"spark {command}", "; see kafkastore spark --help")
    parser.add_argument("log_dirs", nargs="*", metavar="DIR")
    parser.add_argument("--topic", dest="topics", action="append", default=[])
    parser.add_argument("--topic-pattern", dest="pattern")
    parser.add_argument("--bootstrap-server")
    parser.add_argument("--command-config")
    parser.add_argument("--option", dest="options", action="append", default=[])
    parser.add_argument("--master")
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--json", dest="is_json", action="store_true")
    parser.add_argument("--no-progress", action="store_true")
    add_arguments(parser)
    found = vars(parser.parse_intermixed_args(given))
    log_dirs = tuple(found.pop("log_dirs"))
    if not log_dirs:
        raise UsageError(f"{command}: no directory is given; name the entries of log.dirs")
    is_json = found.pop("is_json")
    return SparkArguments(
        log_dirs=log_dirs,
        topics=tuple(name.strip() for text in found.pop("topics") for name in text.split(",") if name.strip()),
        pattern=found.pop("pattern"),
        bootstrap_server=found.pop("bootstrap_server"),
        kafka=kafka_of(found.pop("command_config")),
        options=_pairs("--option", found.pop("options")),
        master=found.pop("master"),
        conf=_pairs("--conf", found.pop("conf")),
        is_json=is_json,
        shows_progress=not found.pop("no_progress") and not is_json and sys.stderr.isatty(),
        own=found,
    )


def kafka_of(command_config: str | None) -> dict[str, str]:
    """The options of source and sink that a ``client.properties`` stands for. Raises UsageError."""
    from kafkastore.cli.scan_sentences import option_names
    from kafkastore.errors import ConfigError
    from kafkastore.interbroker.command_config import spark_options

    try:
        return spark_options(command_config)
    except ConfigError as error:
        raise UsageError(option_names(error.client_message)) from None


def _pairs(option: str, texts: list[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text} is no NAME=VALUE; write it so")
        found[name] = value
    return found


def need_topic(command: str, arguments: SparkArguments) -> None:
    """Raises UsageError unless the command line says in one way which topics."""
    ways = [
        bool(arguments.topics),
        arguments.pattern is not None,
        bool({"assign", "subscribe"} & arguments.options.keys()),
    ]
    if sum(ways) != 1:
        raise UsageError(f"{command}: give either --topic NAME, once or more often, or --topic-pattern REGEX")


def size_of(option: str, text: str) -> int:
    """Bytes, as ``134217728`` or ``128M``. Raises UsageError."""
    digits, unit = (text[:-1], text[-1]) if text[-1:] in UNITS and text[-1:] else (text, "")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16 and int(digits) > 0):
        raise UsageError(f"{option} {text} is no size; give bytes, or a number with k, M, G or T, as 128M")
    return int(digits) * UNITS[unit]


def count_of(option: str, text: str, low: int = 1) -> int:
    """A whole number. Raises UsageError."""
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) >= low):
        raise UsageError(f"{option} {text} is no number; give one from {low} on")
    return int(text)


def time_of(option: str, text: str) -> int:
    """A TIME in ms since the epoch, rounded up. Raises UsageError."""
    from kafkastore.scanning.bounds import as_timestamp_ms

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text} is no time; write it as 2026-01-31T12:00:00Z") from None
    if moment.tzinfo is None:
        raise UsageError(f"{option} {text} has no time zone; add Z or an offset, as in {moment.isoformat()}Z")
    return as_timestamp_ms(option, moment)


def bound_of(option: str, side: str, text: str) -> dict[str, str]:
    """The source's options for ``earliest``, ``latest``, a TIME or JSON of offsets; ``side`` is ``starting`` or
    ``ending``. A start after the last record reads nothing. Raises UsageError."""
    if text in ("earliest", "latest"):
        return {f"{side}Offsets": text}
    if text.startswith("{"):
        try:
            json.loads(text)
        except ValueError:
            raise UsageError(f'{option} {text} is no JSON; write it as {{"topic":{{"0":23,"1":-2}}}}') from None
        return {f"{side}Offsets": text}
    bound = {f"{side}Timestamp": str(time_of(option, text))}
    return bound | ({"startingOffsetsByTimestampStrategy": "latest"} if side == "starting" else {})
