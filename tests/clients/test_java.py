"""Kafka's own Java clients: producers (plain, idempotent), consumers, a growing and shrinking group, the admin
client."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clients.conftest import CODECS, START_TIME_MS, samples
from peer.broker_process import BrokerProcess, wait_until
from peer.java_tools import JavaError, JavaRecord, JavaTools
from peer.topics import end_offsets

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_S = 30


def records(count: int, partition: int | None = 0) -> list[JavaRecord]:
    return [
        JavaRecord(partition, sample.timestamp, sample.key, sample.value, sample.headers) for sample in samples(count)
    ]


def as_sent(read: list[JavaRecord]) -> list[JavaRecord]:
    return [replace(record, offset=-1) for record in read]


@pytest.mark.parametrize(
    ("codec", "acks", "idempotent"),
    [
        *((codec, "all", "true") for codec in CODECS),
        ("none", "1", "false"),
        ("none", "0", "false"),
        ("zstd", "0", "false"),
    ],
)
def test_records_are_read_back_as_they_were_produced(
    java: JavaTools, broker: BrokerProcess, topic: str, codec: str, acks: str, idempotent: str
) -> None:
    sent = records(400)
    java.produce(
        broker.bootstrap, topic, sent, compression_type=codec, acks=acks, enable_idempotence=idempotent, linger_ms="5"
    )
    wait_until(lambda: end_offsets(broker.bootstrap, topic)[0] == (0, len(sent)), LIMIT_S, "all records in the log")
    read = java.consume(broker.bootstrap, topic)
    assert as_sent(read) == sent
    assert [record.offset for record in read] == list(range(len(sent)))
    assert (
        as_sent(java.consume(broker.bootstrap, topic, isolation="read_committed")) == sent
    )  # none is transactional: the same


def test_one_megabyte_messages_pass_whole(java: JavaTools, broker: BrokerProcess, topic: str) -> None:
    sent = [JavaRecord(0, START_TIME_MS + i, b"big", os.urandom(1_000_000)) for i in range(3)]
    java.produce(broker.bootstrap, topic, sent, max_request_size=str(4 << 20))
    assert as_sent(java.consume(broker.bootstrap, topic)) == sent


def test_log_append_time_replaces_the_producers(
    java: JavaTools, broker: BrokerProcess, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(config={"message.timestamp.type": "LogAppendTime"})
    java.produce(broker.bootstrap, topic, records(10), compression_type="lz4")
    read = java.consume(broker.bootstrap, topic)
    assert {record.timestamp_type for record in read} == {"LogAppendTime"}
    assert all(record.timestamp is not None and record.timestamp > START_TIME_MS + 1_000_000 for record in read)


def test_consumer_seeks_by_offset_and_by_time(java: JavaTools, broker: BrokerProcess, topic: str) -> None:
    sent = records(300)
    java.produce(broker.bootstrap, topic, sent, batch_size="500")
    assert [record.offset for record in java.consume(broker.bootstrap, topic, from_offset=290)] == list(range(290, 300))
    assert as_sent(java.consume(broker.bootstrap, topic, from_timestamp=START_TIME_MS + 123)) == sent[123:]


def test_group_resumes_at_its_committed_offset(java: JavaTools, broker: BrokerProcess, topic: str, name: str) -> None:
    sent = records(100)
    java.produce(broker.bootstrap, topic, sent)
    config = {
        "group.id": name,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "max.poll.records": "20",
    }
    for first, last in ((0, 40), (40, 100)):
        nodes = java.call("consumeInGroup", broker.bootstrap, topic=topic, count=last - first, config=config)
        assert as_sent([JavaRecord.as_read(node) for node in nodes]) == sent[first:last]
    assert java.call("groupOffsets", broker.bootstrap, group=name) == {f"{topic}-0": 100}


@pytest.mark.parametrize("assignor", ["RangeAssignor", "CooperativeStickyAssignor"])
def test_partitions_follow_members_that_join_and_leave(
    java: JavaTools, broker: BrokerProcess, new_topic: Callable[..., str], name: str, assignor: str
) -> None:
    config = {"group.id": name, "session.timeout.ms": "6000", "heartbeat.interval.ms": "200"}
    config["partition.assignment.strategy"] = f"org.apache.kafka.clients.consumer.{assignor}"
    stages = java.call("rebalance", broker.bootstrap, topic=new_topic(partitions=6), partitions=6, config=config)
    assert stages == [[3, 3], [2, 2, 2], [3, 3]]


def test_topics_are_created_described_grown_and_deleted(java: JavaTools, broker: BrokerProcess, name: str) -> None:
    java.call("createTopic", broker.bootstrap, topic=name, partitions=2)
    with pytest.raises(JavaError, match="TopicExistsException"):
        java.call("createTopic", broker.bootstrap, topic=name)
    java.call("createPartitions", broker.bootstrap, topic=name, partitions=5)
    described = java.call("describeTopic", broker.bootstrap, topic=name)
    assert (described["partitions"], described["internal"], described["leader"]) == (5, False, 1)
    assert name in java.call("listTopics", broker.bootstrap)
    java.call("deleteTopic", broker.bootstrap, topic=name)
    wait_until(lambda: name not in java.call("listTopics", broker.bootstrap), LIMIT_S, "the topic gone")
    with pytest.raises(JavaError, match="UnknownTopicOrPartitionException"):
        java.call("describeTopic", broker.bootstrap, topic=name)


def test_configs_are_set_described_and_unset(java: JavaTools, broker: BrokerProcess, topic: str) -> None:
    def config(name: str) -> tuple[str, str]:
        entry = java.call("describeConfig", broker.bootstrap, topic=topic)[name]
        return entry["value"], entry["source"]

    java.call("setConfig", broker.bootstrap, topic=topic, name="segment.bytes", value="2000000")
    wait_until(lambda: config("segment.bytes") == ("2000000", "DYNAMIC_TOPIC_CONFIG"), LIMIT_S, "the config set")
    java.call("setConfig", broker.bootstrap, topic=topic, name="segment.bytes", value=None)
    wait_until(lambda: config("segment.bytes") == ("1073741824", "DEFAULT_CONFIG"), LIMIT_S, "the default again")
    with pytest.raises(JavaError, match="InvalidConfigurationException"):
        java.call("setConfig", broker.bootstrap, topic=topic, name="retention.ms", value="-2")
    assert java.call("describeConfig", broker.bootstrap, broker="1")["node.id"]["value"] == "1"


def test_special_offsets_are_listed_before_and_after_a_deletion(
    java: JavaTools, broker: BrokerProcess, topic: str
) -> None:
    def offset(spec: str) -> tuple[int, int]:
        found = java.call("listOffsets", broker.bootstrap, topic=topic, spec=spec)
        return found["offset"], found["timestamp"]

    assert [offset(spec)[0] for spec in ("earliest", "latest", "max_timestamp", "earliest_local")] == [0, 0, -1, 0]
    sent = records(60)
    java.produce(
        broker.bootstrap, topic, [*sent[:-1], replace(sent[-1], timestamp=START_TIME_MS)]
    )  # the last is not the newest
    assert (offset("max_timestamp"), offset("latest")[0]) == ((58, START_TIME_MS + 58), 60)
    assert offset(str(START_TIME_MS + 20)) == (20, START_TIME_MS + 20)
    assert java.call("deleteRecords", broker.bootstrap, topic=topic, before=30) == 30
    assert (offset("earliest")[0], offset("earliest_local")[0], offset(str(START_TIME_MS + 20))) == (
        30,
        30,
        (30, START_TIME_MS + 30),
    )


def test_groups_are_listed_described_moved_and_deleted(
    java: JavaTools, broker: BrokerProcess, topic: str, name: str
) -> None:
    java.produce(broker.bootstrap, topic, records(10))
    config = {"group.id": name, "auto.offset.reset": "earliest"}
    java.call("consumeInGroup", broker.bootstrap, topic=topic, count=10, config=config)
    assert name in java.call("listGroups", broker.bootstrap)
    described = java.call("describeGroup", broker.bootstrap, group=name)
    assert (described["state"], described["members"], described["coordinator"]) == ("Empty", 0, 1)
    java.call("setGroupOffset", broker.bootstrap, group=name, topic=topic, offset=4)
    assert java.call("groupOffsets", broker.bootstrap, group=name) == {f"{topic}-0": 4}
    java.call("deleteGroup", broker.bootstrap, group=name)
    assert name not in java.call("listGroups", broker.bootstrap)


def test_cluster_and_log_dirs_are_described(java: JavaTools, broker: BrokerProcess, topic: str) -> None:
    java.produce(broker.bootstrap, topic, records(10))
    cluster = java.call("describeCluster", broker.bootstrap)
    assert (cluster["brokers"], cluster["controller"]) == (1, 1)
    sizes = java.call("describeLogDirs", broker.bootstrap)[str(broker.log_dir)]
    assert sizes[f"{topic}-0"] == (broker.log_dir / f"{topic}-0" / f"{0:020}.log").stat().st_size
