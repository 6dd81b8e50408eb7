"""Clients that work while faults happen: a producer that notes every acknowledgement, and a consumer that notes every
record.

Each runs on a thread of its own from ``start`` to ``finish`` and notes events of ``history.events``. Neither judges
them.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from history.events import Acked, Read, Sent
from peer.topics import acked_place, place_of

if TYPE_CHECKING:
    from collections.abc import Mapping

RATE_PER_S = 1000
RECORD_BYTES = 200
IN_FLIGHT_LIMIT = 50_000
"""So many that partitions with a leader go on while another partition waits for one."""

FLUSH_LIMIT_S = 60.0

CLIENT = {
    "log_level": 0,
    "socket.timeout.ms": 2000,  # how long a client waits for a broker that hangs
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 200,
    "topic.metadata.refresh.interval.ms": 500,
}


def id_of(message: Message) -> int:
    return int((message.value() or b"").split(b".", 1)[0])


@dataclass(frozen=True, slots=True)
class Ack:
    """An acknowledgement of the record with this id: when it was handed over, and when it was acknowledged."""

    id: int
    partition: int
    offset: int | None
    sent_at: float
    at: float


class Client(threading.Thread):
    """A client on its thread. Whatever ends it before ``finish`` is among its errors."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.errors: list[object] = []
        self.enough = threading.Event()

    def run(self) -> None:
        try:
            self.work()
        except Exception as error:  # noqa: BLE001
            self.errors.append(f"the {self.name} ended: {error!r}")

    def work(self) -> None:
        """Works until there is enough."""
        raise NotImplementedError

    def finish(self) -> None:
        self.enough.set()
        self.join()


class Writer(Client):
    """An idempotent producer with acks=all, a thousand records a second over all partitions."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__("writer")
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1, "retry.backoff.ms": 20,
             "retry.backoff.max.ms": 200, "message.timeout.ms": 120_000,
             "queue.buffering.max.messages": 2 * IN_FLIGHT_LIMIT, **CLIENT}
        )  # fmt: skip
        self.topic = topic
        self.partitions = partitions
        self.sent: list[float] = []
        """The time at which each id was handed over."""
        self.acks: list[Ack] = []
        self.unanswered = 0

    def work(self) -> None:
        due = 0.0
        before = time.monotonic()
        while not self.enough.is_set():
            now = time.monotonic()
            due, before = min(due + (now - before) * RATE_PER_S, RATE_PER_S / 10), now
            while due >= 1 and len(self.producer) < IN_FLIGHT_LIMIT:
                self._send()
                due -= 1
            self.producer.poll(0.005)
        self.unanswered = self.producer.flush(FLUSH_LIMIT_S)

    def _send(self) -> None:
        number = len(self.sent)
        self.sent.append(time.monotonic())
        value = b"%d." % number
        self.producer.produce(
            self.topic,
            value.ljust(RECORD_BYTES, b"."),
            partition=number % self.partitions,
            on_delivery=lambda error, message: self._delivered(number, error, message),
        )

    def _delivered(self, number: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
            return
        partition, offset = acked_place(message)
        self.acks.append(Ack(number, partition, offset, self.sent[number], time.monotonic()))

    def events(self) -> list[Sent | Acked]:
        sent = [Sent(number, "writer", number % self.partitions, number) for number in range(len(self.sent))]
        return [*sent, *(Acked(ack.id, ack.partition, ack.offset, time=ack.at) for ack in self.acks)]

    # ---- looking at the progress
    def resumed_at(self, partition: int, since: float) -> float | None:
        """When a record that was handed over after `since` was first acknowledged."""
        return next((ack.at for ack in list(self.acks) if ack.partition == partition and ack.sent_at > since), None)

    def longest_gap(self, since: float, until: float) -> float:
        """The longest time without an acknowledgement in any partition."""
        longest = 0.0
        for partition in range(self.partitions):
            times = [ack.at for ack in list(self.acks) if ack.partition == partition and since < ack.at < until]
            bounds = [since, *times, until]
            longest = max(longest, *(after - before for before, after in pairwise(bounds)))
        return longest


class Reader(Client):
    """A consumer from the beginning of each partition, which never resets its offsets by itself."""

    def __init__(self, bootstrap: str, topic: str, isolation: str = "read_uncommitted") -> None:
        super().__init__(f"reader, {isolation}")
        self.consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
             "auto.offset.reset": "error", "check.crcs": True, "fetch.wait.max.ms": 100,
             "fetch.error.backoff.ms": 50, "isolation.level": isolation, **CLIENT}
        )  # fmt: skip
        self.topic = topic
        self.is_committed = isolation == "read_committed"
        self.reads: list[Read] = []
        self._next: dict[int, int] = {}
        self._damaged: set[int] = set()

    def start_at(self, starts: Mapping[int, int]) -> None:
        """Begins to read each partition at its offset in ``starts``."""
        self._next = dict(starts)
        self.consumer.assign([TopicPartition(self.topic, partition, at) for partition, at in starts.items()])
        self.start()

    def work(self) -> None:
        while not self.enough.is_set():
            for message in self.consumer.consume(1000, 0.1):
                error = message.error()
                if error is None:
                    partition, offset = place_of(message)
                    read = Read(id_of(message), partition, offset, self.name, is_committed=self.is_committed)
                    self.reads.append(read)
                    self._next[partition] = offset + 1
                elif error.code() == KafkaError._BAD_MSG:
                    self._damaged.add(message.partition() or 0)
                elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION):
                    self._note(error, message)
        self.consumer.close()

    def _note(self, error: KafkaError, message: Message) -> None:
        """Behind a batch whose CRC is wrong, librdkafka (2.16) goes on at a wrong place of the response and asks for
        the offset that it takes from the bytes there, which no log has. Then it begins again where it was."""
        partition, asked = message.partition() or 0, message.offset() or 0
        if partition in self._damaged and asked > self._next[partition]:
            again = [TopicPartition(self.topic, partition, self._next[partition])]
            self.consumer.incremental_unassign(again)
            self.consumer.incremental_assign(again)
        else:
            # the partition is not read on
            self.errors.append(f"{error}, at offset {asked} of partition {partition}")


class FaithfulWriter:
    """A producer with acks=all that stays with the leader it knows: it connects before the fault, never asks for
    another leader, and waits long for an answer. So an old leader reads its records first when it wakes up."""

    FIRST_ID = 1_000_000_000
    RECORDS = 20

    def __init__(self, bootstrap: str, topic: str, partition: int) -> None:
        never = {"socket.timeout.ms": 60_000, "topic.metadata.refresh.interval.ms": -1}
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "linger.ms": 0,
                "message.timeout.ms": 60_000,
                **CLIENT,
                **never,
            }
        )
        self.topic = topic
        self.partition = partition
        self.notes: list[Sent | Acked] = []
        self._count = 0
        self.send()
        assert self.producer.flush(FLUSH_LIMIT_S) == 0, "the leader does not answer before the fault"

    def send(self) -> None:
        for _ in range(self.RECORDS):
            number = self.FIRST_ID + self._count
            self._count += 1
            self.notes.append(Sent(number, "faithful", self.partition, self._count, is_idempotent=False))
            self.producer.produce(self.topic, b"%d." % number, partition=self.partition, on_delivery=self._delivered)
        self.producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        """Notes an acknowledgement; after an error it is unknown whether the record was written."""
        if error is None:
            partition, offset = acked_place(message)
            self.notes.append(Acked(id_of(message), partition, offset))

    def finish(self) -> None:
        self.producer.flush(FLUSH_LIMIT_S)


class Filler:
    """An idempotent producer with acks=all of large records, so that a partition that moves has much to copy."""

    FIRST_ID = 2_000_000_000
    RECORD_BYTES = 10_000

    def __init__(self, bootstrap: str, topic: str, partitions: int, first_id: int = FIRST_ID) -> None:
        self.producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, **CLIENT})
        self.topic = topic
        self.partitions = partitions
        self.notes: list[Sent | Acked] = []
        self._first_id = first_id
        self._count = 0

    def fill(self, count: int) -> None:
        """Writes ``count`` records to each partition; returns when all are acknowledged."""
        for _ in range(count * self.partitions):
            number, partition = self._first_id + self._count, self._count % self.partitions
            self._count += 1
            self.notes.append(Sent(number, f"filler {self._first_id}", partition, self._count))
            value = (b"%d." % number).ljust(self.RECORD_BYTES, b".")
            self.producer.produce(self.topic, value, partition=partition, on_delivery=self._delivered)
            self.producer.poll(0)
        assert self.producer.flush(FLUSH_LIMIT_S) == 0, "the partitions are not filled"

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        partition, offset = acked_place(message)
        self.notes.append(Acked(id_of(message), partition, offset))
