"""The tables of ``docs/internals/architecture.md`` have a row for all of their kind in the code, and no other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidy import architecture
from tidy.architecture import methods_of, names, rows
from tidy.sources import Source, pages, report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PART_CLASSES = {
    f"`{name}`": name for name in ("Recovery", "Quotas", "Security", "Groups", "GroupLease", "Transactions")
}


def test_folders_of_the_code_are_the_rows_of_the_layers() -> None:
    documented = [names(row[0])[0] for row in rows("Layers", "folder")]
    assert sorted(documented) == sorted(architecture.folders())


def test_calls_of_the_engine_are_the_calls_of_the_table() -> None:
    documented = [name for _, calls in rows("What crosses", "what") for name in names(calls)]
    assert sorted(documented) == sorted(methods_of("Engine"))


def test_calls_for_coordinators_are_the_calls_of_their_table() -> None:
    documented = {row[0]: names(row[1]) for row in rows("What crosses", "class")}
    assert documented.keys() == PART_CLASSES.keys()
    for cell, name in PART_CLASSES.items():
        assert sorted(documented[cell]) == sorted(methods_of(name)), name


def test_events_are_those_of_the_stub_of_rust_and_of_the_table() -> None:
    documented = [names(row[0])[0] for row in rows("What crosses", "event")]
    assert architecture.events_of_stub() == architecture.events_of_rust()
    assert sorted(documented) == sorted(architecture.events_of_rust())


def test_apis_that_the_data_plane_serves_are_named_at_the_top() -> None:
    (sentence,) = re.findall(r"It serves (.*?)\bby itself", architecture.PAGE.read_text(), re.DOTALL)
    named = set(re.findall(r"\b(?:[A-Z][a-z]+)+\b", sentence))
    assert named == architecture.served_by_rust() | {"ApiVersions"}


def test_threads_of_both_planes_are_the_rows_of_the_threads() -> None:
    cells = [row[0] for row in rows("Threads", "thread")]
    documented = [name for cell in cells for name in names(cell)]
    assert sorted(documented) == sorted(architecture.rust_threads() | architecture.python_threads())
    assert set(architecture.WITHOUT_A_NAME.values()) <= set(cells)


def test_locks_of_the_data_plane_are_the_locks_of_the_table() -> None:
    documented = [name for row in rows("Locks", "lock") for name in names(row[0])]
    assert sorted(documented) == sorted(architecture.rust_locks())


def test_locks_of_the_control_plane_are_the_locks_of_their_table() -> None:
    documented = [name for row in rows("Locks", "lock of the control plane") for name in names(row[0])]
    assert sorted(documented) == sorted(architecture.python_locks())


TABLE = re.compile(r"^(?:\|.*\n)+", re.MULTILINE)


def rows_outside_of_tables(sources: Iterable[Source]) -> Iterator[str]:
    for page in sources:
        for table in TABLE.finditer(page.text):
            head, *others = table[0].splitlines()
            if not set("".join(others[:1]) or "none") <= set("|-: "):
                yield f"{page.at(table.start())}: a row outside of a table: {head[:60]}"


def test_no_row_of_a_table_stands_outside_of_its_table() -> None:
    assert sum(len(TABLE.findall(page.text)) for page in pages()) > 50, "the tables are not found"
    report(rows_outside_of_tables(pages()))
