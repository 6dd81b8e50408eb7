"""The rules of transactions, for ``checker.py`` (H11 to H14 of `docs/internals/scenarios.md`).

| rule | broken when |
|---|---|
| ``torn`` | some records of a transaction were read as committed, and others are missing in the end |
| ``uncommitted`` | a transaction of whose commit its producer was told lacks records in the end |
| ``aborted-read`` | a record of an aborted transaction was read as committed |
| ``changed-outcome`` | a record was read as committed, and is missing in the end |
| ``overlapping`` | records of a producer's epoch come before the marker of an earlier epoch, or after a later epoch |
| ``hanging`` | a log ends with a transaction that has no marker |
| ``offset-torn`` | the last offset of a row is not that of the row's last committed transaction |
| ``offset-uncommitted`` | a client was told an offset of a transaction that is not committed |

A transaction is all its records in all partitions, and its offsets in the rows of groups. It was aborted when its
producer was told so, or when nobody asked for its commit. Read as committed is what a consumer with ``read_committed``
gets. A record below a log start that was asked for may be missing. The outcome that a producer never heard of may be
either, but for all records and offsets: the records tell what became of the offsets. Like the checker it reads no log
and knows no broker.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeGuard

from history.events import (
    Acked,
    EndAsked,
    Ended,
    History,
    Id,
    OffsetRead,
    OffsetSent,
    Partition,
    ProducerBatch,
    Read,
    Row,
    Sent,
    Trimmed,
)

Broken = tuple[str, Partition, str]
"""The name of the rule, the partition, and what is wrong."""
Place = tuple[Partition, Id]


RULES = frozenset(
    {"torn", "uncommitted", "aborted-read", "changed-outcome", "overlapping", "hanging", "offset-torn",
     "offset-uncommitted"}
)  # fmt: skip


def broken_by_transactions(history: History) -> Iterator[Broken]:
    """All that is wrong; see the module."""
    yield from _visibility(history)
    for partition, batches in history.producers.items():
        yield from _markers(partition, batches)
    yield from _offsets(history)


def _visibility(history: History) -> Iterator[Broken]:
    """``torn``, ``uncommitted``, ``aborted-read`` and ``changed-outcome``."""
    by_transaction: dict[Id, list[Sent]] = defaultdict(list)
    for event in history.events:
        if isinstance(event, Sent) and event.transaction is not None:
            by_transaction[event.transaction].append(event)
    final = {(read.partition, read.id) for reads in history.committed.values() for read in reads}
    seen = final | {(event.partition, event.id) for event in history.events if _is_committed_read(event)}
    may_lack = _missing_allowed(history)
    outcomes = _outcomes(history)
    for transaction, records in by_transaction.items():
        places = [(one.partition, one.id) for one in records if one.partition in history.committed]
        read = [place for place in places if place in seen]
        missing = [place for place in places if place not in final and place not in may_lack]
        is_committed = outcomes.get(transaction, False)
        if is_committed is False:
            for partition, name in read:
                yield "aborted-read", partition, f"{name} of {transaction}, which was aborted, was read"
        elif is_committed:
            for partition, name in missing:
                yield "uncommitted", partition, f"{name} of {transaction}, which was committed, is missing"
        elif read and missing:
            (partition, name), (_, other) = missing[0], read[0]
            yield "torn", partition, f"of {transaction} {other} was read, {name} is missing"
        for partition, name in read:
            if (partition, name) not in final and (partition, name) not in may_lack:
                yield "changed-outcome", partition, f"{name} of {transaction} was read, and is missing in the end"


def _outcomes(history: History) -> dict[Id, bool | None]:
    """By transaction whether it was committed, None for unknown. Nobody asked for the commit of those not in it."""
    asked = {one.transaction: None for one in history.events if isinstance(one, EndAsked) and one.is_commit}
    return asked | {one.transaction: one.is_commit for one in history.events if isinstance(one, Ended)}


def _offsets(history: History) -> Iterator[Broken]:
    """``offset-torn`` and ``offset-uncommitted``."""
    outcomes = _outcomes_in_the_end(history)
    sent: dict[Row, dict[int, Id]] = defaultdict(dict)
    for event in history.events:
        if isinstance(event, OffsetSent):
            sent[event.row][event.offset] = event.transaction
    for row, last in history.offsets.items():
        allowed = _last_offsets(sent[row], outcomes)
        if last not in allowed:
            yield "offset-torn", row, f"the committed offset is {last}, which is none of {sorted(allowed, key=str)}"
    for event in history.events:
        if isinstance(event, OffsetRead):
            transaction = sent[event.row].get(event.offset)
            if outcomes.get(transaction, False) is False:
                what = f"the offset {event.offset} of {transaction}, which is not committed, was read"
                yield "offset-uncommitted", event.row, what


def _outcomes_in_the_end(history: History) -> dict[Id, bool | None]:
    """As ``_outcomes``; what a producer never heard of is taken from the records."""
    final = {(read.partition, read.id) for reads in history.committed.values() for read in reads}
    is_there: dict[Id | None, bool] = {}
    for event in history.events:
        if isinstance(event, Sent) and event.partition in history.committed:
            is_there[event.transaction] = is_there.get(event.transaction, False) or (event.partition, event.id) in final
    return {one: is_there.get(one) if known is None else known for one, known in _outcomes(history).items()}


def _last_offsets(sent: Mapping[int, Id], outcomes: Mapping[Id, bool | None]) -> set[int | None]:
    """The last offsets that a row may have: that of the last committed transaction, and those of transactions of
    unknown outcome after it."""
    found: set[int | None] = set()
    for offset, transaction in reversed(list(sent.items())):
        is_committed = outcomes.get(transaction, False)
        if is_committed is not False:
            found.add(offset)
        if is_committed:
            return found
    return found | {None}


def _is_committed_read(event: object) -> TypeGuard[Read]:
    return isinstance(event, Read) and event.is_committed


def _missing_allowed(history: History) -> set[Place]:
    """Records that are or may be below a log start that was asked for."""
    starts: dict[Partition, int] = defaultdict(int)
    offsets: dict[Place, int] = {}
    for event in history.events:
        if isinstance(event, Trimmed):
            starts[event.partition] = max(starts[event.partition], event.offset)
        elif isinstance(event, Acked | Read):
            place = event.partition, event.id
            offsets[place] = max(offsets.get(place, 0), event.offset or 0)
    sent = ((event.partition, event.id) for event in history.events if isinstance(event, Sent))
    return {place for place in sent if offsets.get(place, 0) < starts[place[0]]}


def _markers(partition: Partition, batches: Iterable[ProducerBatch]) -> Iterator[Broken]:
    """``overlapping`` and ``hanging``. The marker of a transaction has the epoch of its records, or the one after
    it."""
    last_epoch: dict[int, int] = {}
    is_open: dict[int, int] = {}
    """By producer the offset of the first record of its transaction, as far as the log goes back."""
    for batch in batches:
        producer_id, epoch = batch.producer_id, batch.producer_epoch
        last = last_epoch.get(producer_id, epoch)
        what = f"epoch {epoch} of producer {producer_id} at {batch.offset}"
        if epoch < last:
            yield "overlapping", partition, f"{what} comes after epoch {last}"
        elif batch.is_commit is None and producer_id in is_open and epoch != last:
            yield "overlapping", partition, f"{what} comes before the marker of epoch {last}"
        last_epoch[producer_id] = epoch
        if batch.is_commit is not None:
            is_open.pop(producer_id, None)
        elif batch.is_transactional:
            is_open.setdefault(producer_id, batch.offset)
    for producer_id, offset in is_open.items():
        yield "hanging", partition, f"the transaction of producer {producer_id} from {offset} on has no marker"
