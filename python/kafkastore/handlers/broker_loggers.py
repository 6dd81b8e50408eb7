"""The loggers of this broker as configuration resources (KIP-412): their names, their levels, and how the levels change
at run time.

A logger without a level of its own has its parent's; the last parent is ``root``. A change holds until the process ends
and is stored nowhere. The loggers are those that the modules of this process have made, and their parents: a request
makes none.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kafkastore.authorization.audit_log import audit
from kafkastore.errors import ConfigError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

logger = logging.getLogger("kafkastore.handlers.broker_loggers")

ROOT: Final = "root"
OURS: Final = "kafkastore"

LEVELS: Final = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
"""Kafka's names, the most verbose first. Nothing here logs below DEBUG, so TRACE is as DEBUG."""

SET, DELETE, APPEND, SUBTRACT = range(4)
_NOT_ALLOWED: Final = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


def names() -> list[str]:
    """The names of all loggers, ``root`` first; the audit log's is Kafka's."""
    known = logging.root.manager.loggerDict
    ours = {name for name in tuple(known) if name == OURS or name.startswith(f"{OURS}.")}
    return [ROOT, *sorted({audit.name, *ours})]


def level_of(name: str) -> str:
    """The level in effect of a logger, one of :func:`names`."""
    level = _logger(name).getEffectiveLevel()
    return next((known for known, least in LEVELS.items() if level <= least), "FATAL")


def check(changes: Iterable[tuple[str, int, str | None]]) -> None:
    """Checks changes, each (logger, operation, level). Raises InvalidRequestError or ConfigError, in Kafka's order and
    words."""
    known = set(names())
    for name, operation, level in changes:
        if operation not in (SET, DELETE):
            if operation in _NOT_ALLOWED:
                raise InvalidRequestError(
                    f"{_NOT_ALLOWED[operation]} operation is not allowed for the BROKER_LOGGER resource"
                )
            raise InvalidRequestError(f"Unknown operations type {operation}")
        if name not in known:
            raise ConfigError(f"Logger {name} does not exist!")
        if operation == DELETE and name == ROOT:
            raise InvalidRequestError("Removing the log level of the root logger is not allowed")
        if operation == SET and level not in LEVELS:
            raise ConfigError(
                f"Cannot set the log level of {name} to {level} as it is not a supported log level. Valid log levels "
                f"are {', '.join(sorted(LEVELS))}"
            )


def apply(changes: Iterable[tuple[str, int, str | None]]) -> None:
    """Applies changes that :func:`check` has accepted."""
    for name, operation, level in changes:
        if operation == SET and level is not None:
            _logger(name).setLevel(LEVELS[level])
            logger.warning("The level of logger %s is %s now, until this broker stops", name, level)
        else:
            _logger(name).setLevel(logging.NOTSET)
            logger.warning("Logger %s has its parent's level again, %s", name, level_of(name))


def _logger(name: str) -> logging.Logger:
    return logging.root if name == ROOT else logging.getLogger(name)
