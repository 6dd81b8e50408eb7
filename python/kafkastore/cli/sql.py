"""``kafkastore sql``: a query in DuckDB's SQL over the topics in log directories.

This file reads the command line; ``sql_query`` makes tables of topics and runs the query, ``sql_output`` writes the
answer. An error is one sentence on stderr; a reader that goes away (``| head``) is no error.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.ending import end_at_once
from kafkastore.cli.option_types import PAIR
from kafkastore.cli.outcome import FailedError
from kafkastore.cli.scan_options import bounds_options, damage_option, isolation_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.cli.sql_query import Session

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


@click.command("sql", no_args_is_help=True)
@click.argument("query")
@click.argument("log_dirs", metavar="DIR...", nargs=-1, type=click.Path())
@bounds_options
@isolation_option
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="json is an array, jsonl an object a line.",
)
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path), help="Write there; parquet needs it.")
@click.option(
    "--max-rows",
    metavar="N",
    type=click.IntRange(1, 1_000_000),
    default=MAX_ROWS,
    show_default=True,
    help="Rows of a table that are shown.",
)
@click.option(
    "--param",
    "params",
    type=PAIR,
    multiple=True,
    help="The text that $NAME stands for in the query; may be given again.",
)
@damage_option
@click.option("--binary", "is_binary", is_flag=True, help="key and value are bytes, whether they are UTF-8 or not.")
@click.option(
    "--external-access",
    "has_external_access",
    is_flag=True,
    help="The query may read and write other files, and load extensions.",
)
def command(query: str, params: tuple[tuple[str, str], ...], **given: Any) -> None:
    """Answer a query over the topics in log directories.

    The query is in DuckDB's SQL; QUERY - is read from stdin. DIR is an entry of log.dirs. A topic is a table:

    \b
      kafkastore sql "select value->>'origin' as origin, count(*) from 'flights' group by all" /var/lib/kafka

    Its columns are key, value, topic, partition, offset, timestamp, timestampType and headers. key and value are texts;
    --binary makes them bytes. Of the segment files only what the columns and the conditions on partition, offset,
    timestamp and key need is read; count(*) reads headers of batches. Needs DuckDB and pyarrow: pip install
    'kafkastore[sql]'.

    Exit status: 0 answered, 1 failed, 2 wrong usage, 130 Ctrl-C.
    """
    options = SqlOptions(query=sys.stdin.read() if query == "-" else query, params=dict(params), **given)
    if not options.log_dirs:
        raise click.UsageError("no directory is given; name the entries of log.dirs after the query")
    for name in options.params:
        if not name.isidentifier():
            raise click.UsageError(f"--param {name}: a query has no such parameter; give a name of letters and digits")
    if options.format == "parquet" and options.output is None:
        raise click.UsageError("--format parquet needs --output FILE")
    if options.format == "arrow" and options.output is None and sys.stdout.isatty():
        raise click.UsageError("--format arrow is not for a terminal; give --output FILE or a pipe")
    try:
        _run(options)
    finally:
        gc.collect()  # objects of DuckDB that live when Python ends are told on stderr


def _run(options: SqlOptions) -> None:
    from kafkastore.cli.scan_sentences import error_sentence

    try:
        from kafkastore.cli.sql_output import write
        from kafkastore.cli.sql_query import QueryError, Session
    except ImportError as error:
        raise FailedError(f"{error.name} is not installed; pip install 'kafkastore[sql]'") from None
    try:
        with Session(options) as session:
            _in_a_thread(lambda: write(session.answer(), options), session)
        for note in session.notes():
            sys.stderr.write(f"kafkastore sql: {note}\n")
    except BrokenPipeError:
        raise
    except (QueryError, ValueError, OSError) as error:
        raise FailedError(error_sentence(error)) from None


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
