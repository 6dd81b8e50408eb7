"""kill -9 under load: what was acknowledged is there after the restart, at its offset, and once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from crash.load import Load, assert_all_are_read_back
from peer.broker_process import wait_until
from peer.topics import create_topic, end_offsets

if TYPE_CHECKING:
    from peer.broker_factory import BrokerFactory

PARTITIONS = 3
ACKNOWLEDGED_BETWEEN_KILLS = 3000


@pytest.mark.timeout(600)
def test_every_acknowledged_record_is_read_back_after_each_kill(
    broker_factory: BrokerFactory, pytestconfig: pytest.Config, summary: list[str]
) -> None:
    kills = int(pytestconfig.getoption("--kills"))
    broker = broker_factory()
    topic = create_topic(
        broker.bootstrap, "load", PARTITIONS, {"segment.bytes": "1048576", "index.interval.bytes": "1024"}
    )
    plain = Load(broker, topic, "plain", PARTITIONS)
    idempotent = Load(broker, topic, "idempotent", PARTITIONS, enable_idempotence=True, compression_type="lz4")
    for kill in range(kills):
        plain.run_until_acknowledged(ACKNOWLEDGED_BETWEEN_KILLS // 2)
        idempotent.run_until_acknowledged(ACKNOWLEDGED_BETWEEN_KILLS // 2)
        broker.kill()
        broker.start()
        assert_ends_cover(broker.bootstrap, topic, [plain, idempotent], kill)
    plain.finish()
    idempotent.finish()
    values = assert_all_are_read_back(broker, topic, [plain, idempotent])
    for partition in range(
        PARTITIONS
    ):  # the idempotent producer's records: each once, in the order sent, over all kills
        own = [value for value in values[partition] if value.startswith(b"idempotent")]
        numbers = [int(value.rstrip(b".").split(b"-")[1]) for value in own]
        assert numbers == list(range(partition, idempotent.sent, PARTITIONS))
    acknowledged = len(plain.acknowledged) + len(idempotent.acknowledged)
    summary.append(
        f"kill -9 under load: {kills} kills, {acknowledged:,} records acknowledged, 0 lost, 0 idempotent ones twice"
    )


def assert_ends_cover(bootstrap: str, topic: str, loads: list[Load], kill: int) -> None:
    """The cheap check after each kill; the whole topic is read once, at the end."""
    ends = end_offsets(bootstrap, topic)
    for load in loads:
        for partition, offset in load.acknowledged:
            assert offset < ends[partition][1], (
                f"after kill {kill}: offset {offset} of {topic}-{partition} lost, end {ends[partition][1]}"
            )


def test_committed_offsets_survive_a_kill(broker_factory: BrokerFactory) -> None:
    broker = broker_factory()
    topic = create_topic(broker.bootstrap, "t")
    load = Load(broker, topic, "r", 1)
    load.run_until_acknowledged(100)
    load.finish()

    def member() -> Consumer:
        return Consumer(
            {"bootstrap.servers": broker.bootstrap, "group.id": "g", "enable.auto.commit": False, "log_level": 0}
        )

    first = member()
    first.commit(offsets=[TopicPartition(topic, 0, 42, metadata="half way")], asynchronous=False)
    broker.kill()
    first.close()
    broker.start()
    second = member()
    found: list[TopicPartition] = []

    def is_loaded() -> bool:
        """The coordinator answers, once it has read its partition again."""
        try:
            found.extend(second.committed([TopicPartition(topic, 0)], 30))
        except KafkaException as error:
            if error.args[0].code() not in (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS):
                raise
        return bool(found)

    wait_until(is_loaded, 30, "the group's coordinator")
    assert (found[0].offset, found[0].metadata) == (42, "half way")
    second.close()


def test_clean_stop_and_start_keeps_everything(broker_factory: BrokerFactory) -> None:
    broker = broker_factory()
    topic = create_topic(broker.bootstrap, "t", 2, {"retention.ms": "987654321"})
    load = Load(broker, topic, "r", 2, enable_idempotence=True)
    load.run_until_acknowledged(2000)
    load.finish()
    assert broker.stop() in (0, 143)
    assert (broker.log_dir / ".kafka_cleanshutdown").exists()
    broker.start()
    assert not (broker.log_dir / ".kafka_cleanshutdown").exists()
    wait_until(lambda: end_offsets(broker.bootstrap, topic), 30, "the topic again")
    assert_all_are_read_back(broker, topic, [load])
    load.run_until_acknowledged(100)  # the same producer id and sequence go on
    load.finish()
    assert_all_are_read_back(broker, topic, [load])
