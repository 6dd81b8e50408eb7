"""Runs the query of ``kafkastore sql``: topics as tables of a DuckDB in memory, its errors as sentences.

A topic becomes a table when its name stands in the query, and its files are opened when DuckDB reads the table. Unless
external access was asked for, DuckDB can open no file, load no extension and change no setting of its own.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tempfile
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import duckdb
import pyarrow as pa

from kafkastore import _core
from kafkastore.cli.scan_sentences import error_sentence, unreadable_sentences
from kafkastore.scanning.bounds import COLUMNS
from kafkastore.scanning.dataset import NotTextError, ScanDataset
from kafkastore.scanning.scan import Scan, scan
from kafkastore.scanning.unseen import sentence as unseen_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkastore.cli.sql import SqlOptions

PARTITION_NAME = re.compile(r"([a-zA-Z0-9._-]{1,249})-\d{1,10}")
NAMED_TOPICS = 20
"""Topics that an error lists."""
ANSWER_ROWS = 8192
MESSAGE_CHARACTERS = 400
"""Of DuckDB's message; some hold a whole value."""
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "python_enable_replacements": False,
}
SETTINGS = "set timezone = 'UTC'; set errors_as_json = true"
STATEMENTS = frozenset({"SELECT", "EXPLAIN", "MULTI"})  # MULTI: pivot


class QueryError(Exception):
    """The query cannot be answered; one sentence."""


class Session:
    """One query over the topics of some log directories."""

    def __init__(self, options: SqlOptions) -> None:
        self._options = options
        self._topics = topic_names(options.log_dirs)
        self._datasets: dict[str, ScanDataset] = {}
        self._spilled = tempfile.TemporaryDirectory(ignore_cleanup_errors=True, prefix="kafkastore-sql-")
        config = {} if options.has_external_access else CONFIG
        self._database = duckdb.connect(config={**config, "temp_directory": self._spilled.name})
        self._database.execute(SETTINGS)
        self._is_interrupted = False
        self.failure: QueryError | None = None
        """Why the query failed; readers of the answer may wrap it in errors of their own."""
        self._query = options.query
        self._quotes: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        self.remove_spilled()

    def remove_spilled(self) -> None:
        """Removes what DuckDB has written to disk."""
        self._spilled.cleanup()

    def answer(self) -> Iterator[pa.RecordBatch]:
        """The schema's empty batch, then the rows. Raises QueryError."""
        try:
            self._parse()
            for name in self._named_topics():
                self._add(name)
            if not self._options.has_external_access:
                self._database.execute("set lock_configuration = true")
            answer = self._relation()
            if answer is None:
                return
            reader = answer.to_arrow_reader(ANSWER_ROWS)
            yield pa.RecordBatch.from_pylist([], schema=reader.schema)
            for batch in reader:
                if self._is_interrupted:
                    raise QueryError("interrupted")
                yield batch
        except (duckdb.Error, pa.ArrowException, _core.ScanError) as error:
            self.failure = QueryError(self._sentence(error))
            raise self.failure from None

    def interrupt(self) -> None:
        """Makes :meth:`answer` end soon with an error; for another thread."""
        self._is_interrupted = True
        self._database.interrupt()

    def _relation(self) -> duckdb.DuckDBPyRelation | None:
        params = self._options.params or None
        try:
            return self._database.sql(self._query, params=params)
        except duckdb.Error:
            self._database.execute(self._query, params)  # fails in the same way, and tells the place
            raise

    def notes(self) -> Iterator[str]:
        """Sentences about records that were left out, since they cannot be read, or the checkpoints do not say that
        they are committed."""
        for topic, dataset in self._datasets.items():
            if dataset.is_read:
                yield from unreadable_sentences(topic, dataset.scan.lost)
        if self._options.bootstrap_server is not None:
            return
        for topic, dataset in self._datasets.items():
            if dataset.is_read and (left_out := dataset.scan.unseen()):
                yield f"{unseen_sentence(topic, left_out)}; --bootstrap-server asks the broker"

    def _parse(self) -> None:
        """Checks that the query is one statement that reads. ``offset`` is a word of DuckDB's grammar: where the query
        is not understood otherwise, each ``offset`` that is not the clause is taken for the column."""
        try:
            found = self._database.extract_statements(self._query)
        except duckdb.ParserException:
            query, quotes = with_offset_quoted(self._query)
            try:
                found = self._database.extract_statements(query)
            except duckdb.ParserException:
                query = ""
            if not query or not quotes:
                raise
            self._query, self._quotes = query, quotes
        if len(found) != 1:
            raise QueryError(f"the query has {len(found)} statements; give one")
        kind = found[0].type.name
        if kind not in STATEMENTS and not self._options.has_external_access:
            raise QueryError(f"the query is {kind.replace('_', ' ')}; give a SELECT: topics are only read")

    def _named_topics(self) -> list[str]:
        """The topics whose names stand in the query: at least those that it reads."""
        found = sorted((name for name in self._topics if name in self._query), key=str.lower)
        for one, other in pairwise(found):
            if one.lower() == other.lower():
                raise QueryError(f"the topics {one} and {other} differ in case only, which names in SQL do not")
        return found

    def _add(self, topic: str) -> None:
        options = self._options

        def open_scan() -> Scan:
            with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # notes() says it at the end
                return scan(
                    options.log_dirs,
                    topic,
                    columns=COLUMNS,
                    isolation_level=options.isolation_level,
                    bootstrap_servers=options.bootstrap_server,
                    command_config=options.command_config,
                    ignore_corrupt_batches=options.ignores_corrupt_batches,
                )

        schema = pa.schema(_core.Scan([], COLUMNS))
        dataset = ScanDataset(schema, open_scan, is_text=not options.is_binary)
        source = f"scan of {topic}"  # no topic has such a name
        self._datasets[topic] = dataset
        self._database.register(source, dataset)
        columns = ", ".join(f'"{name}"' for name in COLUMNS)
        view = f'create view "{topic}" as select {columns} from "{source}"'  # noqa: S608 - names without quotes
        self._database.execute(view)

    # ---- errors

    def _sentence(self, error: Exception) -> str:
        for dataset in self._datasets.values():
            if isinstance(failure := dataset.failure, NotTextError):
                return f"{failure}; --binary reads keys and values as bytes"
            if failure is not None:
                return error_sentence(failure)
        fields = _error_fields(error)
        if fields.get("type") == "Table" and fields.get("name"):
            return self._unknown(fields["name"])
        text = "; ".join(line.strip().rstrip("!") for line in fields["exception_message"].splitlines() if line.strip())
        if len(text) > MESSAGE_CHARACTERS:
            text = f"{text[: MESSAGE_CHARACTERS - 100]} ... {text[-100:]}"
        if isinstance(error, duckdb.PermissionException):
            text += "; --external-access allows it"
        elif isinstance(error, duckdb.ParserException):
            text += self._hint()
        return f"{text}{self._place(fields.get('position'))}"

    def _unknown(self, name: str) -> str:
        names = sorted(self._topics)
        dotted = [topic for topic in names if topic.endswith(f".{name}") and topic in self._query]
        if dotted:
            return f"there is no topic {name}; write '{dotted[0]}', in quotes"
        lower = {topic.lower(): topic for topic in names}
        near = [lower[one] for one in difflib.get_close_matches(name.lower(), lower, n=3)]
        if near:
            return f"there is no topic {name}; did you mean {' or '.join(near)}?"
        shown = ", ".join(names[:NAMED_TOPICS]) + (", ..." if len(names) > NAMED_TOPICS else "")
        where = ", ".join(self._options.log_dirs)
        return f"there is no topic {name} in {where}; there are {shown}" if names else f"there is no topic in {where}"

    def _hint(self) -> str:
        for topic in sorted(self._topics):
            if re.search(rf"(?<![\w'\".-]){re.escape(topic)}(?![\w'\".-])", self._query) and not topic.isidentifier():
                return f"; write '{topic}', in quotes"
        return ""

    def _place(self, position: str | None) -> str:
        """The line and column, from 1, of a position in bytes in the query that DuckDB was given."""
        if position is None:
            return ""
        at = int(position)
        before = self._query.encode()[:at].decode(errors="ignore")
        shift = sum(quote < at for quote in self._quotes)
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        return f" (line {line}, column {column - shift if line == 1 else column})"


def topic_names(log_dirs: tuple[str, ...]) -> set[str]:
    """The topics that have a partition in the directories, by the names of these alone. Raises OSError of one
    sentence."""
    found = set()
    for path in log_dirs:
        try:
            names = os.listdir(path)
        except OSError as error:
            raise OSError(f"{path}: {error.strerror}; name the entries of log.dirs after the query") from None
        found |= {match[1] for name in names if (match := PARTITION_NAME.fullmatch(name))}
    return found


def with_offset_quoted(query: str) -> tuple[str, list[int]]:
    """The query with ``"offset"`` for each bare ``offset`` that no number, parameter or bracket follows, as behind the
    clause OFFSET; and the positions in bytes of the added quotes."""
    text, made, quotes = query.encode(), b"", []
    tokens = duckdb.tokenize(query)
    done = 0
    for (at, kind), (after, next_kind) in zip(tokens, [*tokens[1:], (len(text), None)], strict=True):
        is_word = kind == duckdb.token_type.keyword and text[at : at + 6].lower() == b"offset"
        if not is_word or next_kind == duckdb.token_type.numeric_const or text[after : after + 1] in (b"$", b"?", b"("):
            continue
        made += text[done:at] + b'"' + text[at : at + 6] + b'"'
        quotes += [len(made) - 8, len(made) - 1]
        done = at + 6
    return (made + text[done:]).decode(), quotes


def _error_fields(error: Exception) -> dict[str, Any]:
    """The fields of a DuckDB error, which are JSON in its text."""
    text = str(error)
    try:
        found = json.loads(text[text.index("{") :])
    except ValueError:
        return {"exception_message": text}
    return found if isinstance(found, dict) and "exception_message" in found else {"exception_message": text}
