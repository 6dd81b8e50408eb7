"""``kafkastore broker``: runs one broker in the foreground, as ``kafka-server-start`` does."""

from __future__ import annotations

import gc
import logging
import sys

from kafkastore.cli.process_limits import raise_descriptor_limit, shortage_of
from kafkastore.cli.usage import UsageError
from kafkastore.errors import KafkastoreError

USAGE = """\
usage: kafkastore broker [server.properties] [--override key=value ...]

Runs one broker in the foreground until SIGTERM, SIGINT or SIGHUP. Keys, types and defaults are Kafka's.

Without a file: one broker, node.id=1, listeners=PLAINTEXT://localhost:9092 (this host alone reaches it), data in
$XDG_DATA_HOME/kafkastore or ~/.local/share/kafkastore, no delay for the first member of a group.

options:
  --override key=value   set or replace a key; may be given again
  -h, --help             show this text
"""


def main(arguments: list[str]) -> int:
    """Runs a broker; returns the exit status: 0 stopped cleanly, 1 could not start or failed. Raises UsageError."""
    path, overrides = parse_arguments(arguments)
    logging.raiseExceptions = False  # logging must not report a stderr that is full or gone on that stderr
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLineFormatter("[%(asctime)s] %(levelname)s %(message)s (%(name)s)"))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    try:
        gc.disable()  # until the broker has started: objects of the start stay, and searching them is wasted time
        raise_descriptor_limit()
        import kafkastore.server.event_loop  # noqa: F401 - before anything else imports asyncio
        from kafkastore.cli.broker_process import run_until_stopped
        from kafkastore.config import BrokerConfig

        config = BrokerConfig.load(path, overrides)
        logging.getLogger().setLevel(config.get("kafkastore.log.level"))
        run_until_stopped(config)
    except KafkastoreError as error:
        sys.stderr.write(f"kafkastore: {_on_one_line(str(error))}\n")
        return 1
    except (OSError, MemoryError, RuntimeError) as error:
        shortage = shortage_of(error)
        if shortage is None:
            raise
        sys.stderr.write(f"kafkastore: {shortage}; give the broker more of it and start again\n")
        return 1
    return 0


class _OneLineFormatter(logging.Formatter):
    """Kafka's log4j layout, ``[%d] %p %m (%c)``. A message is one line, even with line breaks from a client's strings;
    only the traceback of a bug follows on lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return _on_one_line(super().formatMessage(record))


def _on_one_line(text: str) -> str:
    """The text with its line breaks and other control characters escaped."""
    return text if text.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def parse_arguments(arguments: list[str]) -> tuple[str | None, list[str]]:
    """(path of the properties file or None, overrides). Raises UsageError."""
    path: str | None = None
    overrides: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
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
