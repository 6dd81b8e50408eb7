"""The ``kafkastore`` command: finds the subcommand and runs it. Imports only the code of that subcommand."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

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
  metadata backup|restore|check|accept-loss
                 keep a copy of the metadata, put it back, look whether it is whole
  stray list|adopt|delete
                 logs that a start has set aside: look at them, serve them again, delete them
  cluster create|status|add-brokers|remove-brokers|reassign|cancel
                 prepare a cluster, look at one, move its partitions when brokers come or go
  security init|doctor
                 the files of a broker that lets in nobody unproven; what a configuration leaves open
  spark export|verify|stats|replay
                 topics to Parquet, a cluster's files checked, figures of topics, a slice copied: with Spark's tasks

options:
  -h, --help     show this text
  --version      show the version
"""


COMMANDS = ("broker", "check", "dump", "sql", "export", "load", "metadata", "stray", "cluster", "security", "spark")
"""Each is a module of this folder, imported when it is asked for: a start is not to wait for the others."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    _keep_standard_descriptors()
    given = sys.argv[1:] if arguments is None else arguments
    command = given[0] if given else "--help"
    if command in ("-h", "--help", "help"):
        sys.stdout.write(USAGE)
        return 0 if given else 2
    if command == "--version":
        from kafkastore._core import __version__

        sys.stdout.write(f"kafkastore {__version__}\n")
        return 0
    if command in COMMANDS:
        chosen: ModuleType = import_module(f"kafkastore.cli.{command}")
        status: int = chosen.main(given[1:])
        return status
    sys.stderr.write(f"kafkastore: there is no command {command}; see kafkastore --help\n")
    return 2


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
