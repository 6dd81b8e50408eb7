"""What a recorder notes of a run. Plain values, in the order in which they happened as one observer saw them.

An ``id`` names one record of a producer and is in the record's value, so that a read can be told from another.
Partitions are any hashable name (``"topic-0"``, ``("topic", 0)``), producers and readers any text. Nothing here decides
anything.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

Partition = Hashable
Id = Hashable
Row = Hashable


@dataclass(frozen=True, slots=True)
class Sent:
    """A producer handed over a record for the first time (a retry is the same record). ``sequence`` rises by one with
    each of the producer's records for that partition."""

    id: Id
    producer: str
    partition: Partition
    sequence: int
    is_idempotent: bool = True
    transaction: Id | None = None
    """The transaction that the record is in, if any."""


@dataclass(frozen=True, slots=True)
class Acked:
    """Its producer was told that it stands there. ``is_durable``: under ``acks=all``, so it may not be lost while a
    replica that was in sync lives; without, it may be lost, but not moved or changed. No offset: where, it was not
    told."""

    id: Id
    partition: Partition
    offset: int | None
    is_durable: bool = True
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class Refused:
    """Its producer was told, for good, that it was not written. What a timeout leaves unknown is not noted at all."""

    id: Id
    partition: Partition
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class Read:
    """A consumer got it: it was below the high watermark. ``is_committed``: the consumer reads ``read_committed``."""

    id: Id
    partition: Partition
    offset: int
    reader: str = "consumer"
    time: float = 0.0
    is_committed: bool = False


@dataclass(frozen=True, slots=True)
class Watermark:
    """A client was told the end of what is committed (ListOffsets; KIP-207)."""

    partition: Partition
    offset: int
    client: str = "consumer"
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class Led:
    """A broker was granted leadership of a partition in that leader epoch."""

    partition: Partition
    leader_epoch: int
    broker: int
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Somebody was entitled to move the log start up to there: a client that asked for it (DeleteRecords), or retention
    by the configuration that was asked for, whatever a broker did. What is below may be gone."""

    partition: Partition
    offset: int
    why: str = ""
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class EndAsked:
    """A producer is about to ask for the end of a transaction. Without this event nobody ever asked for it."""

    transaction: Id
    is_commit: bool
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """A producer was told the outcome of its transaction, or knows it: the only commit that it asked for was refused.
    Without this event the outcome of a transaction whose commit was asked for is unknown."""

    transaction: Id
    is_commit: bool
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class OffsetSent:
    """A producer is about to commit an offset in a transaction. ``row`` names a group and a partition; its transactions
    follow one another, and each has another offset."""

    transaction: Id
    row: Row
    offset: int


@dataclass(frozen=True, slots=True)
class OffsetRead:
    """A client was told the committed offset of a row (OffsetFetch); ``is_stale``: by a broker that has not heard that
    another one coordinates the group."""

    row: Row
    offset: int
    is_stale: bool = False


Event = Sent | Acked | Refused | Read | Watermark | Led | Trimmed | EndAsked | Ended | OffsetSent | OffsetRead


@dataclass(frozen=True, slots=True)
class ProducerBatch:
    """A batch of a producer, as a log has it when all is over. ``is_commit`` is the outcome of a marker, None for
    records."""

    offset: int
    producer_id: int
    producer_epoch: int
    is_transactional: bool = False
    is_commit: bool | None = None


@dataclass(frozen=True, slots=True)
class Replica:
    """What one broker's log holds when all is over: for each offset the record's bytes, or a digest of them that every
    replica makes in the same way."""

    partition: Partition
    broker: int
    high_watermark: int
    records: Mapping[int, bytes]
    log_start: int = 0
    is_compacted: bool = False
    """Each replica may lack records that another has."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a partition is when all is over: what was decided, and on whose disks logs of it lie (each log its broker;
    a log that waits for its removal does not count). ``allowed`` are the sets of replicas that were asked for, the last
    of them alone when it was confirmed; empty when nothing is known. A partition of a topic that is gone has no
    replicas."""

    partition: Partition
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...] = ()
    logs: tuple[int, ...] = ()
    is_moving: bool = False
    """Replicas are added or removed, or one that was removed is not known to be deleted."""
    allowed: frozenset[frozenset[int]] = frozenset()


@dataclass(slots=True)
class History:
    """A whole run. ``final`` is what a fresh reader found from each log's start to the end, when the cluster was whole
    again; a partition that is not in it was not read and is not checked for losses."""

    events: list[Event] = field(default_factory=list)
    final: dict[Partition, Sequence[Read]] = field(default_factory=dict)
    replicas: list[Replica] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)
    committed: dict[Partition, Sequence[Read]] = field(default_factory=dict)
    """As ``final``, of a reader with ``read_committed``; empty when no transactions were played."""
    producers: dict[Partition, Sequence[ProducerBatch]] = field(default_factory=dict)
    """By partition the batches of producers in the log, in order."""
    offsets: dict[Row, int | None] = field(default_factory=dict)
    """The committed offset of each row when the cluster was whole again, None for none."""
