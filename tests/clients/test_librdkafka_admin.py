"""librdkafka's admin client: topics, partitions, configs, records, groups, with the error codes that Kafka gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from clients.conftest import samples
from clients.test_librdkafka import produce
from peer.broker_process import BrokerProcess, wait_until
from peer.topics import admin_client, end_offsets

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_S = 20


@pytest.fixture
def admin(broker: BrokerProcess) -> AdminClient:
    return admin_client(broker.bootstrap)


def failure(futures: dict[Any, Any]) -> int:
    """The error code of the only future, which must fail."""
    (future,) = futures.values()
    with pytest.raises(KafkaException) as error:
        future.result(LIMIT_S)
    return int(error.value.args[0].code())


def topic_config(admin: AdminClient, topic: str) -> dict[str, ConfigEntry]:
    (future,) = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    entries: dict[str, ConfigEntry] = future.result(LIMIT_S)
    return entries


def set_topic_config(admin: AdminClient, topic: str, name: str, value: str | None) -> dict[Any, Any]:
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(name, value, incremental_operation=operation)
    futures: dict[Any, Any] = admin.incremental_alter_configs(
        [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])]
    )
    return futures


def test_created_topic_is_listed_with_its_partitions_and_configs(
    admin: AdminClient, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=3, config={"retention.ms": "123456"})
    metadata = admin.list_topics(topic, timeout=LIMIT_S).topics[topic]
    assert sorted(metadata.partitions) == [0, 1, 2]
    assert all(partition.replicas == [1] and partition.isrs == [1] for partition in metadata.partitions.values())
    assert topic_config(admin, topic)["retention.ms"].value == "123456"


@pytest.mark.parametrize(
    ("topic_name", "partitions", "replicas", "config", "code"),
    [
        ("no/slash", 1, 1, {}, KafkaError.TOPIC_EXCEPTION),
        ("..", 1, 1, {}, KafkaError.TOPIC_EXCEPTION),
        ("a" * 250, 1, 1, {}, KafkaError.TOPIC_EXCEPTION),
        ("no-partitions", 0, 1, {}, KafkaError.INVALID_PARTITIONS),
        ("too-many-replicas", 1, 3, {}, KafkaError.INVALID_REPLICATION_FACTOR),
        ("wrong-config", 1, 1, {"retention.ms": "soon"}, KafkaError.INVALID_CONFIG),
        ("unknown-config", 1, 1, {"retention.eons": "1"}, KafkaError.INVALID_CONFIG),
    ],
)
def test_wrong_topics_are_refused_with_kafkas_code(
    admin: AdminClient, topic_name: str, partitions: int, replicas: int, config: dict[str, str], code: int
) -> None:
    assert failure(admin.create_topics([NewTopic(topic_name, partitions, replicas, config=config)])) == code
    assert topic_name not in admin.list_topics(timeout=LIMIT_S).topics


def test_second_creation_of_a_topic_is_refused(admin: AdminClient, topic: str) -> None:
    assert failure(admin.create_topics([NewTopic(topic, 1, 1)])) == KafkaError.TOPIC_ALREADY_EXISTS


def test_validate_only_creates_nothing(admin: AdminClient, name: str) -> None:
    admin.create_topics([NewTopic(name, 1, 1)], validate_only=True)[name].result(LIMIT_S)
    assert name not in admin.list_topics(timeout=LIMIT_S).topics


def test_partitions_are_added_and_never_removed(admin: AdminClient, broker: BrokerProcess, topic: str) -> None:
    produce(broker, topic, samples(5))
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(LIMIT_S)
    wait_until(
        lambda: len(admin.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions) == 3,
        LIMIT_S,
        "three partitions",
    )
    produce(broker, topic, samples(4), partition=2)
    assert end_offsets(broker.bootstrap, topic) == {0: (0, 5), 1: (0, 0), 2: (0, 4)}
    assert failure(admin.create_partitions([NewPartitions(topic, 2)])) == KafkaError.INVALID_PARTITIONS


def test_altered_config_takes_effect_at_once_and_deletion_restores_the_default(
    admin: AdminClient, broker: BrokerProcess, topic: str
) -> None:
    default = topic_config(admin, topic)["max.message.bytes"]
    assert default.is_default
    for future in set_topic_config(admin, topic, "max.message.bytes", "500").values():
        future.result(LIMIT_S)
    wait_until(lambda: topic_config(admin, topic)["max.message.bytes"].value == "500", LIMIT_S, "the altered config")
    with pytest.raises(KafkaException):
        produce(broker, topic, samples(1, value_bytes=1000))
    for future in set_topic_config(admin, topic, "max.message.bytes", None).values():
        future.result(LIMIT_S)
    wait_until(
        lambda: topic_config(admin, topic)["max.message.bytes"].value == default.value, LIMIT_S, "the default again"
    )
    assert produce(broker, topic, samples(1, value_bytes=1000)) == [0]


def test_wrong_config_value_is_refused(admin: AdminClient, topic: str) -> None:
    assert failure(set_topic_config(admin, topic, "cleanup.policy", "burn")) == KafkaError.INVALID_CONFIG


def test_deleted_records_move_the_log_start(admin: AdminClient, broker: BrokerProcess, topic: str) -> None:
    produce(broker, topic, samples(100))
    (deleted,) = admin.delete_records([TopicPartition(topic, 0, 40)]).values()
    assert deleted.result(LIMIT_S).low_watermark == 40
    assert end_offsets(broker.bootstrap, topic)[0] == (40, 100)
    assert failure(admin.delete_records([TopicPartition(topic, 0, 101)])) == KafkaError.OFFSET_OUT_OF_RANGE
    (deleted,) = admin.delete_records([TopicPartition(topic, 0, -1)]).values()  # -1: up to the high watermark
    assert deleted.result(LIMIT_S).low_watermark == 100


def test_deleted_topic_is_gone_and_its_name_is_free(admin: AdminClient, broker: BrokerProcess, topic: str) -> None:
    produce(broker, topic, samples(10))
    admin.delete_topics([topic])[topic].result(LIMIT_S)
    wait_until(lambda: topic not in admin.list_topics(timeout=LIMIT_S).topics, LIMIT_S, "the topic gone")
    assert failure(admin.delete_topics([topic])) == KafkaError.UNKNOWN_TOPIC_OR_PART
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(LIMIT_S)
    wait_until(lambda: topic in admin.list_topics(timeout=LIMIT_S).topics, LIMIT_S, "the topic again")
    assert produce(broker, topic, samples(1)) == [0]  # a new log, from offset 0


def test_special_offsets_are_listed(admin: AdminClient, broker: BrokerProcess, topic: str) -> None:
    sent = samples(50)
    produce(broker, topic, sent)

    def listed(spec: OffsetSpec) -> tuple[int, int]:
        (future,) = admin.list_offsets({TopicPartition(topic, 0): spec}).values()
        result = future.result(LIMIT_S)
        return result.offset, result.timestamp

    assert listed(OffsetSpec.earliest())[0] == 0
    assert listed(OffsetSpec.latest())[0] == 50
    assert listed(OffsetSpec.max_timestamp()) == (49, sent[49].timestamp)
    assert listed(OffsetSpec.for_timestamp(sent[20].timestamp)) == (20, sent[20].timestamp)


def test_groups_are_listed_described_and_deleted(
    admin: AdminClient, broker: BrokerProcess, topic: str, name: str
) -> None:
    produce(broker, topic, samples(10))
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": name, "auto.offset.reset": "earliest"}
    member = Consumer(settings | {"enable.auto.commit": False})
    member.subscribe([topic])
    wait_until(lambda: member.poll(0.1), LIMIT_S, "a first record")
    member.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
    assert name in {group.group_id for group in admin.list_consumer_groups().result(LIMIT_S).valid}
    described = admin.describe_consumer_groups([name])[name].result(LIMIT_S)
    assert (described.state.name, len(described.members)) == ("STABLE", 1)
    assert described.members[0].assignment.topic_partitions == [TopicPartition(topic, 0)]
    assert failure(admin.delete_consumer_groups([name])) == KafkaError.NON_EMPTY_GROUP
    member.close()
    offsets = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])[name].result(LIMIT_S)
    assert [(offset.topic, offset.partition, offset.offset) for offset in offsets.topic_partitions] == [(topic, 0, 7)]
    target = ConsumerGroupTopicPartitions(name, [TopicPartition(topic, 0, 3)])
    admin.alter_consumer_group_offsets([target])[name].result(LIMIT_S)
    admin.delete_consumer_groups([name])[name].result(LIMIT_S)
    assert name not in {group.group_id for group in admin.list_consumer_groups().result(LIMIT_S).valid}
    assert failure(admin.delete_consumer_groups([name])) == KafkaError.GROUP_ID_NOT_FOUND


def test_cluster_is_described(admin: AdminClient, broker: BrokerProcess) -> None:
    cluster = admin.describe_cluster().result(LIMIT_S)
    assert cluster.cluster_id
    assert [(node.id, node.host, node.port) for node in cluster.nodes] == [(1, "127.0.0.1", broker.port)]


def test_acl_requests_are_answered_that_security_is_disabled(admin: AdminClient) -> None:
    anything: Any = None  # which the type of AclBindingFilter has forgotten
    every = AclBindingFilter(
        ResourceType.ANY, anything, ResourcePatternType.ANY, anything, anything, AclOperation.ANY, AclPermissionType.ANY
    )
    assert failure(admin.delete_acls([every])) == KafkaError.SECURITY_DISABLED
    assert admin.describe_acls(every).result(LIMIT_S) == []  # librdkafka drops the error


def test_describe_finds_no_scram_credentials(admin: AdminClient) -> None:
    of_everybody: Any = admin.describe_user_scram_credentials()
    assert of_everybody.result(LIMIT_S) == {}
