"""Fills a topic: each value is `--bytes` of JSON-like text, the keys are 100,000 users, and the timestamps are spread
evenly over 100,000 s.

So one hundredth of the time range holds one hundredth of the records, and one key about one record in 100,000.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from confluent_kafka import Producer

from peer.topics import create_topic

FIRST_MS = 1_790_000_000_000
SPAN_MS = 100_000_000
USERS = 100_000
WORDS = 4000
TEMPLATES = 10_000
FLUSH_LIMIT_S = 600
TOPIC_CONFIG = {"segment.bytes": str(256 << 20), "retention.ms": "-1"}


@dataclass(frozen=True)
class Load:
    """The records to fill a topic with."""

    topic: str
    records: int
    value_bytes: int
    codec: str
    partitions: int = 4


def _templates(value_bytes: int) -> list[bytes]:
    """Ends of values, about as compressible as event logs."""
    chosen = random.Random(7)
    words = ["".join(chosen.choices("abcdefghijklmnopqrstuvwxyz", k=chosen.randint(3, 11))) for _ in range(WORDS)]
    made = []
    for _ in range(TEMPLATES):
        fields = [f'"session":"{chosen.getrandbits(64):016x}","amount":{chosen.lognormvariate(3, 1):.2f},"note":"']
        size = value_bytes - 50 - len(fields[0])
        while size > 0:
            fields.append(chosen.choice(words))
            size -= len(fields[-1]) + 1
        text = fields[0] + " ".join(fields[1:])
        made.append(text[: max(value_bytes - 50, 0)].encode() + b'"}')
    return made


def fill(bootstrap: str, load: Load) -> tuple[int, float]:
    """Fills the topic; returns (bytes of values, seconds)."""
    create_topic(bootstrap, load.topic, load.partitions, TOPIC_CONFIG)
    settings = {"batch.size": 131_072, "linger.ms": 50, "compression.type": load.codec, "partitioner": "murmur2_random"}
    limits = {"queue.buffering.max.messages": 400_000, "queue.buffering.max.kbytes": 400_000}
    producer = Producer({"bootstrap.servers": bootstrap, **settings, **limits})
    ends = _templates(load.value_bytes)
    number_of = random.Random(11).randrange
    started, size = time.perf_counter(), 0
    for number in range(load.records):
        user, timestamp = number_of(USERS), FIRST_MS + number * SPAN_MS // load.records
        value = b'{"id":%d,"user":%d,%s' % (number, user, ends[number_of(len(ends))])
        size += len(value)
        while True:
            try:
                producer.produce(load.topic, value, b"user-%06d" % user, timestamp=timestamp)
                break
            except BufferError:
                producer.poll(0.05)
        if not number & 1023:
            producer.poll(0)
    if producer.flush(FLUSH_LIMIT_S):
        raise RuntimeError(f"{load.topic} could not be filled")
    return size, time.perf_counter() - started
