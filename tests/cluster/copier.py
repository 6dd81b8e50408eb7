"""A program that copies records from one topic to another exactly once: each batch and the offsets behind it are one
transaction of librdkafka's producer. After any error it starts again with a new producer of the same transactional id,
at the committed offsets.
"""

from __future__ import annotations

import threading
from contextlib import closing, suppress

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from peer.topics import place_of

BATCH_RECORDS = 10
CALL_LIMIT_S = 8.0
"""librdkafka 2.16 may send no TxnOffsetCommit after all brokers were away, and then waits to the end of the call."""
CLIENT = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 200, "log_level": 0}


class Copier(threading.Thread):
    """``copied`` counts the records of committed transactions, ``lives`` the producers."""

    def __init__(self, bootstrap: str, source: str, target: str, partitions: int) -> None:
        super().__init__(name="copier", daemon=True)
        self.bootstrap = bootstrap
        self.source = source
        self.target = target
        self.partitions = partitions
        self.copied = 0
        self.lives = 0
        self.errors: list[str] = []
        self._enough = threading.Event()

    def has_copied(self, more_than: int) -> bool:
        return self.copied > more_than

    def finish(self, limit_s: float) -> None:
        self._enough.set()
        self.join(limit_s)
        assert not self.is_alive(), f"the copier still runs; its errors: {self.errors[-5:]}"

    def run(self) -> None:
        while not self._enough.is_set():
            self.lives += 1
            try:
                self._live()
            except KafkaException as error:
                self.errors.append(str(error))

    def _live(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": "copier",
                "transaction.timeout.ms": 20_000,
                "linger.ms": 0,
                **CLIENT,
            }
        )
        producer.init_transactions(CALL_LIMIT_S)
        reader = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "copier",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 20,
                **CLIENT,
            }
        )
        with closing(reader):
            numbers = range(self.partitions)
            found = reader.committed([TopicPartition(self.source, number) for number in numbers], CALL_LIMIT_S)
            # not OFFSET_STORED: librdkafka 2.16 does not ask again after NOT_COORDINATOR from the broker that stays it
            reader.assign([TopicPartition(self.source, one.partition, max(one.offset, 0)) for one in found])
            while not self._enough.is_set():
                messages = [one for one in reader.consume(BATCH_RECORDS, 0.1) if one.error() is None]
                if messages:
                    self._copy(producer, reader, messages)

    def _copy(self, producer: Producer, reader: Consumer, messages: list[Message]) -> None:
        ends: dict[int, int] = {}
        producer.begin_transaction()
        for message in messages:
            partition, offset = place_of(message)
            producer.produce(self.target, message.value(), partition=partition)
            ends[partition] = offset + 1
        offsets = [TopicPartition(self.source, partition, end) for partition, end in ends.items()]
        try:
            producer.send_offsets_to_transaction(offsets, reader.consumer_group_metadata(), CALL_LIMIT_S)
            producer.commit_transaction(CALL_LIMIT_S)
        except KafkaException:
            with suppress(KafkaException):
                producer.abort_transaction(CALL_LIMIT_S)
            raise
        self.copied += len(messages)
