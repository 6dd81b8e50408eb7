"""The rules of offsets in transactions that one reader's answers show in their order (KIP-98, KIP-447).
``transactions.py`` has the rules of single offsets and of the last ones.

| rule | broken when |
|---|---|
| ``offset-back`` | a client was told the offset of a transaction after that of a later transaction |
| ``offset-unstable`` | a client was told that an offset is to be committed when no transaction could be open |

The offsets of a row rise from transaction to transaction. The answers of one row are those of one client, which asks
one question after the other. A transaction is over once its offset, or that of a later one, was read; another may be
open from the moment at which its producer sends its offset. Stale answers are in no order: no epoch tells a client that
another broker coordinates the group. This module reads no log and knows no broker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from history.events import OffsetRead, OffsetSent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from history.events import Row

    Broken = tuple[str, Row, str]
    """The name of the rule, the row, and what is wrong."""


@dataclass(frozen=True, slots=True)
class OffsetUnstable:
    """A client was told that an open transaction is to commit an offset of the row (UNSTABLE_OFFSET_COMMIT)."""

    row: Row


def broken_by_offsets(events: Iterable[object]) -> Iterator[Broken]:
    """All that is wrong; see the module."""
    sent: dict[Row, int] = {}
    read: dict[Row, int] = {}
    for event in events:
        if isinstance(event, OffsetSent):
            sent[event.row] = max(sent.get(event.row, 0), event.offset)
        elif isinstance(event, OffsetRead) and not event.is_stale:
            last = read.get(event.row, event.offset)
            if event.offset < last:
                yield "offset-back", event.row, f"the offset {event.offset} was read after {last}"
            read[event.row] = max(last, event.offset)
        elif isinstance(event, OffsetUnstable) and (
            event.row not in sent or sent[event.row] <= read.get(event.row, -1)
        ):
            what = f"an offset is unstable after {read.get(event.row)} was read and {sent.get(event.row)} was sent"
            yield "offset-unstable", event.row, what
