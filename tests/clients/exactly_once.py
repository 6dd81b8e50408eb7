"""What programs that are killed while they write in transactions share: the brokers, one or three, and the reader of
what is committed.

A program writes each result exactly once when a reader of committed records finds it once and no later reader finds
another. The brokers and the programs are killed with SIGKILL; nothing here judges the results.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from cluster.cluster import Cluster
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess

STALL_S = 90.0
RESTART_S = 2.0
"""How long a reader waits for the next record: two sessions and a transaction that is over time, on a busy machine."""

WRITE_S = 2.0
"""How long a kill waits for an open transaction."""

QUICK = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200", "group.min.session.timeout.ms": "1000"}


@dataclass(frozen=True)
class Servers:
    """Running brokers of one cluster."""

    brokers: Sequence[BrokerProcess]

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    def create(self, topic: str, partitions: int = 1) -> None:
        """The topic, with a replica on each broker."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(topic, partitions, len(self.brokers))])[topic].result(30)


@contextmanager
def running(folder: Path, count: int, against: str = "kafkastore") -> Iterator[Servers]:
    """One broker of either kind, or several of ours."""
    if count > 1:
        assert against == "kafkastore", "several brokers are ours"
        with Cluster(folder, overrides=QUICK, size=count).running() as cluster:
            yield Servers(cluster.brokers)
    else:
        factory = BrokerFactory(against, folder)
        try:
            yield Servers([factory(QUICK)])
        finally:
            for broker in factory.made:
                broker.kill()


def _consumer(bootstrap: str, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "check.crcs": True,
            "fetch.wait.max.ms": 50,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 200,
            "topic.metadata.refresh.interval.ms": 500,
            "log_level": 0,
        }
    )


class CommittedReader:
    """Reads the committed records of a topic from its beginning on, while they are written."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.topic = topic
        self.messages: list[Message] = []
        self._consumer = _consumer(bootstrap, "read_committed")
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        self._any = _consumer(bootstrap, "read_uncommitted")
        self._any.assign([TopicPartition(topic, number, 0) for number in range(partitions)])

    def close(self) -> None:
        self._consumer.close()
        self._any.close()

    def read_until(self, count: int, alarm: Callable[[], str], restart: Callable[[], bool] = lambda: False) -> None:
        """Reads until it has ``count`` records in all; an error with the alarm's text when no record comes for
        STALL_S. After RESTART_S without one ``restart`` is called, which says whether it has restarted something."""
        last = time.monotonic()
        while len(self.messages) < count:
            read = [message for message in self._consumer.consume(1000, 0.1) if message.error() is None]
            if read:
                self.messages += read
                last = time.monotonic()
            elif time.monotonic() > last + RESTART_S and restart():
                last = time.monotonic()
            if time.monotonic() > last + STALL_S:
                raise AssertionError(f"no record of {self.topic} after {len(self.messages)} of {count}: {alarm()}")

    def wait_for_open_transaction(self) -> bool:
        """Returns when a record has just been written, so that its transaction is probably open; False: none was."""
        while self._any.consume(10_000, 0):
            pass
        return bool(self._any.consume(1, WRITE_S))
