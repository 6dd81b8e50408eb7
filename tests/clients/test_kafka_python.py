"""kafka-python: produce, consume, seek, commit, admin. Its groups are in test_group_rebalance.py."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

from clients import conftest
from clients.conftest import CODECS, START_TIME_MS, Sample
from peer.broker_process import BrokerProcess, wait_until
from peer.topics import end_offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT_S = 30


def samples(count: int) -> list[Sample]:
    """Without null header values, which kafka-python refuses to send."""
    made = conftest.samples(count)
    return [
        replace(sample, headers=tuple(header for header in sample.headers if header[1] is not None)) for sample in made
    ]


def produce(broker: BrokerProcess, topic: str, records: list[Sample], **config: Any) -> list[int]:
    """Sends the records to partition 0; returns their offsets."""
    with closing(
        KafkaProducer(bootstrap_servers=broker.bootstrap, max_request_size=4 << 20, linger_ms=5, **config)
    ) as producer:
        sent = [
            producer.send(
                topic, record.value, record.key, list(record.headers), partition=0, timestamp_ms=record.timestamp
            )
            for record in records
        ]
        producer.flush(LIMIT_S)
        return [future.get(LIMIT_S).offset for future in sent]


def consumer(broker: BrokerProcess, **config: Any) -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False, **config
    )


def subscribe(member: KafkaConsumer, topic: str) -> None:
    """Partitions first: kafka-python 3.0 never looks again at a join that it begins because they become known after the
    first one (see ``member.run_kafka_python``; seen with Apache Kafka, too, when ``group.initial.rebalance.delay.ms``
    is 0)."""
    assert member.partitions_for_topic(topic)
    member.subscribe([topic])


def take(member: KafkaConsumer, count: int) -> list[Any]:
    records: list[Any] = []

    def enough() -> bool:
        for polled in member.poll(timeout_ms=100, max_records=count - len(records)).values():
            records.extend(polled)
        return len(records) >= count

    wait_until(enough, LIMIT_S, f"{count} records")
    return records


def as_sample(record: Any) -> Sample:
    return Sample(record.key, record.value, record.timestamp, tuple(record.headers))


@pytest.fixture
def admin(broker: BrokerProcess) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap)) as client:
        yield client


@pytest.mark.parametrize(
    ("codec", "acks"), [*((codec, "all") for codec in CODECS), ("none", 1), ("none", 0), ("lz4", 0)]
)
def test_records_are_read_back_as_they_were_produced(
    broker: BrokerProcess, topic: str, codec: str, acks: str | int
) -> None:
    sent = samples(300)
    idempotent = acks == "all"
    produce(
        broker,
        topic,
        sent,
        compression_type=None if codec == "none" else codec,
        acks=acks,
        enable_idempotence=idempotent,
    )
    wait_until(lambda: end_offsets(broker.bootstrap, topic)[0] == (0, len(sent)), LIMIT_S, "all records in the log")
    with closing(consumer(broker)) as reader:
        reader.assign([TopicPartition(topic, 0)])
        records = take(reader, len(sent))
    assert [as_sample(record) for record in records] == sent
    assert [record.offset for record in records] == list(range(len(sent)))


def test_one_megabyte_messages_pass_whole(broker: BrokerProcess, topic: str) -> None:
    sent = [Sample(b"big", os.urandom(1_000_000), START_TIME_MS + i) for i in range(3)]
    assert produce(broker, topic, sent) == [0, 1, 2]
    with closing(consumer(broker)) as reader:
        reader.assign([TopicPartition(topic, 0)])
        assert [as_sample(record) for record in take(reader, 3)] == sent


def test_consumer_seeks_by_offset_and_by_time(broker: BrokerProcess, topic: str) -> None:
    sent = samples(200)
    produce(broker, topic, sent)
    partition = TopicPartition(topic, 0)
    with closing(consumer(broker)) as reader:
        reader.assign([partition])
        reader.seek(partition, 150)
        assert take(reader, 1)[0].offset == 150
        found = reader.offsets_for_times({partition: START_TIME_MS + 77})[partition]
        assert (found.offset, found.timestamp) == (77, START_TIME_MS + 77)
        assert reader.offsets_for_times({partition: START_TIME_MS + 10_000})[partition] is None
        assert (reader.beginning_offsets([partition]), reader.end_offsets([partition])) == (
            {partition: 0},
            {partition: 200},
        )


def test_group_resumes_at_its_committed_offset(broker: BrokerProcess, topic: str, name: str) -> None:
    sent = samples(100)
    produce(broker, topic, sent)
    with closing(consumer(broker, group_id=name)) as first:
        subscribe(first, topic)
        take(first, 40)
        first.commit()
    with closing(consumer(broker, group_id=name)) as second:
        subscribe(second, topic)
        assert [as_sample(record) for record in take(second, 60)] == sent[40:]
        assert second.committed(TopicPartition(topic, 0)) == 40


def test_topics_are_created_described_grown_and_deleted(admin: KafkaAdminClient, name: str) -> None:
    admin.create_topics(
        {name: {"num_partitions": 2, "replication_factor": 1, "configs": {"cleanup.policy": "compact"}}}
    )
    wait_until(lambda: name in admin.list_topics(), LIMIT_S, "the topic listed")
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics({name: {"num_partitions": 2, "replication_factor": 1}})
    admin.create_partitions({name: 4})
    wait_until(lambda: len(admin.describe_topics([name])[0]["partitions"]) == 4, LIMIT_S, "four partitions")
    admin.delete_topics([name])
    wait_until(lambda: name not in admin.list_topics(), LIMIT_S, "the topic gone")
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([name])


def test_configs_are_altered_and_described(admin: KafkaAdminClient, topic: str) -> None:
    from kafka.admin import ConfigResource, ConfigResourceType

    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "777000"})])

    def modified() -> dict[str, Any]:
        described: dict[str, Any] = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])["topic"][
            topic
        ]
        return described

    wait_until(lambda: "retention.ms" in modified(), LIMIT_S, "the altered config")
    assert modified()["retention.ms"]["value"] == "777000"


def test_records_are_deleted_and_offsets_listed(admin: KafkaAdminClient, broker: BrokerProcess, topic: str) -> None:
    partition = TopicPartition(topic, 0)
    produce(broker, topic, samples(50))
    assert admin.delete_records({partition: 20})[partition]["low_watermark"] == 20
    assert admin.list_partition_offsets({partition: -2})[partition].offset == 20
    assert admin.list_partition_offsets({partition: -1})[partition].offset == 50


def test_groups_are_listed_described_and_deleted(
    admin: KafkaAdminClient, broker: BrokerProcess, topic: str, name: str
) -> None:
    produce(broker, topic, samples(10))
    with closing(consumer(broker, group_id=name)) as member:
        subscribe(member, topic)
        take(member, 10)
        member.commit()
        assert admin.describe_groups([name])[name]["group_state"] == "Stable"
    assert name in {group["group_id"] for group in admin.list_groups()}
    assert admin.list_group_offsets({name: None})[name][TopicPartition(topic, 0)].offset == 10
    admin.delete_groups([name])
    assert name not in {group["group_id"] for group in admin.list_groups()}
