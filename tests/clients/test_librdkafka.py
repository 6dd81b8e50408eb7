"""librdkafka through confluent-kafka: produce, consume, seek, commit.

Its groups are in test_group_rebalance.py, its admin client in test_librdkafka_admin.py.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from clients.conftest import CODECS, START_TIME_MS, Sample, samples
from peer.topics import end_offsets, read_topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from peer.broker_process import BrokerProcess

FLUSH_LIMIT_S = 30


def produce(
    broker: BrokerProcess, topic: str, records: list[Sample], partition: int = 0, **config: object
) -> list[int]:
    """Sends the records; returns their offsets (-1 or -1001 where acks=0 tells none)."""
    settings = {"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "message.max.bytes": 4 << 20}
    producer = Producer(settings | {name.replace("_", "."): value for name, value in config.items()})
    offsets: list[int] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        offset = message.offset()
        offsets.append(-1 if offset is None else offset)

    for record in records:
        headers: list[tuple[str, str | bytes | None]] = list(record.headers)
        producer.produce(
            topic,
            record.value,
            record.key,
            partition,
            on_delivery=delivered,
            timestamp=record.timestamp,
            headers=headers or None,
        )
    assert producer.flush(FLUSH_LIMIT_S) == 0
    return offsets


def as_sample(message: Message) -> Sample:
    headers: Any = message.headers() or ()
    return Sample(message.key(), message.value(), message.timestamp()[1], tuple(headers))


def consumer(broker: BrokerProcess, group: str, **config: object) -> Consumer:
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    return Consumer(settings | {name.replace("_", "."): value for name, value in config.items()})


def take(member: Consumer, count: int) -> list[Message]:
    """The next `count` records."""
    messages: list[Message] = []
    for _ in range(300):
        messages += [message for message in member.consume(count - len(messages), 0.1) if message.error() is None]
        if len(messages) == count:
            return messages
    raise AssertionError(f"{len(messages)} of {count} records after 30 s")


@pytest.mark.parametrize("acks", ["0", "1", "all"])
@pytest.mark.parametrize("codec", CODECS)
def test_records_are_read_back_as_they_were_produced(broker: BrokerProcess, topic: str, codec: str, acks: str) -> None:
    sent = samples(500)
    produce(broker, topic, sent, compression_type=codec, acks=acks)
    if acks == "0":  # nothing tells the producer that the broker has them; the end offset does
        wait_for_end(broker, topic, len(sent))
    messages = read_topic(broker.bootstrap, topic, check_crcs=True)
    assert [as_sample(message) for message in messages] == sent
    assert [message.offset() for message in messages] == list(range(len(sent)))


def wait_for_end(broker: BrokerProcess, topic: str, offset: int) -> None:
    for _ in range(500):
        if end_offsets(broker.bootstrap, topic)[0][1] == offset:
            return
    raise AssertionError(f"end offset of {topic} is not {offset}: {end_offsets(broker.bootstrap, topic)}")


# An idempotent producer's batches are in order and there once, whatever its pipelining
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_idempotent_producer_writes_every_record_once_in_order(broker: BrokerProcess, topic: str, codec: str) -> None:
    sent = samples(5000)
    offsets = produce(broker, topic, sent, enable_idempotence=True, compression_type=codec, batch_num_messages=100)
    assert offsets == list(range(len(sent)))
    assert [as_sample(message) for message in read_topic(broker.bootstrap, topic)] == sent


@pytest.mark.parametrize("codec", CODECS)
def test_one_megabyte_messages_pass_whole(broker: BrokerProcess, topic: str, codec: str) -> None:
    sent = [
        Sample(b"big", os.urandom(1_000_000), START_TIME_MS + i) for i in range(3)
    ]  # random: no codec makes them small
    produce(broker, topic, sent, compression_type=codec)
    assert [as_sample(message) for message in read_topic(broker.bootstrap, topic)] == sent


def test_message_over_the_topic_limit_is_refused_and_the_next_one_passes(
    broker: BrokerProcess, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(config={"max.message.bytes": "2000"})
    with pytest.raises(KafkaException) as refusal:
        produce(broker, topic, [Sample(None, os.urandom(3000), START_TIME_MS)])
    assert refusal.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert produce(broker, topic, [Sample(None, b"small", START_TIME_MS)]) == [0]


def test_consumer_seeks_by_offset(broker: BrokerProcess, topic: str, name: str) -> None:
    sent = samples(300)
    produce(broker, topic, sent, batch_num_messages=10)
    member = consumer(broker, name)
    for offset in (299, 0, 155):
        member.assign([TopicPartition(topic, 0, offset)])
        first = take(member, 1)[0]
        assert (first.offset(), as_sample(first)) == (offset, sent[offset])
    member.close()


def test_offsets_are_found_by_timestamp(broker: BrokerProcess, topic: str, name: str) -> None:
    sent = [Sample(None, b"%d" % i, START_TIME_MS + 10 * i) for i in range(1000)]
    produce(broker, topic, sent, batch_num_messages=50, compression_type="lz4")
    member = consumer(broker, name)

    def offset_at(timestamp: int) -> int:
        return int(member.offsets_for_times([TopicPartition(topic, 0, timestamp)], 10)[0].offset)

    assert offset_at(0) == 0
    assert offset_at(START_TIME_MS + 5000) == 500
    assert offset_at(START_TIME_MS + 5001) == 501  # the first record at or after the time, in the middle of a batch too
    assert offset_at(START_TIME_MS + 10_000_000) == -1  # none: the end
    member.close()


def test_group_resumes_at_its_committed_offset(broker: BrokerProcess, topic: str, name: str) -> None:
    sent = samples(200)
    produce(broker, topic, sent)
    first = consumer(broker, name)
    first.subscribe([topic])
    last = take(first, 80)[-1]
    first.commit(message=last, asynchronous=False)
    first.close()
    second = consumer(broker, name)
    second.subscribe([topic])
    resumed = take(second, 120)
    assert [as_sample(message) for message in resumed] == sent[80:]
    assert second.committed([TopicPartition(topic, 0)], 10)[0].offset == 80
    second.close()


def test_offset_beyond_the_end_is_reset_by_the_client(broker: BrokerProcess, topic: str, name: str) -> None:
    produce(broker, topic, samples(20))
    member = consumer(broker, name)
    member.assign([TopicPartition(topic, 0, 5000)])
    assert take(member, 1)[0].offset() == 0
    member.close()


def test_unknown_topic_is_an_error_when_it_may_not_be_created(broker: BrokerProcess, name: str) -> None:
    member = consumer(broker, name, allow_auto_create_topics=False)
    metadata = member.list_topics(name, 10)
    assert metadata.topics[name].error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    member.close()


def test_producing_to_an_unknown_topic_creates_it(broker: BrokerProcess, name: str) -> None:
    assert produce(broker, name, samples(3)) == [0, 1, 2]
    assert len(read_topic(broker.bootstrap, name)) == 3


# A parked fetch is woken by the append, long before its wait is over
def test_record_reaches_a_waiting_consumer_at_once(broker: BrokerProcess, topic: str, name: str) -> None:
    produce(broker, topic, samples(1))
    member = consumer(broker, name, fetch_wait_max_ms=20_000)
    member.assign([TopicPartition(topic, 0, 0)])
    take(member, 1)
    produce(broker, topic, samples(1))
    message = member.poll(5)  # a fourth of the wait
    assert message is not None
    assert message.offset() == 1
    member.close()
