"""The load of ``growth.py``: writers of transactions and members of groups, as threads.

Each goes on by itself after errors, as an application would, and counts them; this module judges nothing.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from peer.topics import place_of

TOPIC = "grown"
PARTITIONS = 3
UNKNOWN_ID = "INVALID_PRODUCER_ID_MAPPING"
"""How a coordinator refuses a producer whose transactional id it does not know."""

TRANSACTION_TIMEOUT_MS = 8_000
"""How long a transaction may stay open whose producer cannot end it, since its id has moved."""

COMMITTED_SHARE = 0.8
"""Of the transactions; the others are aborted."""

PAUSE_S = 0.05
"""Between two transactions of a writer, and two producers."""

AGAIN_S = 0.5
"""When a member commits its position again, if that was not confirmed."""

CALL_LIMIT_S = 5.0
HANG_LIMIT_S = CALL_LIMIT_S + 2.0
"""librdkafka 2.16 may wait for ever to send a TxnOffsetCommit to a broker that it has taken off its list meanwhile: the
call does not end when its time is up."""

CLIENT = {
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 200,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 200,
    "topic.metadata.refresh.interval.ms": 1_000,
    "log_level": 0,
}


class Writer(threading.Thread):
    """An application with one transactional id. It makes its producer anew after a fatal error, and when told to.

    ``unknown`` has the transactions of which it cannot know the end: each is there as a whole, or not at all. Their
    commit ended in an error, and that was fatal, or the id moves. In that case librdkafka takes it for the end of an
    abort that the next coordinator does not know the producer, though the one before may have committed.
    """

    def __init__(self, bootstrap: str, name: str, seed: int, *, stays: bool, sends_offsets: bool) -> None:
        """``stays``: the id stays in its partition. ``sends_offsets``: those of a group of its own, which has no
        members."""
        super().__init__(name=name, daemon=True)
        self.stays = stays
        self.committed: list[str] = []
        self.aborted: list[str] = []
        self.unknown: list[list[str]] = []
        self.commits = 0
        self.last_commit = 0.0
        """When the last transaction began that was committed."""
        self.offset = -1
        """The offset that the last committed transaction has sent."""
        self.causes: Counter[str] = Counter()
        """Why its producer was made anew."""
        self.refusals: Counter[str] = Counter()
        self.group = f"{name}-sent"
        self._sends_offsets = sends_offsets
        self._settings = {
            "bootstrap.servers": bootstrap,
            "transactional.id": name,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "linger.ms": 0,
            **CLIENT,
        }
        self._chance = random.Random(f"{seed} {name}")
        self._number = 0
        self._again = threading.Event()
        self._enough = threading.Event()

    def make_anew(self) -> None:
        """Has it go on with a new producer."""
        self._again.set()

    def finish(self) -> None:
        self._enough.set()

    def run(self) -> None:
        # the reader only names its group; it never connects
        with closing(Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": self.group, "log_level": 0})) as reader:
            while not self._enough.is_set():
                self._again.clear()
                try:
                    producer = Producer(self._settings)
                    self._until_done(partial(producer.init_transactions, CALL_LIMIT_S))
                    while not (self._enough.wait(PAUSE_S) or self._again.is_set()):
                        self._transact(producer, reader)
                except KafkaException as error:
                    self.causes[name_of(error)] += 1
                except HangsError:
                    self.causes["a call that hung"] += 1
                else:
                    continue
                self._enough.wait(PAUSE_S)

    def _transact(self, producer: Producer, reader: Consumer) -> None:
        began = time.monotonic()
        self._number += 1
        values = [f"{self.name}/{self._number}/{one}" for one in range(self._chance.randint(1, 3))]
        commits = self._chance.random() < COMMITTED_SHARE
        is_asked = is_aborted = False
        try:
            producer.begin_transaction()
            for value in values:
                producer.produce(TOPIC, value, partition=self._chance.randrange(PARTITIONS))
            if self._sends_offsets:
                self._send_offset(producer, reader)
            if commits:
                is_asked = True
                self._until_done(partial(producer.commit_transaction, CALL_LIMIT_S))
                self._note_commit(values, began)
                return
            self._until_done(partial(producer.abort_transaction, CALL_LIMIT_S))
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            self.refusals[name_of(error)] += 1
            self._until_done(partial(producer.abort_transaction, CALL_LIMIT_S))
            is_aborted = True
        finally:
            if not is_asked or (is_aborted and self.stays):
                self.aborted += values
            elif self.last_commit != began:
                self.unknown.append(values)

    def _send_offset(self, producer: Producer, reader: Consumer) -> None:
        offsets = [TopicPartition(TOPIC, 0, self._number)]
        member = reader.consumer_group_metadata()
        send = partial(producer.send_offsets_to_transaction, offsets, member, CALL_LIMIT_S)
        self._until_done(partial(in_time, send))

    def _note_commit(self, values: list[str], began: float) -> None:
        self.committed += values
        self.commits += 1
        self.last_commit = began
        if self._sends_offsets:
            self.offset = self._number

    def _until_done(self, call: Callable[[], object]) -> None:
        """Calls again after errors that ask for it, as long as the writer has time."""
        while True:
            try:
                call()
            except KafkaException as error:
                if not error.args[0].retriable() or self._enough.is_set():
                    raise
                self.refusals[name_of(error)] += 1
            else:
                return


class Member(threading.Thread):
    """A member of a group, which reads the committed records and commits its positions. Told to, it leaves and joins
    anew. ``rewinds`` counts the assignments after which it was given a partition from before the offset that was
    committed last: when the coordinator moves, librdkafka may repeat a commit behind a later one."""

    def __init__(self, bootstrap: str, group: str, *, stays: bool) -> None:
        """``stays``: the group stays in its partition."""
        super().__init__(name=group, daemon=True)
        self.group = group
        self.stays = stays
        self.read = 0
        self.joins = 0
        self.rewinds = 0
        self.refusals: Counter[str] = Counter()
        self._settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 300,
            "fetch.wait.max.ms": 100,
            **CLIENT,
        }
        self._positions: dict[int, int] = {}
        """Where it is in the partitions of its assignment, as far as it has read some of them."""
        self._confirmed: dict[int, int] = {}
        """The offsets of these partitions that are committed."""
        self._committed: Counter[int] = Counter()
        """The offset of each partition that it has committed last."""
        self._again = threading.Event()
        self._enough = threading.Event()

    def join_anew(self) -> None:
        """Has it leave the group and come back."""
        self._again.set()

    def finish(self) -> None:
        self._enough.set()

    def run(self) -> None:
        while not self._enough.is_set():
            self._again.clear()
            try:
                consumer = Consumer(self._settings, on_commit=self._on_commit)
                with closing(consumer):
                    consumer.subscribe([TOPIC], on_assign=self._on_assign, on_revoke=self._forget, on_lost=self._forget)
                    self._live(consumer)
            except KafkaException as error:
                self.refusals[name_of(error)] += 1

    def _live(self, consumer: Consumer) -> None:
        asked = 0.0
        while not (self._enough.is_set() or self._again.is_set()):
            before = dict(self._positions)
            for message in consumer.consume(500, 0.1):
                error = message.error()
                if error is None:
                    self._note(*place_of(message))
                else:
                    self.refusals[error.name()] += 1
            is_unconfirmed = self._positions != self._confirmed and time.monotonic() > asked + AGAIN_S
            if self._positions and (self._positions != before or is_unconfirmed):
                offsets = [TopicPartition(TOPIC, number, offset) for number, offset in self._positions.items()]
                consumer.commit(offsets=offsets, asynchronous=True)
                asked = time.monotonic()

    def _note(self, number: int, offset: int) -> None:
        if number not in self._positions:
            self.rewinds += offset < self._committed[number]
        self._positions[number] = offset + 1
        self.read += 1

    def _on_assign(self, _: Consumer, __: Sequence[TopicPartition]) -> None:
        self.joins += 1

    def _forget(self, _: Consumer, __: Sequence[TopicPartition]) -> None:
        self._positions.clear()
        self._confirmed.clear()

    def _on_commit(self, error: KafkaError | None, offsets: Sequence[TopicPartition]) -> None:
        for one in offsets:
            refusal = error or one.error
            if refusal is None:
                self._confirmed[one.partition] = one.offset
                self._committed[one.partition] = one.offset
            else:
                self.refusals[refusal.name()] += 1


class HangsError(Exception):
    """A call of the client did not end."""


def in_time(call: Callable[[], object]) -> None:
    """Calls in a thread that is left alone if the call does not end."""
    errors: list[KafkaException] = []

    def run() -> None:
        try:
            call()
        except KafkaException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANG_LIMIT_S)
    if thread.is_alive():
        raise HangsError
    if errors:
        raise errors[0]


def name_of(error: KafkaException) -> str:
    return str(error.args[0].name())
