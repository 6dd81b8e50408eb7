"""The start of ``kafkastore broker``: its command line, its log, and what may be missing at a start.

``main.py`` comes here without click, for which a start is not to wait; ``broker.py`` has the help, and says what is
wrong with a command line.
"""

from __future__ import annotations

import gc
import logging
import os
import sys

from kafkastore.cli.process_limits import raise_descriptor_limit, shortage_of
from kafkastore.errors import KafkastoreError


def run(path: str | None, overrides: list[str]) -> int:
    """Runs a broker; returns the exit status: 0 stopped cleanly, 1 could not start or failed."""
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


def environment_overrides() -> list[str]:
    """``key=value`` for each of Kafka's keys that is a variable of the environment."""
    from kafkastore.config.environment import overrides_of

    return overrides_of(os.environ)


def understood(arguments: list[str]) -> tuple[str | None, list[str]] | None:
    """(path of the properties file or None, overrides); None for all else that click is to look at: a wish for help,
    a mistake."""
    path: str | None = None
    overrides: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        option, equals, value = argument.partition("=")
        if argument == "--environment":
            overrides = [*environment_overrides(), *overrides]
        elif option == "--override":
            override = value if equals else next(remaining, None)
            if override is None:
                return None
            overrides.append(override)
        elif argument.startswith("-") or path is not None:
            return None
        else:
            path = argument
    return path, overrides
