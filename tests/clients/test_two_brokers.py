"""Several brokers live in one process, and one that stops takes nothing from the other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from peer.topics import create_topic

PROGRAM = Path(__file__).with_name("two_brokers.py")
LIMIT_S = 30
RECORDS = 200


def produce(bootstrap: str, mark: bytes) -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce(
            "t", mark + b"%d" % number, on_delivery=lambda error, _: failed.append(error) if error else None
        )
    assert producer.flush(LIMIT_S) == 0
    assert not failed


def values(bootstrap: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition("t", 0, 0)])
    found: list[bytes | None] = []
    while len(found) < count:
        messages = consumer.consume(count, LIMIT_S)
        assert messages, f"{len(found)} of {count} records"
        found += [message.value() for message in messages]
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


def test_each_of_two_brokers_in_one_process_has_its_own_records_and_outlives_the_other(
    tmp_path: Path, against: str
) -> None:
    if against == "kafka":
        pytest.skip("Apache Kafka has a process for each broker")
    folders = [str(tmp_path / name) for name in ("one", "two")]
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), *folders], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            told = [json.loads(process.stdout.readline()) for _ in folders]
            first, second = (f"127.0.0.1:{one['port']}" for one in told)
            assert told[0]["cluster"] != told[1]["cluster"]
            for bootstrap, mark in ((first, b"a"), (second, b"b")):
                create_topic(bootstrap, "t")
                produce(bootstrap, mark)
            assert values(first, RECORDS) == [b"a%d" % number for number in range(RECORDS)]
            assert values(second, RECORDS) == [b"b%d" % number for number in range(RECORDS)]
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "stopped\n"
            produce(second, b"c")
            assert len(values(second, 2 * RECORDS)) == 2 * RECORDS
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "stopped\n"
            assert process.wait(LIMIT_S) == 0
        finally:
            process.kill()
