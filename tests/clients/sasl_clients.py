"""Clients that write and read by SASL: each is a function of a :class:`Login` and a topic that writes VALUES and gives
what it reads."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clients import round_trips
from kafkastore._core import Consumer, Producer
from peer.java_tools import JavaRecord, JavaTools

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
    return round_trips.librdkafka(login.rd(), topic, VALUES)


def kafka_python(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    return round_trips.kafka_python(login.python(), topic, VALUES)


def aiokafka(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    return round_trips.aiokafka(login.python(), topic, VALUES)


def kcat(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    return round_trips.kcat(login.rd(), topic, VALUES)


def java_clients(login: Login, topic: str, java: JavaTools) -> list[bytes]:
    records = [JavaRecord(0, None, None, value) for value in VALUES]
    given = login.java()
    java.produce(login.bootstrap, topic, records, **{name.replace(".", "_"): value for name, value in given.items()})
    config = given | {"auto.offset.reset": "earliest"}
    nodes = java.call("consume", login.bootstrap, topic=topic, config=config)
    return [record.value or b"" for record in map(JavaRecord.as_read, nodes)]


def franz_go(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    return round_trips.franz_go(login.bootstrap, login.as_json(), topic, VALUES)


def kafkajs(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    return round_trips.kafkajs(login.bootstrap, login.as_json(), topic, VALUES)


def of_commands(login: Login, topic: str, _: JavaTools) -> list[bytes]:
    """Those that our commands use."""
    given = login.java() | {"bootstrap.servers": login.bootstrap}
    producer = Producer(given)
    producer.send_values(topic, VALUES)
    assert producer.flush(30_000)
    assert {one.error for one in producer.poll(0)} == {None}
    producer.close()
    consumer = Consumer(given)
    consumer.assign({(topic, 0): 0})
    read: list[bytes] = []
    while polled := consumer.poll(30_000 if len(read) < len(VALUES) else 0):
        read += [value or b"" for one in polled for value in one.values()]
    consumer.close()
    return read


CLIENTS = [of_commands, librdkafka, kafka_python, aiokafka, kcat, java_clients, franz_go, kafkajs]
