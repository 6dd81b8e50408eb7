"""Says what in a history may not have been.

A history in, a list of violations out; an empty list says that no rule was broken by what was recorded. Each rule has a
name, and a violation is one sentence with that name. It reads no log, knows no broker and never repairs a history.

| rule | broken when |
|---|---|
| ``lost`` | an id acknowledged as durable, or read, is not in the final log nor below a log start that was asked for |
| ``moved`` | an id was acknowledged or read at one offset and is in the final log, or was told, at another |
| ``duplicated`` | an id of an idempotent producer is in the final log twice |
| ``reordered`` | of two ids of one producer the later one is first in the final log (idempotent producers) |
| ``unsorted`` | the offsets of the final log do not rise |
| ``invented`` | an id is in a log, or acknowledged, that was never sent to that partition |
| ``refused`` | an id that its producer was told is not written was read |
| ``changed`` | two readers, or one reader twice, got different ids at one offset |
| ``went-back`` | the end that one client was told is lower than before |
| ``unread`` | a reader was given offsets out of order |
| ``two-leaders`` | two brokers led a partition in one leader epoch |
| ``divergent`` | two replicas differ at an offset below the high watermark of both |
| ``incomplete`` | a replica lacks an offset below its high watermark that another has |
| ``unfinished`` | a partition still moves, or a replica that was taken from it is still to be deleted |
| ``misplaced`` | its replicas are none that were asked for, or not the last that were confirmed |
| ``not-in-sync`` | a replica is not in the in-sync set, or the set has somebody else |
| ``left-behind`` | a broker that is no replica, or no more, has a log of it, or one has two |

``transactions.py`` has the rules of transactions.

A topic is its id: one that is made anew under a name has other partitions, so a record of the earlier one in it is
``invented``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeVar

from history.events import (
    Acked,
    History,
    Id,
    Led,
    Partition,
    Placement,
    Read,
    Refused,
    Replica,
    Sent,
    Trimmed,
    Watermark,
)
from history.transactions import broken_by_transactions

Place = tuple[Partition, Id]

Kind = TypeVar("Kind")


class Violation(NamedTuple):
    """One rule broken once."""

    rule: str
    partition: Partition
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.partition}: {self.what}"


def check(history: History) -> list[Violation]:
    """All that is wrong with it; see the module."""
    found: list[Violation] = []
    for rule in (_promises, _places, _producers, _sorted, _origins, _reads, _watermarks, _leaders, _replicas):
        found.extend(rule(history))
    found.extend(Violation(*broken) for broken in broken_by_transactions(history))
    return [*found, *misplaced(history.placements)]


def _all(history: History, kind: type[Kind]) -> Iterator[Kind]:
    return (event for event in history.events if isinstance(event, kind))


def _final_offsets(history: History) -> dict[Place, list[int]]:
    offsets: dict[Place, list[int]] = defaultdict(list)
    for partition, reads in history.final.items():
        for read in reads:
            offsets[partition, read.id].append(read.offset)
    return offsets


def _log_starts(history: History) -> dict[Partition, int]:
    """How far whoever may do so has asked for the log start to go, by partition."""
    starts: dict[Partition, int] = defaultdict(int)
    for trimmed in _all(history, Trimmed):
        starts[trimmed.partition] = max(starts[trimmed.partition], trimmed.offset)
    return starts


def _promises(history: History) -> Iterator[Violation]:
    """``lost``."""
    final, start = _final_offsets(history), _log_starts(history)
    told: set[Place] = set()
    for event in history.events:
        if isinstance(event, Acked) and not event.is_durable:
            continue
        if not isinstance(event, Acked | Read) or event.partition not in history.final:
            continue
        if event.offset is None and start[event.partition]:
            continue  # it may be among what was deleted
        if event.offset is not None and event.offset < start[event.partition]:
            continue
        place = event.partition, event.id
        if place not in final and place not in told:
            told.add(place)
            verb = "acknowledged" if isinstance(event, Acked) else f"read by {event.reader}"
            at = "" if event.offset is None else f" at {event.offset}"
            yield Violation("lost", event.partition, f"{event.id} was {verb}{at} and is gone")


def _places(history: History) -> Iterator[Violation]:
    """``moved``. Of what was written twice the first may be below the log start: a replica whose log began there,
    empty, does not know what the producer had written, and takes a repeat for new, as Apache Kafka's does.
    """
    final, start = _final_offsets(history), _log_starts(history)
    may_repeat = {(one.partition, one.id) for one in _all(history, Sent) if not one.is_idempotent}
    durable: dict[Place, int] = {}
    for event in history.events:
        if not isinstance(event, Acked | Read) or (isinstance(event, Acked) and not event.is_durable):
            continue
        if event.offset is None:
            continue
        place = event.partition, event.id
        stands = final.get(place)
        if stands is not None and event.offset not in stands and event.offset >= start[event.partition]:
            yield Violation("moved", event.partition, f"{event.id} was told to be at {event.offset}, is at {stands}")
        before = durable.setdefault(place, event.offset)
        if before != event.offset and place not in may_repeat and before >= start[event.partition]:
            yield Violation("moved", event.partition, f"{event.id} was told to be at {before}, then at {event.offset}")


def _producers(history: History) -> Iterator[Violation]:
    """``duplicated`` and ``reordered``."""
    final = _final_offsets(history)
    by_producer: dict[tuple[Partition, str], list[Sent]] = defaultdict(list)
    for sent in _all(history, Sent):
        if sent.is_idempotent:
            by_producer[sent.partition, sent.producer].append(sent)
    for (partition, producer), records in by_producer.items():
        present = [(final[partition, one.id], one) for one in records if (partition, one.id) in final]
        for offsets, sent in present:
            if len(offsets) > 1:
                yield Violation("duplicated", partition, f"{sent.id} of {producer} is at {offsets}")
        present.sort(key=lambda pair: pair[1].sequence)
        for (before, first), (after, second) in pairwise(present):
            if after[0] < before[0]:
                what = f"{second.id} of {producer} was sent after {first.id}, is at {after[0]}, before {before[0]}"
                yield Violation("reordered", partition, what)


def _sorted(history: History) -> Iterator[Violation]:
    """``unsorted``."""
    for partition, reads in history.final.items():
        for before, after in pairwise(reads):
            if after.offset <= before.offset:
                yield Violation("unsorted", partition, f"offset {after.offset} came after {before.offset}")


def _origins(history: History) -> Iterator[Violation]:
    """``invented`` and ``refused``. A record may be read before its producer is told anything, but not before it is
    sent."""
    sent = {(one.partition, one.id) for one in _all(history, Sent)}
    refused = {(one.partition, one.id) for one in _all(history, Refused)}
    finals = (read for reads in history.final.values() for read in reads)
    told: set[Place] = set()
    logged: list[Acked | Read] = [*_all(history, Acked), *_all(history, Read), *finals]
    for event in logged:
        place = event.partition, event.id
        if place in told:
            continue
        if place not in sent:
            told.add(place)
            yield Violation("invented", event.partition, f"{event.id} at {event.offset} was never sent there")
        elif place in refused and isinstance(event, Read):
            told.add(place)
            yield Violation("refused", event.partition, f"{event.id} was refused and is at {event.offset}")


def _reads(history: History) -> Iterator[Violation]:
    """``changed`` and ``unread``; the final reader is one of the readers."""
    seen: dict[tuple[Partition, int], Id] = {}
    position: dict[tuple[Partition, str], int] = {}
    finals = (read for reads in history.final.values() for read in reads)
    for read in (*_all(history, Read), *finals):
        before = seen.setdefault((read.partition, read.offset), read.id)
        if before != read.id:
            yield Violation("changed", read.partition, f"offset {read.offset} was {before}, then {read.id}")
    for read in _all(history, Read):
        last = position.get((read.partition, read.reader), -1)
        if read.offset <= last:
            yield Violation("unread", read.partition, f"{read.reader} got {read.offset} after {last}")
        position[read.partition, read.reader] = read.offset


def _watermarks(history: History) -> Iterator[Violation]:
    """``went-back``. What a client has read counts: the end cannot be below it."""
    highest: dict[tuple[Partition, str], int] = {}
    for event in history.events:
        if isinstance(event, Watermark):
            key = event.partition, event.client
            before = highest.get(key, 0)
            if event.offset < before:
                yield Violation("went-back", event.partition, f"{event.client} was told {before}, then {event.offset}")
            highest[key] = max(before, event.offset)
        elif isinstance(event, Read):
            key = event.partition, event.reader
            highest[key] = max(highest.get(key, 0), event.offset + 1)


def _leaders(history: History) -> Iterator[Violation]:
    """``two-leaders``."""
    leaders: dict[tuple[Partition, int], int] = {}
    for led in _all(history, Led):
        first = leaders.setdefault((led.partition, led.leader_epoch), led.broker)
        if first != led.broker:
            yield Violation(
                "two-leaders", led.partition, f"{first} and {led.broker} in leader epoch {led.leader_epoch}"
            )


def _replicas(history: History) -> Iterator[Violation]:
    """``divergent`` and ``incomplete``. Each is compared with the fullest: the one with the highest watermark."""
    by_partition: dict[Partition, list[Replica]] = defaultdict(list)
    for replica in history.replicas:
        by_partition[replica.partition].append(replica)
    for partition, replicas in by_partition.items():
        fullest = max(replicas, key=lambda one: one.high_watermark)
        for one in replicas:
            yield from _compared(partition, one, fullest)


def _compared(partition: Partition, one: Replica, other: Replica) -> Iterator[Violation]:
    start = max(one.log_start, other.log_start)
    bound = min(one.high_watermark, other.high_watermark)
    for offset in sorted(one.records.keys() | other.records.keys()):
        if not start <= offset < bound:
            continue
        if offset not in one.records or offset not in other.records:
            lacking = one if offset not in one.records else other
            if lacking.is_compacted:
                continue
            yield Violation("incomplete", partition, f"broker {lacking.broker} has nothing at {offset}")
        elif one.records[offset] != other.records[offset]:
            yield Violation("divergent", partition, f"brokers {one.broker} and {other.broker} differ at {offset}")


def misplaced(placements: Iterable[Placement]) -> Iterator[Violation]:
    """``unfinished``, ``misplaced``, ``not-in-sync`` and ``left-behind``; true of a cluster that is whole, not of one
    at work."""
    for one in placements:
        replicas = frozenset(one.replicas)
        if one.is_moving:
            yield Violation("unfinished", one.partition, f"the move to {list(one.replicas)} has not ended")
        if one.allowed and replicas not in one.allowed:
            asked = sorted(sorted(target) for target in one.allowed)
            yield Violation("misplaced", one.partition, f"it is on {list(one.replicas)}, which is none of {asked}")
        if replicas != frozenset(one.in_sync):
            yield Violation("not-in-sync", one.partition, f"{list(one.in_sync)} of {list(one.replicas)} are in sync")
        for broker in sorted(set(one.logs)):
            count = one.logs.count(broker)
            if count > (broker in replicas):
                yield Violation("left-behind", one.partition, f"broker {broker} has {count} logs of it")


def broken_rules(history: History) -> set[str]:
    """The names alone."""
    return {violation.rule for violation in check(history)}
