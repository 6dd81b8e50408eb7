"""``kafkastore sql``: a query in DuckDB's SQL over the topics in log directories.

This file reads the command line; ``sql_query`` makes tables of topics and runs the query, ``sql_output`` writes the
answer. An error is one sentence on stderr; a reader that goes away (``| head``) is no error.
"""

from __future__ import annotations

import argparse
import gc
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafkastore.cli.arguments import Parser, whole_number
from kafkastore.cli.ending import end_at_once
from kafkastore.cli.usage import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.cli.sql_query import Session

USAGE = """\
usage: kafkastore sql QUERY DIR... [options]

Answers a query in DuckDB's SQL over the topics in log directories (DIR: the entries of log.dirs). A topic is a table:

  kafkastore sql "select value->>'origin' as origin, count(*) from 'flights' group by all" /var/lib/kafka

Its columns are key, value, topic, partition, offset, timestamp, timestampType and headers. key and value are texts;
--binary makes them bytes. Of the segment files only what the columns and the conditions on partition, offset, timestamp
and key need is read; count(*) reads headers of batches. QUERY - is read from stdin. Needs DuckDB and pyarrow:
pip install 'kafkastore[sql]'.

options:
  --bootstrap-server H:P   asks this broker how far may be read; without, the checkpoints beside the segments say it
  --command-config FILE    for that broker: a client.properties with security.protocol, sasl.* and ssl.*
  --isolation-level read_uncommitted|read_committed
  --format FORMAT          table, csv, json (an array), jsonl (an object a line), parquet or arrow (default: table)
  --output FILE            write there; parquet needs it
  --max-rows N             rows of a table that are shown (default: 40)
  --param NAME=VALUE       the text that $NAME stands for in the query; may be given again
  --ignore-corrupt-batches go on behind batches that cannot be read, and name them
  --binary                 key and value are bytes, whether they are UTF-8 or not
  --external-access        the query may read and write other files, and load extensions
  -h, --help               show this text

exit status: 0 answered, 1 failed, 2 wrong usage, 130 Ctrl-C
"""

FORMATS = ("table", "csv", "json", "jsonl", "parquet", "arrow")
INTERRUPTED_S = 1.0
"""How long Ctrl-C waits for the query to end."""
MAX_ROWS = 40
"""Rows of a table that are shown: DuckDB's own number."""


@dataclass(frozen=True)
class SqlOptions:
    """The command line, checked."""

    query: str
    log_dirs: tuple[str, ...]
    bootstrap_server: str | None
    command_config: str | None
    isolation_level: str
    format: str
    output: Path | None
    max_rows: int
    params: dict[str, str]
    ignores_corrupt_batches: bool
    is_binary: bool
    has_external_access: bool


def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status, see USAGE. Raises UsageError."""
    options = parse_arguments(arguments)
    try:
        return _run(options)
    finally:
        gc.collect()  # objects of DuckDB that live when Python ends are told on stderr


def _run(options: SqlOptions) -> int:
    from kafkastore.cli.scan_sentences import error_sentence

    try:
        from kafkastore.cli.sql_output import write
        from kafkastore.cli.sql_query import QueryError, Session
    except ImportError as error:
        sys.stderr.write(f"kafkastore sql: {error.name} is not installed; pip install 'kafkastore[sql]'\n")
        return 1
    try:
        with Session(options) as session:
            _in_a_thread(lambda: write(session.answer(), options), session)
        for note in session.notes():
            sys.stderr.write(f"kafkastore sql: {note}\n")
    except BrokenPipeError:
        raise
    except (QueryError, ValueError, OSError) as error:
        sys.stderr.write(f"kafkastore sql: {error_sentence(error)}\n")
        return 1
    return 0


def _in_a_thread(work: Callable[[], None], session: Session) -> None:
    """Does the work in a thread of its own, so that the calling thread can be interrupted. The work's exception is
    raised; when the query itself has failed, the exception of the query."""
    failures: list[BaseException] = []
    is_done = threading.Event()  # join() forgets a thread that it was interrupted for

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            failures.append(session.failure or error)
        finally:
            is_done.set()

    threading.Thread(target=run, name="sql", daemon=True).start()
    try:
        is_done.wait()
    except KeyboardInterrupt:
        session.interrupt()
        has_ended = False
        with suppress(KeyboardInterrupt):
            has_ended = is_done.wait(INTERRUPTED_S)
        if not has_ended:  # it asks a broker that does not answer, and DuckDB cannot be closed
            session.remove_spilled()
            end_at_once(128 + signal.SIGINT)
        raise
    if failures:
        raise failures[0]


def parse_arguments(arguments: list[str]) -> SqlOptions:
    """Parses the command line. Raises UsageError with one sentence."""
    from kafkastore.scanning.bounds import ISOLATION_LEVELS

    parser = Parser("sql", "; see kafkastore sql --help")
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("log_dirs", metavar="DIR", nargs="*")
    parser.add_argument("--bootstrap-server")
    parser.add_argument("--command-config")
    parser.add_argument("--isolation-level", choices=ISOLATION_LEVELS, default=ISOLATION_LEVELS[0])
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--max-rows", type=whole_number(1, 1_000_000), default=MAX_ROWS)
    parser.add_argument("--param", dest="params", type=_pair, action="append", default=[])
    parser.add_argument("--ignore-corrupt-batches", dest="ignores_corrupt_batches", action="store_true")
    parser.add_argument("--binary", dest="is_binary", action="store_true")
    parser.add_argument("--external-access", dest="has_external_access", action="store_true")
    given = vars(parser.parse_intermixed_args(arguments))
    query = sys.stdin.read() if given["query"] == "-" else given["query"]
    if not given["log_dirs"]:
        raise UsageError("no directory is given; name the entries of log.dirs after the query")
    if given["format"] == "parquet" and given["output"] is None:
        raise UsageError("--format parquet needs --output FILE")
    if given["format"] == "arrow" and given["output"] is None and sys.stdout.isatty():
        raise UsageError("--format arrow is not for a terminal; give --output FILE or a pipe")
    return SqlOptions(
        **{**given, "query": query, "log_dirs": tuple(given["log_dirs"]), "params": dict(given["params"])}
    )


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, value
