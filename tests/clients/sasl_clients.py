"""Clients that write and read by SASL: each is a function of a :class:`Login` and a topic that writes VALUES and gives
what it reads."""

from __future__ import annotations

import asyncio
import base64
import ssl
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer

from peer.go_program import call as call_go
from peer.java_tools import JavaRecord, JavaTools
from peer.other_programs import call as call_program
from peer.other_programs import kafkajs_program

VALUES = [b"%d" % number for number in range(200)]


@dataclass(frozen=True)
class Login:
    """Where a client logs in, and as whom. ``authority``: the file with the authority that signed the broker's
    certificate, None for a listener without TLS."""

    port: int
    mechanism: str
    user: str
    password: str
    authority: Path | None = None

    @property
    def bootstrap(self) -> str:
        return f"localhost:{self.port}"

    @property
    def protocol(self) -> str:
        return "SASL_PLAINTEXT" if self.authority is None else "SASL_SSL"

    def with_password(self, password: str) -> Login:
        return replace(self, password=password)

    def rd(self, **more: Any) -> dict[str, Any]:
        """Settings for librdkafka."""
        given = {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": self.protocol,
            "sasl.mechanism": self.mechanism,
            "sasl.username": self.user,
            "sasl.password": self.password,
        }
        if self.authority is not None:
            given["ssl.ca.location"] = str(self.authority)
        return given | {name.replace("_", "."): value for name, value in more.items()}

    def java(self) -> dict[str, str]:
        """Properties of Java's clients and tools."""
        kind = "plain.Plain" if self.mechanism == "PLAIN" else "scram.Scram"
        given = {
            "security.protocol": self.protocol,
            "sasl.mechanism": self.mechanism,
            "sasl.jaas.config": f"org.apache.kafka.common.security.{kind}LoginModule required "
            f'username="{self.user}" password="{self.password}";',
        }
        if self.authority is not None:
            given |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority)}
        return given

    def as_json(self) -> dict[str, str]:
        """For our programs in Go and JavaScript."""
        authority = "" if self.authority is None else str(self.authority)
        return {"mechanism": self.mechanism, "user": self.user, "password": self.password, "authority": authority}

    def python(self) -> dict[str, Any]:
        """Settings for kafka-python and aiokafka."""
        given: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap,
            "security_protocol": self.protocol,
            "sasl_mechanism": self.mechanism,
            "sasl_plain_username": self.user,
            "sasl_plain_password": self.password,
        }
        if self.authority is not None:
            given["ssl_context"] = ssl.create_default_context(cafile=str(self.authority))
        return given


def librdkafka(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    producer = Producer(login.rd())
    for value in VALUES:
        producer.produce(topic, value, partition=0)
    assert producer.flush(30) == 0
    consumer = Consumer(login.rd(group_id="none", enable_auto_commit=False))
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    until = time.monotonic() + 60
    while len(found) < len(VALUES) and time.monotonic() < until:
        messages = consumer.consume(len(VALUES) - len(found), 1)
        found += [message.value() or b"" for message in messages if message.error() is None]
    consumer.close()
    return found


def kafka_python(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    producer = KafkaProducer(**login.python())
    for value in VALUES:
        producer.send(topic, value)
    producer.flush(30)
    producer.close()
    consumer = KafkaConsumer(topic, auto_offset_reset="earliest", consumer_timeout_ms=20_000, **login.python())
    found = [next(consumer).value for _ in VALUES]
    consumer.close()
    return found


def aiokafka(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    async def run() -> list[bytes]:
        async with AIOKafkaProducer(**login.python()) as producer:
            for value in VALUES:
                await producer.send(topic, value)
        async with AIOKafkaConsumer(topic, auto_offset_reset="earliest", **login.python()) as consumer:
            return [(await asyncio.wait_for(consumer.getone(), 30)).value for _ in VALUES]

    return asyncio.run(run())


def kcat(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    given = [part for name, value in login.rd().items() for part in ("-X", f"{name}={value}")]
    subprocess.run(["kcat", "-P", "-t", topic, *given], input=b"\n".join(VALUES), check=True, timeout=60)
    read = ["kcat", "-C", "-e", "-q", "-t", topic, "-o", "beginning", *given]
    return subprocess.run(read, check=True, timeout=60, capture_output=True).stdout.rstrip(b"\n").split(b"\n")


def java_clients(login: Login, topic: str, java: JavaTools) -> list[bytes]:
    records = [JavaRecord(0, None, None, value) for value in VALUES]
    given = login.java()
    java.produce(login.bootstrap, topic, records, **{name.replace(".", "_"): value for name, value in given.items()})
    config = given | {"auto.offset.reset": "earliest"}
    nodes = java.call("consume", login.bootstrap, topic=topic, config=config)
    return [record.value or b"" for record in map(JavaRecord.as_read, nodes)]


def franz_go(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    sent = [{"partition": 0, "value": base64.b64encode(value).decode(), "headers": []} for value in VALUES]
    call_go("produce", login.bootstrap, topic=topic, codec="none", records=sent, security=login.as_json())
    read = call_go("consume", login.bootstrap, topic=topic, security=login.as_json())
    return [base64.b64decode(one["value"]) for one in read]


def kafkajs(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    values = [value.decode() for value in VALUES]
    program, given = kafkajs_program(), login.as_json()
    call_program(program, "produce", login.bootstrap, topic=topic, values=values, security=given)
    read = call_program(program, "read", login.bootstrap, topic=topic, count=len(values), security=given)
    return [value.encode() for _, _, value in sorted(read)]


CLIENTS = [librdkafka, kafka_python, aiokafka, kcat, java_clients, franz_go, kafkajs]
