"""Clients of 2014 to 2019 beside a current one: records, groups, offsets, topics. They speak versions of requests that
Apache Kafka 4 refuses (KIP-896), with records of magic 0 and 1.

Each test also reads and writes the same partition with the newest librdkafka: old and new clients see the same records
at the same offsets.

`make test` plays each version of each client, and each codec in magic 0 (kafka-python up to 0.9, Java up to 0.9) and in
magic 1 (the others): a broker sees no more of a client than its versions of requests, a magic and a codec. `make proof`
plays each version with each codec.
"""

from __future__ import annotations

import struct
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from clients.test_kcat import kcat
from peer.old_programs import OLD_JAVA, old_java, old_kafka_python
from peer.other_programs import call, sarama_program
from peer.wire_socket import API_VERSIONS, ConnectionClosedError, WireSocket, frame, request_header
from proof.scope import played

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

PRODUCE, FETCH, OFFSET_COMMIT = 0, 1, 8
LIMIT_S = 30
COUNT = 30
OLD_CODECS = ("none", "gzip", "snappy", "lz4")
BROKERS_OF_KAFKA_PYTHON = ((0, 8, 1), (0, 8, 2), (0, 9), (0, 10), (0, 10, 1))
"""The versions of brokers that kafka-python 1.4.7 is told to speak to."""
NO_LZ4 = ((0, 8, 1), "lz4")
OLD_LIBRDKAFKA = {"api.version.request": False, "broker.version.fallback": "0.9.0"}

pytestmark = pytest.mark.skipif(
    "config.getoption('--against') == 'kafka'", reason="Apache Kafka 4 refuses old versions"
)


def values(text: str) -> list[str]:
    return [f"{text} {i} " + "." * 50 for i in range(COUNT)]


def produce_now(bootstrap: str, topic: str, sent: Sequence[str], codec: str, **config: Any) -> list[int]:
    """By librdkafka, with headers; the offsets."""
    offsets: list[int] = []

    def delivered(error: KafkaError | None, message: Any) -> None:
        assert error is None, error
        offsets.append(message.offset())

    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 50, **config})
    headers: list[tuple[str, str | bytes | None]] = [] if config else [("trace", b"1")]
    for value in sent:
        producer.produce(topic, value, partition=0, on_delivery=delivered, headers=headers)
    assert producer.flush(LIMIT_S) == 0
    return offsets


def read_now(bootstrap: str, topic: str, count: int, **config: Any) -> list[tuple[int, str]]:
    """Offset and value of each record of partition 0, by librdkafka."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "now", "enable.auto.commit": False, **config})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[tuple[int, str]] = []
    while len(found) < count:
        message = consumer.poll(LIMIT_S)
        assert message is not None, f"{len(found)} of {count} records"
        if message.error():
            raise KafkaException(message.error())
        offset, value = message.offset(), message.value()
        assert offset is not None
        assert value is not None
        found.append((offset, value.decode()))
    consumer.close()
    return found


@pytest.mark.parametrize(
    ("version", "codec"),
    played(
        [((0, 8, 1), "gzip"), ((0, 8, 2), "snappy"), ((0, 9), "lz4"), ((0, 10), "none"), ((0, 10, 1), "lz4")],
        [(version, codec) for version in BROKERS_OF_KAFKA_PYTHON for codec in OLD_CODECS if (version, codec) != NO_LZ4],
    ),
    ids=str,
)
def test_kafka_python_of_2019_shares_a_topic_with_a_current_client(
    broker: BrokerProcess, new_topic: Callable[..., str], name: str, version: tuple[int, ...], codec: str
) -> None:
    topic = new_topic(config={"retention.ms": "-1"})  # its records are of 2023
    arguments = {"topic": topic, "api_version": list(version)}
    old, now = values("old"), values("now")
    offsets = old_kafka_python("produce", broker.bootstrap, codec=codec, values=old, **arguments)
    assert offsets == list(range(COUNT))
    assert produce_now(broker.bootstrap, topic, now, codec) == list(range(COUNT, 2 * COUNT))
    everything = list(enumerate([*old, *now]))
    assert read_now(broker.bootstrap, topic, 2 * COUNT) == everything
    first = old_kafka_python("read", broker.bootstrap, group=name, count=10, **arguments)
    assert first["committed"] == 10
    rest = old_kafka_python("read", broker.bootstrap, group=name, count=2 * COUNT - 10, **arguments)
    assert [(offset, value) for offset, value, _ in first["records"] + rest["records"]] == everything
    assert (rest["committed"], rest["ends"]) == (2 * COUNT, [0, 2 * COUNT])
    timestamps = [timestamp for _, _, timestamp in (first["records"] + rest["records"])[:COUNT]]
    has_timestamps = version >= (0, 10)
    assert timestamps == [1_700_000_000_000 + i if has_timestamps else None for i in range(COUNT)]


def test_kafka_python_of_2019_creates_and_deletes_topics(broker: BrokerProcess, name: str) -> None:
    answers = old_kafka_python("topics", broker.bootstrap, topic=name)
    assert [row[:2] for row in answers["created"]] == [[name, 0]]
    assert answers["deleted"] == [[name, 0]]


@pytest.mark.parametrize(
    ("version", "codec"),
    played(
        [("0.8.2.2", "snappy"), ("0.9.0.1", "none"), ("0.9.0.1", "lz4"), ("0.10.2.2", "gzip")],
        list(product(OLD_JAVA, OLD_CODECS)),
    ),
)
def test_java_client_of_before_0_11_shares_a_topic_with_a_current_client(
    broker: BrokerProcess, topic: str, name: str, version: str, codec: str
) -> None:
    old, now = values("old"), values("now")
    offsets = old_java(version, "produce", broker.bootstrap, topic, codec, *old)
    assert offsets == [str(offset) for offset in range(COUNT)]
    assert produce_now(broker.bootstrap, topic, now, codec) == list(range(COUNT, 2 * COUNT))
    everything = list(enumerate([*old, *now]))
    assert read_now(broker.bootstrap, topic, 2 * COUNT) == everything
    if version == "0.8.2.2":
        return
    read = old_java(version, "read", broker.bootstrap, topic, name, str(2 * COUNT))
    assert read == [*(f"{offset} {value}" for offset, value in everything), f"committed {2 * COUNT}"]


@pytest.mark.parametrize("codec", played(("snappy", "lz4"), OLD_CODECS))
def test_sarama_for_kafka_0_10_shares_a_topic_with_a_current_client(
    broker: BrokerProcess, topic: str, name: str, codec: str
) -> None:
    program, old, now = sarama_program(), values("old"), values("now")
    offsets = call(program, "old_produce", broker.bootstrap, topic=topic, codec=codec, values=old)
    assert offsets == list(range(COUNT))
    assert produce_now(broker.bootstrap, topic, now, codec) == list(range(COUNT, 2 * COUNT))
    everything = list(enumerate([*old, *now]))
    assert read_now(broker.bootstrap, topic, 2 * COUNT) == everything
    read = [
        record
        for count in (10, 2 * COUNT - 10)
        for record in call(program, "old_read", broker.bootstrap, topic=topic, group=name, count=count)
    ]
    assert [tuple(record) for record in read] == everything


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy"])
def test_librdkafka_that_takes_the_broker_for_0_9_shares_a_topic_with_a_current_client(
    broker: BrokerProcess, topic: str, name: str, codec: str
) -> None:
    old, now = values("old"), values("now")
    assert produce_now(broker.bootstrap, topic, old, codec, **OLD_LIBRDKAFKA) == list(range(COUNT))
    assert produce_now(broker.bootstrap, topic, now, codec) == list(range(COUNT, 2 * COUNT))
    everything = list(enumerate([*old, *now]))
    assert read_now(broker.bootstrap, topic, 2 * COUNT) == everything
    assert read_now(broker.bootstrap, topic, 2 * COUNT, **OLD_LIBRDKAFKA) == everything
    member = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": name, "auto.offset.reset": "earliest", **OLD_LIBRDKAFKA}
    )
    member.subscribe([topic])
    message = member.poll(LIMIT_S)
    assert message is not None
    assert message.error() is None
    member.commit(message=message, asynchronous=False)
    committed = member.committed([TopicPartition(topic, 0)], LIMIT_S)
    assert committed[0].offset == 1
    member.close()


@pytest.mark.parametrize("fallback", ["0.8.2", "0.9.0"])
def test_kcat_that_takes_the_broker_for_an_old_one_reads_what_it_wrote(
    broker: BrokerProcess, topic: str, fallback: str
) -> None:
    old = ("-X", "api.version.request=false", "-X", f"broker.version.fallback={fallback}")
    lines = "".join(f"key{i % 10}:line {i}\n" for i in range(2000))
    kcat(broker, *old, "-P", "-t", topic, "-K", ":", "-z", "snappy", "-X", "acks=all", stdin=lines)
    reading = ("-C", "-t", topic, "-o", "beginning", "-e", "-q", "-K", ":")
    assert kcat(broker, *old, *reading) == lines
    assert kcat(broker, *reading) == lines


def test_old_client_is_refused_zstd_and_reads_what_precedes_it(broker: BrokerProcess, topic: str) -> None:
    produce_now(broker.bootstrap, topic, ["a"], "gzip")
    produce_now(broker.bootstrap, topic, ["b" * 1000], "zstd")  # less would be sent uncompressed
    assert read_now(broker.bootstrap, topic, 1, **OLD_LIBRDKAFKA) == [(0, "a")]
    with pytest.raises(KafkaException) as refused:
        read_now(broker.bootstrap, topic, 2, **OLD_LIBRDKAFKA)
    assert refused.value.args[0].code() == KafkaError.UNSUPPORTED_COMPRESSION_TYPE


def _served(broker: BrokerProcess) -> dict[int, int]:
    """The first version of each API that ApiVersions lists."""
    with WireSocket(broker.port) as client:
        client.send(frame(request_header(API_VERSIONS, 0)))
        answer = client.receive()
    error, count = struct.unpack_from(">hi", answer, 4)
    assert error == 0
    rows = [struct.unpack_from(">hhh", answer, 10 + 6 * at) for at in range(count)]
    return {key: first for key, first, _ in rows}


def test_old_versions_are_refused_when_they_are_switched_off(broker_factory: BrokerFactory, name: str) -> None:
    broker = broker_factory({"log.message.format.legacy.enable": "false"}, kind="kafkastore")
    served = _served(broker)
    assert (served[PRODUCE], served[FETCH], served[OFFSET_COMMIT]) == (0, 4, 2)  # KAFKA-18659
    for key in (PRODUCE, FETCH, OFFSET_COMMIT):
        with WireSocket(broker.port) as client:
            client.send(frame(request_header(key, 0) + bytes(20)))
            with pytest.raises(ConnectionClosedError):
                client.receive()
    assert produce_now(broker.bootstrap, name, ["a"], "gzip") == [0]
    assert read_now(broker.bootstrap, name, 1) == [(0, "a")]


def test_old_versions_are_advertised(broker: BrokerProcess) -> None:
    served = _served(broker)
    assert {served[key] for key in (PRODUCE, FETCH, OFFSET_COMMIT)} == {0}
