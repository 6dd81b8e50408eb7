"""How close clients come to their quotas of bytes: one client and many that share a quota, producing and consuming.

    PYTHONPATH=tests:benches python -m quotas [--brokers kafka,kafkastore] [--clients 1,16] [--offered 1.2] ...

Starts the brokers (of the environment's ``kafkastore``, and Apache Kafka), sets a quota for one client id, and counts
the bytes of the values that clients of that id move in the measured seconds; one broker is measured at a time. The
warm-up is longer than the window. Values are large, so that what is counted beside them (headers, keys) stays below
half a percent. ``--batch`` is the size of the batches that consumers fetch: an answer has whole batches, so with
batches of a megabyte 16 consumers move in steps of half a second of the limit.

All clients together offer ``--offered`` times the limit. With ``--offered 0`` they move as much as they can: then the
first second takes what the whole window has, nothing is left until that second leaves the window, and so on, so 30
seconds have two or three such bursts. That is how Kafka's window works; its average over minutes is the limit.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from parity.raw_client import RawClient
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess
from peer.topics import create_topic

VALUE = b"v" * 5_000
LIMIT = 2_000_000
CLIENT_ID = "measured"
PRELOADED = 12_000  # values in the topic that is consumed again and again


class Count:
    """Bytes of values that were moved, by all clients, and the pace at which each client offers values."""

    def __init__(self, pace: float) -> None:
        self._lock = threading.Lock()
        self._pace = pace  # bytes a second of one client; 0: as much as it can
        self.bytes = 0

    def add(self, size: int) -> None:
        with self._lock:
            self.bytes += size

    def is_ahead(self, offered: int, began: float) -> bool:
        """Whether a client has offered enough for now. A client that was held back does not catch up."""
        return self._pace > 0 and offered > self._pace * (time.monotonic() - began)


def set_quota(broker: BrokerProcess, key: str, limit: float) -> None:
    client = RawClient("127.0.0.1", broker.port)
    entry = {
        "entity": [{"entity_type": "client-id", "entity_name": CLIENT_ID}],
        "ops": [{"key": key, "value": limit, "remove": False}],
    }
    (answer,) = client.ask("alter_client_quotas", 1, {"entries": [entry], "validate_only": False}).entries
    assert answer.error_code == 0, answer
    client.close()


def produce(broker: BrokerProcess, topic: str, count: Count, is_over: threading.Event) -> None:
    def note(error: Any, message: Any) -> None:
        if error is None:
            count.add(len(message.value()))

    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "client.id": CLIENT_ID,
            "acks": "all",
            "batch.size": 20_000,
            "queue.buffering.max.messages": 8,
        }
    )
    offered, began = 0, time.monotonic()
    while not is_over.is_set():
        if count.is_ahead(offered, began):
            producer.poll(0.002)
            continue
        try:
            producer.produce(topic, VALUE, on_delivery=note)
            offered += len(VALUE)
        except BufferError:
            producer.poll(0.02)
            offered, began = 0, time.monotonic()
        producer.poll(0)
    producer.purge()
    producer.flush(5)


def consume(broker: BrokerProcess, topic: str, count: Count, is_over: threading.Event) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "client.id": CLIENT_ID,
            "group.id": f"quotas-{threading.get_ident()}",
            "enable.auto.commit": False,
            "queued.max.messages.kbytes": 100,
            "fetch.queue.backoff.ms": 2,
            "fetch.message.max.bytes": 1_000,  # one batch an answer: none is cut off at the end and sent again
        }
    )
    begin = TopicPartition(topic, 0, 0)
    consumer.assign([begin])
    offered, last, began = 0, time.monotonic(), time.monotonic()
    while not is_over.is_set():
        if count.is_ahead(offered, began):
            time.sleep(0.002)
            continue
        if time.monotonic() - last > 0.1:
            offered, began = 0, time.monotonic()
        for message in consumer.consume(4, 0.01):
            last = time.monotonic()
            if message.error() is None:
                size, offset = len(message.value() or b""), message.offset() or 0
                count.add(size)
                offered += size
                if offset >= PRELOADED - 1:
                    consumer.assign([begin])
                    break
    consumer.close()


def preload(broker: BrokerProcess, topic: str, batch: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": "preload", "batch.size": batch})
    for _ in range(PRELOADED):
        producer.produce(topic, VALUE)
        producer.poll(0)
    assert producer.flush(60) == 0


def measure(
    run: Callable[..., None], broker: BrokerProcess, topic: str, clients: int, given: argparse.Namespace
) -> float:
    """Bytes a second."""
    count, is_over = Count(given.offered * LIMIT / clients), threading.Event()
    threads = [threading.Thread(target=run, args=(broker, topic, count, is_over)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    time.sleep(given.warm_up)
    before, began = count.bytes, time.monotonic()
    time.sleep(given.seconds)
    rate = (count.bytes - before) / (time.monotonic() - began)
    is_over.set()
    for thread in threads:
        thread.join()
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long is measured (default: 30)")
    parser.add_argument("--warm-up", type=float, default=15.0, help="seconds before that (default: 15)")
    parser.add_argument("--clients", default="1,16", help="numbers of clients (default: 1,16)")
    parser.add_argument("--offered", type=float, default=1.2, help="in limits (default: 1.2; 0: all they can)")
    parser.add_argument("--batch", type=int, default=20_000, help="bytes of a fetched batch (default: 20000)")
    parser.add_argument("--brokers", default="kafkastore", help="kafka, kafkastore or both (default: kafkastore)")
    parser.add_argument("--moves", default="produce,consume", help="what is measured (default: produce,consume)")
    given = parser.parse_args()
    moves = {
        "produce": ("producer_byte_rate", produce, "produced"),
        "consume": ("consumer_byte_rate", consume, "consumed"),
    }
    with tempfile.TemporaryDirectory() as folder:
        factory = BrokerFactory("kafkastore", Path(folder))
        try:
            brokers = [factory(kind=kind) for kind in given.brokers.split(",")]
            for broker in brokers:
                create_topic(broker.bootstrap, "produced")
                create_topic(broker.bootstrap, "consumed")
                preload(broker, "consumed", given.batch)
            for clients in map(int, given.clients.split(",")):
                for move in given.moves.split(","):
                    key, run, topic = moves[move]
                    for broker in brokers:
                        set_quota(broker, key, LIMIT)
                        rate = measure(run, broker, topic, clients, given)
                        print(
                            f"{broker.kind}: {key}={LIMIT} clients={clients}: {rate / 1e6:.3f} MB/s, "
                            f"{100 * (rate / LIMIT - 1):+.1f} % of the limit",
                            flush=True,
                        )
        finally:
            factory.close()


if __name__ == "__main__":
    main()
