"""Copies the records of some topics, whose producers wrote them in the same codec: from a consumer of the source to a
transactional producer of the target.

The records, the marks of their offsets and the positions in the source are one transaction of the target. So a mirror
that is killed goes on where its last committed transaction ended, and nothing is lost or there twice. Another mirror of
the same plan fences this one: two never write.

    poll → begin → (send, poll)* → flush → send marks → flush → send positions → commit
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore._core import ClientError, Consumer, Producer
from kafkastore.admin.admin_client import AdminError
from kafkastore.errors import ErrorCode
from kafkastore.migration.clusters import client_keys
from kafkastore.migration.marks import Marks, Run, encoded, runs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafkastore._core import Delivery, FetchedRecords
    from kafkastore.migration.clusters import Cluster
    from kafkastore.migration.plan import Plan, PlannedTopic

    Partition = tuple[str, int]

RECORDS_AT_ONCE: Final = 5_000
MOST_RECORDS: Final = 50_000
"""In a transaction."""
MOST_BYTES: Final = 32 << 20
"""Of keys and values in a transaction."""
MOST_S: Final = 2.0
"""From the first record of a transaction to its end."""
LINGER_MS: Final = 100
"""How long a transaction waits for further records."""
FLUSH_MS: Final = 1_000
BATCH_BYTES: Final = 256 << 10
BATCH_OF_TOPIC: Final = 0.9
"""The share of a topic's max.message.bytes that a batch may fill."""
REQUEST_BYTES: Final = 1 << 30
"""max.request.size: the source has taken every record already."""


class OutOfRangeError(AdminError):
    """The source has no record at a position."""


class Copied(NamedTuple):
    """Of a topic, in all: ``newest_ms`` is the time of the record that was copied last, -1 for none."""

    records: int = 0
    bytes: int = 0
    newest_ms: int = -1


class Lane:
    """See the module. ``positions`` and ``marks`` are those of its partitions after the last commit."""

    def __init__(self, plan: Plan, codec: str, topics: Sequence[PlannedTopic], source: Cluster, target: Cluster):
        self.topics = {one.name: one for one in topics}
        self.positions: dict[Partition, int] = {}
        self.marks: dict[Partition, Marks] = {}
        self.copied: dict[str, Copied] = {one.name: Copied() for one in topics}
        self._group = plan.group
        self._source, self._target, self._codec = source, target, codec
        self._consumer = Consumer(consumer_keys(source, self._group))
        self._producer: Producer | None = None
        self._failure: ClientError | None = None

    def open(self) -> None:
        """Fences an earlier mirror, and aborts what it left open. Raises AdminError."""
        texts = [one.configs.get("max.message.bytes", "") for one in self.topics.values()]
        limits = [int(text) if text.isdecimal() else BATCH_BYTES for text in texts]  # the target refuses other words
        keys = client_keys(
            self._target,
            client_id=self._group,
            transactional_id=f"{self._group}-{self._codec}",
            compression_type=self._codec,
            batch_size=str(min(BATCH_BYTES, *(max(1, int(one * BATCH_OF_TOPIC)) for one in limits))),
            max_request_size=str(REQUEST_BYTES),
        )
        with said("the target"):
            self._producer = Producer(keys)
            self._producer.init_transactions()

    @property
    def producer(self) -> Producer:
        assert self._producer is not None, "the lane is open"
        return self._producer

    def begin(self, bases: Mapping[Partition, Run]) -> None:
        """Commits where partitions begin that have no position yet. Raises AdminError."""
        if not bases:
            return
        with said("the target"), self._transaction():
            self._send_marks({key: [base] for key, base in bases.items()})
            self._commit({key: base.source for key, base in bases.items()})
        for key, base in bases.items():
            self.positions[key] = base.source
            self.marks.setdefault(key, Marks()).add(base)

    def read_on(self) -> None:
        """Reads from the positions."""
        self._consumer.assign(self.positions)

    def ends(self) -> dict[Partition, int]:
        """How far each partition can be read, as its leader said last: to the first open transaction."""
        return self._consumer.high_watermarks()

    def reached(self) -> dict[Partition, int]:
        """How far each partition is read: beyond the position there is nothing but markers and aborted records."""
        return self._consumer.positions()

    def warnings(self) -> list[str]:
        return self._consumer.take_warnings()

    def copy_some(self, wait_ms: int) -> int:
        """One transaction, of the records that come within ``wait_ms``; how many. Raises AdminError."""
        with said("the source"):
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            found = self._consumer.poll(wait_ms, RECORDS_AT_ONCE)
        if not found:
            return 0
        began = time.monotonic()
        batches: list[FetchedRecords] = []
        deliveries: list[Delivery] = []
        with said("the target"), self._transaction():
            size = count = 0
            while found:
                for one in found:
                    self._send(one, deliveries)
                    size, count = size + one.bytes, count + one.count
                batches += found
                if size > MOST_BYTES or count > MOST_RECORDS or time.monotonic() - began > MOST_S:
                    break
                found = self._polled_in_transaction()
            self._flush(deliveries)
            runs = self._runs(batches, deliveries)
            self._send_marks(runs)
            reached = self._consumer.positions()
            positions = {key: reached[key] for key in runs}
            self._commit(positions)
        self.positions |= positions
        for key, found_runs in runs.items():
            for run in found_runs:
                self.marks[key].add(run)
        self._count(batches)
        return count

    def _polled_in_transaction(self) -> list[FetchedRecords]:
        """What comes soon; an error of the source is raised when the transaction is committed."""
        try:
            return self._consumer.poll(LINGER_MS, RECORDS_AT_ONCE)
        except ClientError as error:
            self._failure = error
            return []

    def _send(self, batch: FetchedRecords, deliveries: list[Delivery]) -> None:
        number = batch.partition
        rows = [
            (one.key, one.value, one.headers, number, one.timestamp_ms if one.timestamp_ms >= 0 else None)
            for one in batch.records()
        ]
        has_room = self.producer.send(batch.topic, rows)
        while not has_room:
            deliveries += self.producer.poll(FLUSH_MS)
            has_room = self.producer.pending()[1] < MOST_BYTES

    def _flush(self, deliveries: list[Delivery]) -> None:
        while not self.producer.flush(FLUSH_MS):
            deliveries += self.producer.poll(0)
        deliveries += self.producer.poll(0)
        for one in deliveries:
            if one.error is not None:
                raise AdminError(f"the target refuses records of {one.topic}-{one.partition}: {one.message}")

    def _runs(self, batches: Iterable[FetchedRecords], deliveries: Iterable[Delivery]) -> dict[Partition, list[Run]]:
        sources: dict[Partition, list[tuple[int, int]]] = {}
        targets: dict[Partition, list[tuple[int, int]]] = {}
        for batch in batches:
            found = sources.setdefault((batch.topic, batch.partition), [])
            if batch.last_offset - batch.first_offset + 1 == batch.count:
                found.append((batch.first_offset, batch.count))
            else:
                found += [(one.offset, 1) for one in batch.records()]
        for one in sorted(deliveries, key=lambda one: one.base_offset):
            targets.setdefault((one.topic, one.partition), []).append((one.base_offset, one.count))
        try:
            return {key: runs_of(found, targets.get(key, [])) for key, found in sources.items()}
        except ValueError as error:
            raise AdminError(f"the target answers for other records than were sent: {error}") from None

    def _send_marks(self, runs: Mapping[Partition, Sequence[Run]]) -> None:
        rows = [(*encoded(topic, number, found), None, 0, None) for (topic, number), found in runs.items()]
        self.producer.send(self._group, rows)
        self._flush([])

    def _commit(self, positions: Mapping[Partition, int]) -> None:
        self.producer.send_offsets_to_transaction(self._group, positions)
        self.producer.commit_transaction()

    def _transaction(self) -> _Transaction:
        return _Transaction(self.producer)

    def _count(self, batches: Iterable[FetchedRecords]) -> None:
        for one in batches:
            last = one.records()[-1].timestamp_ms
            before = self.copied[one.topic]
            self.copied[one.topic] = Copied(before.records + one.count, before.bytes + one.bytes, last)

    def close(self) -> None:
        self._consumer.close()
        if self._producer is not None:
            self._producer.close()


class _Transaction:
    """Begun, and aborted when the block fails."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def __enter__(self) -> None:
        self._producer.begin_transaction()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            with suppress(ClientError, KeyboardInterrupt):  # the next start aborts it
                self._producer.abort_transaction()


class said:  # noqa: N801 - a context manager, as contextlib's own
    """Turns errors of a consumer or producer into an AdminError that names the side."""

    def __init__(self, side: str) -> None:
        self._side = side

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ClientError):
            kind = OutOfRangeError if error.code == ErrorCode.OFFSET_OUT_OF_RANGE else AdminError
            raise kind(f"{self._side}: {error}") from None
        if isinstance(error, ValueError):
            raise AdminError(f"{self._side}: {error}") from None


def consumer_keys(cluster: Cluster, client_id: str) -> dict[str, str]:
    """Of a consumer of committed records that resets nothing and makes no topic."""
    return client_keys(
        cluster,
        client_id=client_id,
        isolation_level="read_committed",
        auto_offset_reset="none",
        allow_auto_create_topics="false",
    )
