"""What a client reads back of the values that it wrote: each function takes the client's own settings."""

from __future__ import annotations

import asyncio
import base64
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer

from peer.go_program import call as call_go
from peer.other_programs import call as call_program
from peer.other_programs import kafkajs_program

LIMIT_S = 60


def rd_values(settings: Mapping[str, Any], topic: str, count: int) -> list[bytes]:
    consumer = Consumer({**settings, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    until = time.monotonic() + LIMIT_S
    while len(found) < count and time.monotonic() < until:
        messages = consumer.consume(count - len(found), 1)
        found += [message.value() or b"" for message in messages if message.error() is None]
    consumer.close()
    return found


def librdkafka(settings: Mapping[str, Any], topic: str, values: Sequence[bytes]) -> list[bytes]:
    producer = Producer(dict(settings))
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(30) == 0
    return rd_values(settings, topic, len(values))


def kafka_python(settings: Mapping[str, Any], topic: str, values: Sequence[bytes]) -> list[bytes]:
    producer = KafkaProducer(**settings)
    for value in values:
        producer.send(topic, value)
    producer.flush(30)
    producer.close()
    consumer = KafkaConsumer(topic, auto_offset_reset="earliest", consumer_timeout_ms=20_000, **settings)
    found = [next(consumer).value for _ in values]
    consumer.close()
    return found


def aiokafka(settings: Mapping[str, Any], topic: str, values: Sequence[bytes]) -> list[bytes]:
    async def run() -> list[bytes]:
        async with AIOKafkaProducer(**settings) as producer:
            for value in values:
                await producer.send(topic, value)
        async with AIOKafkaConsumer(topic, auto_offset_reset="earliest", **settings) as consumer:
            return [(await asyncio.wait_for(consumer.getone(), 30)).value for _ in values]

    return asyncio.run(run())


def kcat(settings: Mapping[str, str], topic: str, values: Sequence[bytes]) -> list[bytes]:
    given = [part for name, value in settings.items() for part in ("-X", f"{name}={value}")]
    subprocess.run(["kcat", "-P", "-t", topic, *given], input=b"\n".join(values), check=True, timeout=LIMIT_S)
    read = ["kcat", "-C", "-e", "-q", "-t", topic, "-o", "beginning", *given]
    return subprocess.run(read, check=True, timeout=LIMIT_S, capture_output=True).stdout.rstrip(b"\n").split(b"\n")


def franz_go(bootstrap: str, security: Mapping[str, Any], topic: str, values: Sequence[bytes]) -> list[bytes]:
    sent = [{"partition": 0, "value": base64.b64encode(value).decode(), "headers": []} for value in values]
    call_go("produce", bootstrap, topic=topic, codec="none", records=sent, security=security)
    read = call_go("consume", bootstrap, topic=topic, security=security)
    return [base64.b64decode(one["value"]) for one in read]


def kafkajs(bootstrap: str, security: Mapping[str, Any], topic: str, values: Sequence[bytes]) -> list[bytes]:
    texts, program = [value.decode() for value in values], kafkajs_program()
    call_program(program, "produce", bootstrap, topic=topic, values=texts, security=security)
    read = call_program(program, "read", bootstrap, topic=topic, count=len(texts), security=security)
    return [value.encode() for _, _, value in sorted(read)]
