"""One member of a consumer group as a process: `member.py LIBRARY BOOTSTRAP GROUP TOPIC [INSTANCE_ID]`.

Prints a JSON line each time the partitions it owns change: `{"owned": [0, 2]}`, and `{"consumed": n}` once records
came; ends with `{"fenced": true}` when another took its instance id. SIGTERM makes it leave the group and exit 0;
SIGKILL is a crash.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import threading
from types import FrameType

SESSION_TIMEOUT_MS = 2000
HEARTBEAT_MS = 200
leaving = threading.Event()
KAFKA_PYTHON_POLL_MS = 500  # two heartbeats: a rebalance that the others learn of by theirs ends within one poll


def on_sigterm(number: int, frame: FrameType | None) -> None:
    leaving.set()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Report:
    """Prints what changed since the last time."""

    def __init__(self) -> None:
        self.owned: list[int] | None = None
        self.consumed = 0

    def update(self, owned: list[int], consumed: int = 0) -> None:
        if owned != self.owned:
            self.owned = owned
            say(json.dumps({"owned": owned}))
        self.consumed += consumed
        if consumed:
            say(json.dumps({"consumed": self.consumed}))


def fenced() -> int:
    say(json.dumps({"fenced": True}))
    return 3


def run_librdkafka(bootstrap: str, group: str, topic: str, instance_id: str | None, assignor: str = "range") -> int:
    from confluent_kafka import Consumer, KafkaError

    config = {
        "bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
        "session.timeout.ms": SESSION_TIMEOUT_MS,
        "heartbeat.interval.ms": HEARTBEAT_MS, "partition.assignment.strategy": assignor,
        "max.poll.interval.ms": 10_000,
    }  # fmt: skip
    static = {"group.instance.id": instance_id} if instance_id else {}
    consumer = Consumer(config | static)
    consumer.subscribe([topic])
    report = Report()
    while not leaving.is_set():
        message = consumer.poll(0.05)
        error = message.error() if message is not None else None
        # a consumer's fatal error comes once, as a message (never to error_cb), with this code in place of its own
        if error is not None and error.code() == KafkaError._FATAL:
            return fenced()
        came = 1 if message is not None and error is None else 0
        report.update(sorted(partition.partition for partition in consumer.assignment()), came)
    consumer.close()
    return 0


def run_librdkafka_cooperative(bootstrap: str, group: str, topic: str, instance_id: str | None) -> int:
    return run_librdkafka(bootstrap, group, topic, instance_id, "cooperative-sticky")


def run_kafka_python(bootstrap: str, group: str, topic: str, instance_id: str | None) -> int:
    from kafka import KafkaConsumer
    from kafka.errors import FencedInstanceIdError

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
        session_timeout_ms=SESSION_TIMEOUT_MS, heartbeat_interval_ms=HEARTBEAT_MS, max_poll_interval_ms=10_000,
        group_instance_id=instance_id,
    )  # fmt: skip
    # kafka-python 3.0 loses a join that outlasts one poll. Finished between two polls, its result is dropped and it
    # joins again. Begun because the topic's partitions became known only after the first join, it is never looked at
    # again, and the member neither owns nor heartbeats ever after. So: partitions first, and polls that are longer than
    # a join.
    consumer.subscribe([topic])
    while not consumer.partitions_for_topic(topic):
        pass  # each call asks the broker
    report = Report()
    while not leaving.is_set():
        try:
            polled = consumer.poll(timeout_ms=KAFKA_PYTHON_POLL_MS)
        except FencedInstanceIdError:
            return fenced()
        report.update(
            sorted(partition.partition for partition in consumer.assignment()), sum(map(len, polled.values()))
        )
    consumer.close()
    return 0


def run_aiokafka(bootstrap: str, group: str, topic: str, instance_id: str | None) -> int:
    async def poll() -> None:
        from aiokafka import AIOKafkaConsumer

        consumer = AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
            session_timeout_ms=SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_MS, max_poll_interval_ms=10_000, group_instance_id=instance_id,
        )  # fmt: skip
        await consumer.start()
        report = Report()
        while not leaving.is_set():
            polled = await consumer.getmany(timeout_ms=50)
            report.update(
                sorted(partition.partition for partition in consumer.assignment()), sum(map(len, polled.values()))
            )
        await consumer.stop()

    asyncio.run(poll())
    return 0


RUN = {
    "librdkafka": run_librdkafka,
    "librdkafka-cooperative": run_librdkafka_cooperative,
    "kafka-python": run_kafka_python,
    "aiokafka": run_aiokafka,
}

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, on_sigterm)
    library, bootstrap_servers, group_id, topic_name, *rest = sys.argv[1:]
    sys.exit(RUN[library](bootstrap_servers, group_id, topic_name, rest[0] if rest else None))
