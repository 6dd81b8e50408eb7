"""aiokafka: produce, consume, seek, commit, admin. Its groups are in test_group_rebalance.py."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from clients.conftest import CODECS, START_TIME_MS, Sample, samples
from peer.broker_process import BrokerProcess, wait_until
from peer.topics import end_offsets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LIMIT_S = 30


async def produce(broker: BrokerProcess, topic: str, records: list[Sample], **config: Any) -> list[int]:
    """Sends the records to partition 0; returns their offsets (none with acks=0)."""
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap, max_request_size=4 << 20, **config) as producer:
        sent = [
            await producer.send(
                topic,
                record.value,
                record.key,
                partition=0,
                timestamp_ms=record.timestamp,
                headers=list(record.headers) or None,
            )
            for record in records
        ]
        await producer.flush()
        answers = await asyncio.gather(*sent)
        return [answer.offset for answer in answers if answer is not None]


@asynccontextmanager
async def consumer(broker: BrokerProcess, *topics: str, **config: Any) -> AsyncIterator[AIOKafkaConsumer]:
    reader = AIOKafkaConsumer(
        *topics, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False, **config
    )
    await reader.start()
    try:
        yield reader
    finally:
        await reader.stop()


async def take(reader: AIOKafkaConsumer, count: int) -> list[Any]:
    records: list[Any] = []
    async with asyncio.timeout(LIMIT_S):
        while len(records) < count:
            for polled in (await reader.getmany(timeout_ms=100, max_records=count - len(records))).values():
                records += polled
    return records


def as_sample(record: Any) -> Sample:
    return Sample(record.key, record.value, record.timestamp, tuple(record.headers))


@pytest.mark.parametrize(
    ("codec", "acks"), [*((codec, "all") for codec in CODECS), ("none", 1), ("none", 0), ("zstd", 0)]
)
def test_records_are_read_back_as_they_were_produced(
    broker: BrokerProcess, topic: str, codec: str, acks: str | int
) -> None:
    sent = samples(300)
    asyncio.run(produce(broker, topic, sent, compression_type=None if codec == "none" else codec, acks=acks))
    wait_until(lambda: end_offsets(broker.bootstrap, topic)[0] == (0, len(sent)), LIMIT_S, "all records in the log")

    async def read() -> list[Any]:
        async with consumer(broker) as reader:
            reader.assign([TopicPartition(topic, 0)])
            return await take(reader, len(sent))

    records = asyncio.run(read())
    assert [as_sample(record) for record in records] == sent
    assert [record.offset for record in records] == list(range(len(sent)))


def test_idempotent_producer_writes_every_record_once_in_order(broker: BrokerProcess, topic: str) -> None:
    sent = samples(1000)
    assert asyncio.run(produce(broker, topic, sent, enable_idempotence=True, max_batch_size=2000)) == list(range(1000))


def test_one_megabyte_messages_pass_whole(broker: BrokerProcess, topic: str) -> None:
    sent = [Sample(b"big", os.urandom(1_000_000), START_TIME_MS + i) for i in range(3)]

    async def round_trip() -> list[Any]:
        await produce(broker, topic, sent)
        async with consumer(broker) as reader:
            reader.assign([TopicPartition(topic, 0)])
            return await take(reader, 3)

    assert [as_sample(record) for record in asyncio.run(round_trip())] == sent


def test_consumer_seeks_by_offset_and_by_time(broker: BrokerProcess, topic: str) -> None:
    async def seek() -> None:
        await produce(broker, topic, samples(200))
        partition = TopicPartition(topic, 0)
        async with consumer(broker) as reader:
            reader.assign([partition])
            reader.seek(partition, 150)
            assert (await take(reader, 1))[0].offset == 150
            found = (await reader.offsets_for_times({partition: START_TIME_MS + 77}))[partition]
            assert (found.offset, found.timestamp) == (77, START_TIME_MS + 77)
            assert await reader.beginning_offsets([partition]) == {partition: 0}
            assert await reader.end_offsets([partition]) == {partition: 200}

    asyncio.run(seek())


def test_group_resumes_at_its_committed_offset(broker: BrokerProcess, topic: str, name: str) -> None:
    sent = samples(100)

    async def resume() -> list[Any]:
        await produce(broker, topic, sent)
        async with consumer(broker, topic, group_id=name) as first:
            await take(first, 40)
            await first.commit()
        async with consumer(broker, topic, group_id=name) as second:
            assert await second.committed(TopicPartition(topic, 0)) == 40
            return await take(second, 60)

    assert [as_sample(record) for record in asyncio.run(resume())] == sent[40:]


def test_topics_configs_records_and_groups_are_administered(broker: BrokerProcess, name: str) -> None:
    async def administer() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(name, 2, 1, topic_configs={"retention.ms": "5000000"})])
            await produce(broker, name, samples(30))
            await admin.create_partitions({name: NewPartitions(3)})
            (described,) = await admin.describe_topics([name])
            assert len(described["partitions"]) == 3
            (answer,) = await admin.describe_configs(
                [ConfigResource(ConfigResourceType.TOPIC, name, {"retention.ms": None})]
            )
            assert answer.resources[0][4][0][:2] == ("retention.ms", "5000000")
            deleted = await admin.delete_records({TopicPartition(name, 0): RecordsToDelete(12)})
            assert deleted == {TopicPartition(name, 0): 12}
            async with consumer(broker, name, group_id=name) as member:
                await take(member, 18)
                await member.commit()
                (group,) = (await admin.describe_consumer_groups([name]))[0].groups
                assert group[2] == "Stable"
            assert name in {listed[0] for listed in await admin.list_consumer_groups()}
            assert (await admin.list_consumer_group_offsets(name))[TopicPartition(name, 0)].offset == 30
            await admin.delete_topics([name])
        finally:
            await admin.close()

    asyncio.run(administer())
