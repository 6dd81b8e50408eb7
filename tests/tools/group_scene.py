"""Groups to look at: one with two members, of which one is static, and groups without any that have offsets."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, Producer, TopicPartition

from peer.broker_process import wait_until
from peer.topics import create_topic
from tools.comparison import ours

LIMIT_S = 30
RECORDS = 10
STEP_MS = 60_000


@dataclass(frozen=True)
class Scene:
    """Topics of 3 and 2 partitions, with ten records each, a minute between them, the last an hour old; ``empty`` is at
    offset 5 of partition 0 of the first and at 3 of partition 1 of the second, ``other`` at 10 of partition 2."""

    bootstrap: str
    first: str
    second: str
    busy: str
    empty: str
    other: str
    instance: str
    last_ms: int


@contextmanager
def groups(bootstrap: str, prefix: str) -> Iterator[Scene]:
    first, second = create_topic(bootstrap, f"{prefix}-first", 3), create_topic(bootstrap, f"{prefix}-second", 2)
    last_ms = time.time_ns() // 1_000_000 - 3_600_000
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(RECORDS):
        for topic, partitions in ((first, 3), (second, 2)):
            for partition in range(partitions):
                timestamp = last_ms - (RECORDS - 1 - number) * STEP_MS
                producer.produce(topic, f"{number}", partition=partition, timestamp=timestamp)
    assert producer.flush(LIMIT_S) == 0
    scene = Scene(
        bootstrap, first, second, f"{prefix}-busy", f"{prefix}-empty", f"{prefix}-other", f"{prefix}-one", last_ms
    )
    commit(bootstrap, scene.empty, {(first, 0): 5, (second, 1): 3})
    commit(bootstrap, scene.other, {(first, 2): 10})
    commit(bootstrap, scene.busy, {(first, 0): 4, (second, 0): 1})
    with _members(scene):
        yield scene


def commit(bootstrap: str, group: str, offsets: dict[tuple[str, int], int]) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(*key, offset) for key, offset in offsets.items()], asynchronous=False)
    consumer.close()


@contextmanager
def _members(scene: Scene) -> Iterator[None]:
    settings = {
        "bootstrap.servers": scene.bootstrap,
        "group.id": scene.busy,
        "enable.auto.commit": False,
        "log_level": 0,
    }
    consumers = [Consumer({**settings, "client.id": "one", "group.instance.id": scene.instance})]
    consumers.append(Consumer({**settings, "client.id": "two"}))
    for consumer in consumers:
        consumer.subscribe([scene.first])
    is_over = threading.Event()

    def poll() -> None:
        while not is_over.is_set():
            for consumer in consumers:
                consumer.poll(0.05)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        wait_until(lambda: is_shared(scene), LIMIT_S, "both members have partitions")
        yield
    finally:
        is_over.set()
        thread.join()
        for consumer in consumers:
            consumer.close()


def is_shared(scene: Scene) -> bool:
    said = ours("groups", "describe", scene.busy, "-b", scene.bootstrap, "--members", "--format", "tsv")
    return sum(f"{scene.first}-" in line for line in said.out.splitlines()) == 2
