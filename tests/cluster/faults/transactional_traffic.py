"""Producers of transactions that work while faults happen, and a reader of the offsets that they commit.

Each runs on a thread of its own from ``start`` to ``finish``, and notes events of ``history.events``. A transaction has
records in all partitions of the topic and, with librdkafka, the committed offset of a row of the group: its own number.
After an error a producer aborts; when that fails too, a new producer with the same transactional id follows. Nothing
here judges what was noted.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from cluster.faults.traffic import CLIENT, id_of
from history.events import Acked, EndAsked, Ended, Event, OffsetRead, OffsetSent, Sent
from peer.java_tools import JavaTools
from peer.topics import acked_place

FIRST_ID = 4_000_000_000
IDS_OF_ONE = 100_000_000
RECORD_BYTES = 100
PAUSE_S = 0.01
COMMIT_SHARE = 0.75
FENCE_EVERY = 20
"""In one of so many transactions a second producer takes over the transactional id, and the first one goes on."""

CALL_LIMIT_S = 8.0
STALL_S = CALL_LIMIT_S + 4
"""A call that takes longer never returns: in send_offsets_to_transaction librdkafka 2.16 waits for a group coordinator
that has died, whatever the limit of the call (its issues 5456 and 5511)."""
SILENT = logging.Logger("fenced producers", logging.CRITICAL + 1)
"""librdkafka prints the end of a fenced producer at every log level."""

JOIN_S = 0.1
FETCH_LIMIT_S = 2.0
FETCH_PAUSE_S = 0.1


@dataclass(frozen=True)
class Transaction:
    """What a producer is about to do: records (partition, id), and how it is to end."""

    name: str
    number: int
    records: list[tuple[int, int]]
    is_commit: bool
    begun_at: float


class TransactionalWriter(threading.Thread, ABC):
    """Transactions of one transactional id, one after the other. The ``number`` tells writers of a topic apart."""

    def __init__(self, number: int, transactional_id: str, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__(name=transactional_id, daemon=True)
        self.number = number
        self.transactional_id = transactional_id
        self.bootstrap = bootstrap
        self.topic = topic
        self.partitions = partitions
        self.notes: list[Event] = []
        self.commits: list[tuple[float, float]] = []
        """Of each transaction that was answered as committed, when it was begun and when it was answered."""
        self.errors: list[str] = []
        self.wrong: list[str] = []
        """Broken promises and unexpected errors, as sentences."""
        self.stalls = 0
        """How many calls of the client never returned, whatever their limit."""
        self._random = Random(transactional_id)
        self._sent = 0
        self._planned = 0
        self._enough = threading.Event()

    def is_over(self) -> bool:
        """Whether the thread that asks may begin no other transaction."""
        return self._enough.is_set()

    def run(self) -> None:
        while not self.is_over():
            try:
                self.live()
            except KafkaException as error:
                self.errors.append(str(error))
            except Exception as error:  # noqa: BLE001
                self.wrong.append(f"{self.transactional_id} ended: {type(error).__name__}: {error}")
                self.end_soon()

    @abstractmethod
    def live(self) -> None:
        """Runs transactions until it is enough, or until a new producer is needed."""

    def end_soon(self) -> None:
        """No transaction follows the present one."""
        self._enough.set()

    def finish(self, limit_s: float) -> None:
        self.end_soon()
        self.join(limit_s)
        assert not self.is_alive(), f"{self.transactional_id} does not end: {self.state()}"

    def working_thread(self) -> threading.Thread:
        return self

    def state(self) -> str:
        """Which line it is at, and its last errors."""
        frame = sys._current_frames().get(self.working_thread().ident or 0)
        lines = [f"{at.name}: {at.line}" for at in traceback.extract_stack(frame)] if frame else ["ended"]
        return f"at {lines[-2:]}, errors {self.errors[-3:]}"

    def committed_since(self, since: float) -> float | None:
        """When a transaction that was begun after ``since`` was first answered as committed."""
        return next((at for begun_at, at in list(self.commits) if begun_at > since), None)

    def plan(self) -> Transaction:
        """The next transaction; notes its records."""
        self._planned += 1
        partitions = [number for number in range(self.partitions) for _ in range(self._random.randint(1, 3))]
        self._random.shuffle(partitions)
        name = f"{self.transactional_id}.{self._planned}"
        records = [(partition, self.note_sent(name, partition)) for partition in partitions]
        is_commit = self._random.random() < COMMIT_SHARE
        return Transaction(name, self._planned, records, is_commit, time.monotonic())

    def note_sent(self, transaction: str, partition: int) -> int:
        """Notes one more record of the transaction; returns its id."""
        self._sent += 1
        name = FIRST_ID + self.number * IDS_OF_ONE + self._sent
        self.notes.append(Sent(name, self.transactional_id, partition, self._sent, transaction=transaction))
        return name

    def note_end(self, transaction: Transaction, *, is_commit: bool) -> None:
        """Notes that the outcome was answered."""
        self.notes.append(Ended(transaction.name, is_commit))
        if is_commit:
            self.commits.append((transaction.begun_at, time.monotonic()))


class LibrdkafkaWriter(TransactionalWriter):
    """See the module. ``timeout_ms`` is the transactions'; a writer that ``leaves_open`` ends in the middle of one."""

    def __init__(
        self,
        number: int,
        transactional_id: str,
        bootstrap: str,
        topic: str,
        partitions: int,
        group: str,
        timeout_ms: int,
        leaves_open: bool,
    ) -> None:
        super().__init__(number, transactional_id, bootstrap, topic, partitions)
        self.row = TopicPartition(topic, number)
        self.timeout_ms = timeout_ms
        self.leaves_open = leaves_open
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **CLIENT})
        self._group = self._consumer.consumer_group_metadata()
        self._life = threading.Thread()
        self._called_at = 0.0

    def run(self) -> None:
        """Each producer lives on a thread of its own, which is left behind when a call never returns."""
        while not self._enough.is_set():
            self._called_at = time.monotonic()
            self._life = life = threading.Thread(target=super().run, name=self.name, daemon=True)
            life.start()
            while life.is_alive() and time.monotonic() < self._called_at + STALL_S:
                life.join(JOIN_S)
            self.stalls += life.is_alive()

    def is_over(self) -> bool:
        return super().is_over() or threading.current_thread() is not self._life

    def working_thread(self) -> threading.Thread:
        return self._life

    def _limit(self) -> float:
        """The limit in seconds of a call that begins now."""
        if threading.current_thread() is self._life:
            self._called_at = time.monotonic()
        return CALL_LIMIT_S

    def live(self) -> None:
        producer = self._new_producer()
        while not self.is_over():
            transaction = self.plan()
            if transaction.number % FENCE_EVERY == 0:
                producer = self._take_over(producer, transaction)
            else:
                self._transact(producer, transaction)
            self._enough.wait(PAUSE_S)
        if self.leaves_open and threading.current_thread() is self._life:
            producer.begin_transaction()
            self._send(producer, self.plan())

    def finish(self, limit_s: float) -> None:
        super().finish(limit_s)
        self._consumer.close()

    def _new_producer(self) -> Producer:
        made = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": self.transactional_id,
                "transaction.timeout.ms": self.timeout_ms,
                "linger.ms": 0,
                "logger": SILENT,
                **CLIENT,
            }
        )
        made.init_transactions(self._limit())
        return made

    def _transact(self, producer: Producer, transaction: Transaction) -> None:
        try:
            producer.begin_transaction()
            self._send(producer, transaction)
            if transaction.is_commit:
                self.notes.append(EndAsked(transaction.name, is_commit=True))
                self._commit(producer)
                self.note_end(transaction, is_commit=True)
                return
        except KafkaException as error:
            self.errors.append(str(error))
        producer.abort_transaction(self._limit())
        self.note_end(transaction, is_commit=False)

    def _send(self, producer: Producer, transaction: Transaction) -> None:
        """Sends records and offset; all are acknowledged when this returns."""
        for partition, name in transaction.records:
            self._produce(producer, partition, name)
        if producer.flush(self._limit()):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        self.notes.append(OffsetSent(transaction.name, self.number, transaction.number))
        offset = TopicPartition(self.row.topic, self.row.partition, transaction.number)
        producer.send_offsets_to_transaction([offset], self._group, self._limit())

    def _produce(self, producer: Producer, partition: int, name: int) -> None:
        value = (b"%d." % name).ljust(RECORD_BYTES, b".")
        producer.produce(self.topic, value, partition=partition, on_delivery=self._delivered)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            partition, offset = acked_place(message)
            self.notes.append(Acked(id_of(message), partition, offset))

    def _commit(self, producer: Producer) -> None:
        """A call that timed out is repeated once: librdkafka goes on with the same commit."""
        try:
            producer.commit_transaction(self._limit())
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
            producer.commit_transaction(self._limit())

    def _take_over(self, zombie: Producer, transaction: Transaction) -> Producer:
        """A second producer takes over in the middle of a transaction, which is thereby aborted; the first one must not
        be able to write to it, nor to commit it (H14)."""
        zombie.begin_transaction()
        self._send(zombie, transaction)
        successor = self._new_producer()
        self.note_end(transaction, is_commit=False)
        try:
            self._produce(zombie, 0, self.note_sent(transaction.name, 0))
            zombie.commit_transaction(self._limit())
        except KafkaException:
            return successor
        self.wrong.append(f"a fenced producer was told that {transaction.name} is committed")
        return successor


class JavaWriter(TransactionalWriter):
    """Transactions of version 2 (KIP-890), each by a producer of its own; without offsets."""

    TIMEOUT_MS = 10_000

    def __init__(
        self, number: int, transactional_id: str, bootstrap: str, topic: str, partitions: int, java: JavaTools
    ) -> None:
        super().__init__(number, transactional_id, bootstrap, topic, partitions)
        self._java = java

    def live(self) -> None:
        transaction = self.plan()
        records = [(partition, f"{name}.") for partition, name in transaction.records]
        if transaction.is_commit:
            self.notes.append(EndAsked(transaction.name, is_commit=True))
        outcomes = self._java.call(
            "transactions",
            self.bootstrap,
            transactional_id=self.transactional_id,
            timeout_ms=self.TIMEOUT_MS,
            steps=[
                {"producer": "a", "verb": "init"},
                {"producer": "a", "verb": "begin"},
                {"producer": "a", "verb": "send", "topic": self.topic, "records": records},
                {"producer": "a", "verb": "commit" if transaction.is_commit else "abort"},
            ],
        )
        self.errors += [outcome for outcome in outcomes if outcome]
        if not outcomes[-1]:
            self.note_end(transaction, is_commit=transaction.is_commit)


class OffsetReader(threading.Thread):
    """Asks for the committed offsets of the group again and again."""

    def __init__(self, bootstrap: str, group: str, rows: list[TopicPartition]) -> None:
        super().__init__(name="offset reader", daemon=True)
        self.rows = rows
        self.notes: list[OffsetRead] = []
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": group, "isolation.level": "read_committed", **CLIENT}
        )
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.is_set():
            with suppress(KafkaException):
                self.notes += [OffsetRead(row, offset) for row, offset in self.ask().items() if offset is not None]
            self._enough.wait(FETCH_PAUSE_S)

    def ask(self) -> dict[int, int | None]:
        """The committed offset of each row; KafkaException when it is not told now."""
        found = self._consumer.committed(self.rows, FETCH_LIMIT_S)
        failed = [one.error for one in found if one.error is not None]
        if failed:
            raise KafkaException(failed[0])
        return {one.partition: one.offset if one.offset >= 0 else None for one in found}

    def finish(self) -> None:
        self._enough.set()
        self.join()
        self.close()

    def close(self) -> None:
        """Ends a reader that was never started."""
        self._consumer.close()
