"""The ``kafkastore`` command: finds the subcommand and runs it. Imports only the code of that subcommand."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final, TextIO

from kafkastore.cli.usage import UsageError

if TYPE_CHECKING:
    from types import ModuleType

USAGE = """\
usage: kafkastore <command> [options]

A Kafka-compatible broker: any Kafka client works on it.

commands:
  broker [server.properties] [--override key=value ...]
                 run a broker in the foreground; without a file a single one on port 9092 that needs no set-up
  check DIR...   verify every file of log directories: batches, indexes, checkpoints; a broker may run meanwhile
  dump PATH [TOPIC]
                 print the records or batches of segment files as text, JSON or Parquet
  sql QUERY DIR...
                 answer a query over the topics in log directories
  export DIR... --topic NAME --output FOLDER
                 write a topic as Parquet files; the next call goes on where this one ended
  load TOPIC FILE...
                 append Parquet files to a topic as segments that are built here: for backfills
  metadata backup|restore|check|accept-loss|config|remove-config
                 keep a copy of the metadata, put it back, look whether it is whole, and at what was configured
  stray list|adopt|delete
                 logs that a start has set aside: look at them, serve them again, delete them
  cluster create|status|add-brokers|remove-brokers|rebalance|reassign|cancel
                 prepare a cluster, look at one, move its partitions when brokers come or go
  security init|add-user|add-host|renew|doctor
                 the files of a broker that lets in nobody unproven; what a configuration leaves open
  spark export|verify|stats|replay
                 topics to Parquet, a cluster's files checked, figures of topics, a slice copied: with Spark's tasks

options:
  -h, --help     show this text
  --version      show the version

exit status: a command's --help says; of each 130 Ctrl-C, 141 nobody reads what it prints
"""


COMMANDS = ("broker", "check", "dump", "sql", "export", "load", "metadata", "stray", "cluster", "security", "spark")
"""Each is a module of this folder, imported when it is asked for: a start is not to wait for the others."""

NEED_ARGUMENTS: Final = ("sql", "export", "metadata", "stray", "security", "spark")
"""Their usage is the answer when there are none."""

ARE_LONG: Final = ("check", "sql", "export", "spark")
"""Their usage would hide what is wrong with a command line."""

ENDED_BY_SIGNAL: Final = 128
"""What a shell adds to the number of a signal."""

FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a file or a disk that takes no more."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status: of every command 130 after Ctrl-C, 141 when nobody reads what it
    prints, 1 when that cannot be written.
    """
    _keep_standard_descriptors()
    given = sys.argv[1:] if arguments is None else arguments
    try:
        status = _run(given)
    except BrokenPipeError:  # the reader, `head` for instance, has seen enough
        status = ENDED_BY_SIGNAL + signal.SIGPIPE
    except KeyboardInterrupt:
        status = ENDED_BY_SIGNAL + signal.SIGINT
    except OSError as error:  # of stdout that is not buffered, or whose buffer was full
        if error.errno not in FULL or error.filename is not None:
            raise
        status = _unwritten(given, error)
    return _written(given, status)


def _run(given: list[str]) -> int:
    command = given[0] if given else "--help"
    if command in ("-h", "--help", "help"):
        sys.stdout.write(USAGE)
        return 0 if given else 2
    if command == "--version":
        from kafkastore._core import __version__

        sys.stdout.write(f"kafkastore {__version__}\n")
        return 0
    if command not in COMMANDS:
        sys.stderr.write(f"kafkastore: there is no command {command}; see kafkastore --help\n")
        return 2
    return _run_command(import_module(f"kafkastore.cli.{command}"), command, given[1:])


def _run_command(module: ModuleType, command: str, arguments: list[str]) -> int:
    """What all commands have in common: help, and command lines that cannot be understood."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(module.USAGE)
        return 0
    if not arguments and command in NEED_ARGUMENTS:
        sys.stderr.write(module.USAGE)
        return 2
    try:
        status: int = module.main(arguments)
    except UsageError as error:
        sys.stderr.write(f"kafkastore {command}: {error}\n{'' if command in ARE_LONG else chr(10) + module.USAGE}")
        return 2
    return status


def _unwritten(given: list[str], error: OSError) -> int:
    program = " ".join(["kafkastore", *given[:1]])
    with suppress(OSError):
        sys.stderr.write(f"{program}: what it says cannot be written ({error.strerror or error})\n")
    return 1


def _written(given: list[str], status: int) -> int:
    """The exit status when all that was printed is written. What cannot be is dropped here: Python would tell of it
    when it ends, with a status of its own.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        _drop(sys.stdout)
        if isinstance(error, BrokenPipeError):
            status = ENDED_BY_SIGNAL + signal.SIGPIPE
        else:
            status = status or _unwritten(given, error)
    try:
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)
    return status


def _drop(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def _keep_standard_descriptors() -> None:
    """Opens closed standard descriptors, as a supervisor may leave them, on /dev/null. The next files to be opened, the
    metadata store's among them, would get their numbers otherwise, and output would be written into those files."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
