"""The rules of compacted topics, with the events of their clients and what replicas hold at the end.

A record has a key and a name of its own; a record without a value is a tombstone. Compaction removes records and never
moves or changes one, so the rules of ``checker.py`` for losses and for equal replicas do not hold here.

| rule | broken when |
|---|---|
| ``key-changed`` | readers, replicas or acknowledgements tell of two records at one offset, or of one at two |
| ``key-invented`` | a record was read that was never sent, or was sent with another key or as something else |
| ``key-backward`` | a pass from the beginning was given offsets that do not rise |
| ``key-missed`` | a pass ended without the last value, or a newer one, that was acknowledged before the pass began |
| ``key-deleted`` | a pass ended with a value that a tombstone had deleted before the pass began |
| ``key-lost`` | at the end a replica lacks the last record of a key, and it is no tombstone that may be gone |
| ``key-revived`` | at the end a replica has a value that a tombstone had deleted, without the tombstone |
| ``key-ends`` | at the end two replicas end at different offsets |
| ``uncleaned`` | what clients wrote was not cleaned although all was quiet |
| ``uncompacted`` | a replica has two records of a key in the part that was cleaned twice |
| ``tombstone-left`` | a replica has a tombstone there, though its delete horizon was over at the second cleaning |

When a tombstone may be gone. No replica removes it before ``delete.retention.ms`` have passed since it was sent: within
that time every pass finds it, whichever replicas it reads from. Later the promise of ``delete.retention.ms`` is that of
one replica: a pass that reads from one leader alone, and takes no longer than the retention less the longest cleaning,
finds the tombstone of each value that it has read. The horizon is counted from the beginning of a cleaning, as in
Apache Kafka. Another replica may have removed the tombstone earlier, so a pass that changes its leader may miss it.

This module reads no log and knows no broker.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from history.events import Id, Partition

    Broken = tuple[str, Partition, str]
    """The name of the rule, the partition, and what is wrong."""


class Keyed(NamedTuple):
    """A record of a compacted topic, as it was sent or read."""

    id: Id
    key: str
    is_tombstone: bool = False


@dataclass(frozen=True, slots=True)
class KeySent:
    """A producer is about to send the record for the first time."""

    record: Keyed
    partition: Partition
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class KeyAcked:
    """Its producer was told that it stands there, under ``acks=all``."""

    record: Keyed
    partition: Partition
    offset: int


@dataclass(frozen=True, slots=True)
class PassBegan:
    """A reader begins at the beginning of the log; whatever it had read before, it forgets."""

    reader: str
    partition: Partition
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class KeyRead:
    """A reader got the record in the present pass."""

    reader: str
    partition: Partition
    offset: int
    record: Keyed


@dataclass(frozen=True, slots=True)
class PassEnded:
    """The reader has read at least what was acknowledged when it began. ``has_one_leader``: all answers came from one
    broker in one leader epoch."""

    reader: str
    partition: Partition
    has_one_leader: bool
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class KeptReplica:
    """What one broker's log holds at the end. ``clean_to``: everything below it was cleaned twice since the clients had
    stopped, all delete horizons between the two; None when that never happened."""

    partition: Partition
    broker: int
    log_end: int
    records: Mapping[int, Keyed]
    clean_to: int | None
    time: float = 0.0


Event = KeySent | KeyAcked | PassBegan | KeyRead | PassEnded


@dataclass(slots=True)
class CompactionHistory:
    """Of the compacted topics of a run. ``replicas`` were looked at when the cluster was whole again, and ``cleaned``
    when everything had been cleaned twice."""

    delete_retention_s: float
    longest_cleaning_s: float = 0.0
    events: list[Event] = field(default_factory=list)
    replicas: list[KeptReplica] = field(default_factory=list)
    cleaned: list[KeptReplica] = field(default_factory=list)


class _Known:
    """What was sent, and the last acknowledged record of each key: at present, or when a pass began."""

    def __init__(self, history: CompactionHistory) -> None:
        self.history = history
        self.sent: dict[tuple[Partition, Id], KeySent] = {}
        self.last: dict[Partition, dict[str, tuple[int, Keyed]]] = defaultdict(dict)
        self._at: dict[tuple[Partition, int], Keyed] = {}
        self._offsets: dict[tuple[Partition, Id], int] = {}

    def ack(self, event: KeyAcked) -> None:
        last = self.last[event.partition].get(event.record.key)
        if last is None or last[0] < event.offset:
            self.last[event.partition][event.record.key] = event.offset, event.record

    def look(self, partition: Partition, offset: int, record: Keyed) -> Iterator[Broken]:
        """``key-changed`` and ``key-invented``."""
        before = self._at.setdefault((partition, offset), record)
        if before != record:
            yield "key-changed", partition, f"offset {offset} was {before}, then {record}"
        stands = self._offsets.setdefault((partition, record.id), offset)
        if stands != offset:
            yield "key-changed", partition, f"{record} was at {stands}, then at {offset}"
        sent = self.sent.get((partition, record.id))
        if sent is None or sent.record != record:
            yield "key-invented", partition, f"{record} at {offset} was never sent there"

    def may_be_gone(self, partition: Partition, tombstone: Keyed, now: float) -> bool:
        """Whether its retention is over for the replica that had it first."""
        return now >= self.sent[partition, tombstone.id].time + self.history.delete_retention_s


class _Pass:
    """Of one reader, from the beginning of the log."""

    def __init__(self, began: PassBegan, last: Mapping[str, tuple[int, Keyed]]) -> None:
        self.began = began
        self.last = dict(last)
        self.offset = -1
        self.view: dict[str, tuple[int, Keyed]] = {}

    def read(self, event: KeyRead) -> Iterator[Broken]:
        if event.offset <= self.offset:
            yield "key-backward", event.partition, f"{event.reader} got {event.offset} after {self.offset}"
        self.offset = event.offset
        self.view[event.record.key] = event.offset, event.record

    def end(self, event: PassEnded, known: _Known) -> Iterator[Broken]:
        """``key-missed`` and ``key-deleted``."""
        history, partition = known.history, event.partition
        takes_s = event.time - self.began.time + history.longest_cleaning_s
        is_in_time = event.has_one_leader and takes_s <= history.delete_retention_s
        for key, (offset, record) in self.last.items():
            seen = self.view.get(key)
            if seen is not None and seen[0] >= offset:
                continue
            has = f"the pass of {event.reader} from {self.began.time:.3f} to {event.time:.3f} has {seen}"
            if not record.is_tombstone:
                yield "key-missed", partition, f"{record} was acknowledged at {offset}; {has}"
                continue
            must_be_seen = is_in_time or not known.may_be_gone(partition, record, event.time)
            if must_be_seen and seen is not None and not seen[1].is_tombstone:
                yield "key-deleted", partition, f"{record} was acknowledged at {offset}; {has}"


def broken_by_compaction(history: CompactionHistory) -> Iterator[Broken]:
    """All that is wrong; see the module."""
    known = _Known(history)
    passes: dict[tuple[Partition, str], _Pass] = {}
    for event in history.events:
        if isinstance(event, KeySent):
            known.sent[event.partition, event.record.id] = event
        elif isinstance(event, KeyAcked):
            yield from known.look(event.partition, event.offset, event.record)
            known.ack(event)
        elif isinstance(event, PassBegan):
            passes[event.partition, event.reader] = _Pass(event, known.last[event.partition])
        elif isinstance(event, KeyRead):
            yield from known.look(event.partition, event.offset, event.record)
            yield from passes[event.partition, event.reader].read(event)
        else:
            yield from passes[event.partition, event.reader].end(event, known)
    for replica in (*history.replicas, *history.cleaned):
        for offset, record in replica.records.items():
            yield from known.look(replica.partition, offset, record)
        yield from _kept(replica, known)
    yield from _ends(history.replicas)
    for replica in history.cleaned:
        yield from _cleaned(replica)


def _kept(replica: KeptReplica, known: _Known) -> Iterator[Broken]:
    """``key-lost`` and ``key-revived``."""
    has: dict[str, tuple[int, Keyed]] = {}
    for offset, record in sorted(replica.records.items()):
        has[record.key] = offset, record
    for key, (offset, record) in known.last[replica.partition].items():
        there = has.get(key)
        if there is not None and there[0] >= offset:
            continue
        what = f"{record} was acknowledged at {offset}; broker {replica.broker} has {there}"
        if not (record.is_tombstone and known.may_be_gone(replica.partition, record, replica.time)):
            yield "key-lost", replica.partition, what
        elif there is not None and not there[1].is_tombstone:
            yield "key-revived", replica.partition, what


def _ends(replicas: Iterable[KeptReplica]) -> Iterator[Broken]:
    """``key-ends``."""
    for one, other in pairwise(sorted(replicas, key=lambda replica: (str(replica.partition), replica.broker))):
        if one.partition == other.partition and one.log_end != other.log_end:
            what = f"brokers {one.broker} and {other.broker} end at {one.log_end} and {other.log_end}"
            yield "key-ends", one.partition, what


def _cleaned(replica: KeptReplica) -> Iterator[Broken]:
    """``uncleaned``, ``uncompacted`` and ``tombstone-left``."""
    if replica.clean_to is None:
        yield "uncleaned", replica.partition, f"broker {replica.broker} has not cleaned what clients wrote"
        return
    seen: dict[str, int] = {}
    for offset, record in sorted(replica.records.items()):
        if offset >= replica.clean_to:
            break
        if record.key in seen:
            what = f"broker {replica.broker} has {record.key} at {seen[record.key]} and {offset}"
            yield "uncompacted", replica.partition, what
        if record.is_tombstone:
            yield "tombstone-left", replica.partition, f"broker {replica.broker} has {record} at {offset}"
        seen[record.key] = offset
