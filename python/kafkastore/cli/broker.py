"""``kafkastore broker``: runs one broker in the foreground, as ``kafka-server-start`` does."""

from __future__ import annotations

import logging
import sys

from kafkastore.errors import KafkastoreError

USAGE = """\
usage: kafkastore broker [server.properties] [--override key=value ...]

Runs one broker in the foreground until SIGTERM or SIGINT. Keys, types and defaults are Kafka's.

Without a file: one broker, node.id=1, listeners=PLAINTEXT://:9092 (advertised as localhost), data in
$XDG_DATA_HOME/kafkastore or ~/.local/share/kafkastore, no delay for the first member of a group.

options:
  --override key=value   set or replace a key; may be given again
  -h, --help             show this text
"""


def main(arguments: list[str]) -> int:
    """Runs a broker; returns the exit status: 0 stopped cleanly, 1 could not start or failed, 2 wrong usage."""
    try:
        path, overrides = parse_arguments(arguments)
    except UsageError as error:
        sys.stderr.write(f"kafkastore broker: {error}\n\n{USAGE}")
        return 2
    if path == "--help":
        sys.stdout.write(USAGE)
        return 0
    logging.basicConfig(format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)", level=logging.INFO)
    import kafkastore.server.event_loop  # noqa: F401 - before anything else imports asyncio
    from kafkastore.config import BrokerConfig
    from kafkastore.server.broker import run_until_stopped

    try:
        run_until_stopped(BrokerConfig.load(path, overrides))
    except KafkastoreError as error:
        sys.stderr.write(f"kafkastore: {error}\n")
        return 1
    return 0


class UsageError(Exception):
    """The command line cannot be understood."""


def parse_arguments(arguments: list[str]) -> tuple[str | None, list[str]]:
    """(path of the properties file or None, overrides); the path is "--help" when help was asked for."""
    path: str | None = None
    overrides: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument in ("-h", "--help"):
            return "--help", []
        if argument == "--override":
            override = next(remaining, None)
            if override is None:
                raise UsageError("--override needs key=value after it")
            overrides.append(override)
        elif argument.startswith("--override="):
            overrides.append(argument.removeprefix("--override="))
        elif argument.startswith("-"):
            raise UsageError(f"unknown option {argument}")
        elif path is None:
            path = argument
        else:
            raise UsageError(f"unexpected argument {argument}; one properties file can be given")
    return path, overrides
