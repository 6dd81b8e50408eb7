"""The transactional clients of one trial: three producers of librdkafka and one of Java, each with an id of its own,
readers of committed records and offsets, and what of their work a history has in the end.

The verdict is ``history.checker``'s, besides two promises: no transaction stays open, and no fenced producer is told
that it committed. Nothing here injects faults.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from cluster.faults.coordinators import GROUP, OFFSETS_TOPIC, TRANSACTION, coordinators
from cluster.faults.traffic import Reader, id_of
from cluster.faults.transactional_traffic import JavaWriter, LibrdkafkaWriter, OffsetReader, TransactionalWriter
from cluster.faults.trial import batches_of
from history.events import Ended, ProducerBatch, Read, Sent
from peer.broker_process import wait_until
from peer.topics import place_of, read_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cluster.faults.faulty_cluster import FaultyCluster
    from history.events import History

TIMEOUTS_MS = (4_000, 10_000, 10_000)
"""``transaction.timeout.ms`` of the producers of librdkafka. The first one leaves a transaction open in the end."""
STABLE_LIMIT_S = max(TIMEOUTS_MS) / 1000 + 10
"""How soon after the end the last stable offsets are the ends (H11)."""
RESUME_LIMIT_S = 60.0
"""How soon after a fault every producer commits again."""
GIVE_UP_S = 90.0
END_LIMIT_S = 60.0
FETCH_LIMIT_S = 10.0
CANDIDATES = 200

HEAD = struct.Struct(">21xh20xqh8x")
"""Of a batch: attributes, producer id, producer epoch."""
CONTROL_TYPE = struct.Struct(">2xh")
CONTROL_TYPE_AT = 66
"""The key of a marker, behind the batch's header and five bytes of the record; it ends with the type."""
COMMIT = 1
IS_TRANSACTIONAL, IS_CONTROL = 0x10, 0x20


class Transactions:
    """See the module."""

    def __init__(self, cluster: FaultyCluster, topic: str, partitions: int, apart: int | None) -> None:
        """``apart``: the node that coordinates the first transactional id, None for any."""
        self.cluster = cluster
        self.topic = topic
        self.group = f"{topic}-group"
        ids = [self._first_id(apart), *(f"{topic}-transactions-{number}" for number in (1, 2, 3))]
        place = cluster.bootstrap, topic, partitions
        self.writers: list[TransactionalWriter] = [
            LibrdkafkaWriter(number, ids[number], *place, self.group, timeout_ms, leaves_open=number == 0)
            for number, timeout_ms in enumerate(TIMEOUTS_MS)
        ]
        self.writers.append(JavaWriter(len(TIMEOUTS_MS), ids[-1], *place, cluster.java()))
        self.reader = Reader(cluster.bootstrap, topic, "read_committed")
        self.offset_reader = self._new_offset_reader()

    def _first_id(self, node: int | None) -> str:
        names = [f"{self.topic}-transactions-0{letter}" for letter in range(CANDIDATES)]
        found = coordinators(self.cluster, TRANSACTION, names)
        return next(name for name in names if node in (None, found[name]))

    def _new_offset_reader(self) -> OffsetReader:
        rows = [TopicPartition(self.topic, number) for number in range(len(TIMEOUTS_MS))]
        return OffsetReader(self.cluster.bootstrap, self.group, rows)

    # ---- what scenarios use
    def start(self) -> None:
        """Returns when every producer has committed."""
        at = time.monotonic()
        self.reader.start_at(dict.fromkeys(range(self.writers[0].partitions), 0))
        for client in (*self.writers, self.offset_reader):
            client.start()
        self.wait_until_all_commit(at)

    def coordinator(self) -> int:
        """The coordinator of the first transactional id."""
        name = self.writers[0].transactional_id
        return coordinators(self.cluster, TRANSACTION, [name])[name]

    def group_coordinator(self) -> int:
        return coordinators(self.cluster, GROUP, [self.group])[self.group]

    def wait_until_all_commit(self, since: float) -> float:
        """Waits until every producer is told of the commit of a transaction that was begun after ``since``; returns how
        long after ``since`` the last one was."""

        def missing() -> list[TransactionalWriter]:
            return [one for one in self.writers if one.committed_since(since) is None]

        try:
            wait_until(lambda: not missing(), GIVE_UP_S, "every producer commits")
        except AssertionError:
            states = {one.transactional_id: one.state() for one in missing()}
            raise AssertionError(f"nothing committed for {GIVE_UP_S:g} s: {states}") from None
        return max(one.committed_since(since) or since for one in self.writers) - since

    # ---- the end
    def finish(self) -> None:
        for client in self.writers:
            client.end_soon()
        for reader in (self.reader, self.offset_reader):
            if reader.is_alive():
                reader.finish()
        for client in self.writers:
            client.finish(END_LIMIT_S)

    @property
    def wrong(self) -> list[str]:
        return [sentence for one in self.writers for sentence in one.wrong]

    @property
    def stalls(self) -> int:
        return sum(one.stalls for one in self.writers)

    def outcomes(self) -> tuple[int, int, int]:
        """How many transactions their producers know to be committed, and aborted; of how many they do not know."""
        notes = [note for one in self.writers for note in one.notes]
        ends = [note.is_commit for note in notes if isinstance(note, Ended)]
        begun = {note.transaction for note in notes if isinstance(note, Sent)}
        return ends.count(True), ends.count(False), len(begun) - len(ends)

    def wait_until_stable(self) -> None:
        """Waits until no partition of the topic and of the group has an open transaction."""
        topics = (self.topic, OFFSETS_TOPIC)
        wait_until(lambda: all(map(self._is_stable, topics)), STABLE_LIMIT_S, f"{topics} have no open transaction")

    def _is_stable(self, topic: str) -> bool:
        try:
            return self._ends(topic, IsolationLevel.READ_COMMITTED) == self._ends(
                topic, IsolationLevel.READ_UNCOMMITTED
            )
        except KafkaException:
            return False

    def _ends(self, topic: str, isolation: IsolationLevel) -> dict[int, int]:
        admin = self.cluster.admin()  # kept: its requests end with its last reference
        numbers = admin.list_topics(topic, timeout=FETCH_LIMIT_S).topics[topic].partitions
        asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in numbers}
        found = admin.list_offsets(asked, isolation_level=isolation, request_timeout=FETCH_LIMIT_S)
        return {one.partition: future.result(FETCH_LIMIT_S).offset for one, future in found.items()}

    def add_to(self, history: History) -> None:
        """What was noted, and what is there in the end."""
        history.events += [*(note for one in self.writers for note in one.notes), *self.reader.reads]
        history.events += self.offset_reader.notes
        reads: dict[int, list[Read]] = {number: [] for number in range(self.writers[0].partitions)}
        for message in read_topic(self.cluster.bootstrap, self.topic, limit_s=60, isolation_level="read_committed"):
            partition, offset = place_of(message)
            reads[partition].append(Read(id_of(message), partition, offset, "fresh", is_committed=True))
        history.committed.update(reads.items())
        for number in reads:
            leader = self.cluster.broker(self.cluster.leader(self.topic, number))
            segments = sorted((leader.log_dir / f"{self.topic}-{number}").glob("*.log"))
            history.producers[number] = list(producer_batches(batch for path in segments for batch in batches_of(path)))
        history.offsets.update(self._committed_offsets().items())

    def _committed_offsets(self) -> dict[int, int | None]:
        reader, found = self._new_offset_reader(), dict[int, int | None]()

        def are_told() -> bool:
            try:
                found.update(reader.ask())
            except KafkaException:
                return False
            return True

        wait_until(are_told, FETCH_LIMIT_S, f"the committed offsets of {self.group}")
        reader.close()
        return found


def producer_batches(batches: Iterable[tuple[int, bytes]]) -> Iterator[ProducerBatch]:
    """Those of producers, among (base offset, bytes) of batches."""
    for offset, content in batches:
        attributes, producer_id, epoch = HEAD.unpack_from(content)
        if producer_id >= 0:
            is_commit = None
            if attributes & IS_CONTROL:
                is_commit = CONTROL_TYPE.unpack_from(content, CONTROL_TYPE_AT)[0] == COMMIT
            yield ProducerBatch(offset, producer_id, epoch, bool(attributes & IS_TRANSACTIONAL), is_commit)
