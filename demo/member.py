"""One member of the consumer group, a process of its own: `member.py BOOTSTRAP GROUP`.

Prints a JSON line for each batch that it read of a partition, before the batch's offsets are committed:
`{"partition", "offset", "uncommitted", "flights": [[row, carrier, arrival delay], ...]}`; and `{"owned": [...]}` when
its partitions change. A batch reported but not committed is read again by another member if this one is killed.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from itertools import groupby
from types import FrameType

from confluent_kafka import Consumer, KafkaException, Message

from demo.produce import TOPIC

COMMIT_EVERY = 5000  # records between commits: about as many may be read twice after a kill
BATCH = 500
leaving = threading.Event()


def on_sigterm(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
    leaving.set()


def say(news: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(news, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def report(messages: list[Message], uncommitted: int) -> None:
    def partition_of(message: Message) -> int:
        return message.partition() or 0

    for partition, batch in groupby(sorted(messages, key=partition_of), key=partition_of):
        read = list(batch)
        flights = []
        for message in read:
            flight = json.loads(message.value() or b"")
            flights.append([flight["row"], (message.key() or b"").decode(), flight["arr_delay"]])
        say({"partition": partition, "offset": read[0].offset(), "uncommitted": uncommitted, "flights": flights})


def run(bootstrap: str, group: str) -> None:
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    config |= {
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 300,
        "partition.assignment.strategy": "cooperative-sticky",
    }
    consumer = Consumer(config | {"log_level": 0})
    consumer.subscribe([TOPIC])
    owned: list[int] = []
    uncommitted = 0
    while not leaving.is_set():
        messages = consumer.consume(BATCH, 0.05)
        failed = [message for message in messages if message.error() is not None]
        if failed:
            raise KafkaException(failed[0].error())
        uncommitted += len(messages)
        report(messages, uncommitted)
        if uncommitted >= COMMIT_EVERY or (uncommitted and not messages):
            consumer.commit(asynchronous=True)
            uncommitted = 0
        now = sorted(partition.partition for partition in consumer.assignment())
        if now != owned:
            owned = now
            say({"owned": owned})
    if uncommitted:
        consumer.commit(asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, on_sigterm)
    run(sys.argv[1], sys.argv[2])
