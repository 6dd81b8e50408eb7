"""An idempotent producer that was idle while all that it wrote was removed (KIP-360, H10): it goes on as if nothing had
been.

DeleteRecords takes its batches, or retention does; with a kill -9 behind it, its state has to come out of what is left
on the disk.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from crash.load import Load
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.topics import admin_client, create_topic, end_offsets, read_topic

LIMIT_S = 30.0
SHORT = {"log.retention.check.interval.ms": "100", "log.initial.task.delay.ms": "0"}


def delete_records(broker: BrokerProcess, topic: str) -> None:
    end = end_offsets(broker.bootstrap, topic)[0][1]
    admin = admin_client(broker.bootstrap)
    for done in admin.delete_records([TopicPartition(topic, 0, end)]).values():
        done.result(LIMIT_S)


def outlive_retention(broker: BrokerProcess, topic: str) -> None:
    """Its records are older than the topic keeps them; see the topic's configuration."""

    def is_empty() -> bool:
        low, high = end_offsets(broker.bootstrap, topic)[0]
        return low == high

    wait_until(is_empty, LIMIT_S, "retention has removed everything")


@pytest.mark.parametrize(
    ("remove", "is_killed"), [(delete_records, False), (outlive_retention, True)], ids=["delete-records", "retention"]
)
def test_idle_producer_whose_records_were_removed_goes_on(
    broker_factory: BrokerFactory, remove: Callable[[BrokerProcess, str], None], is_killed: bool
) -> None:
    broker = broker_factory(SHORT)
    admin = admin_client(broker.bootstrap)
    config = {"segment.ms": "500", "retention.ms": "1000"} if remove is outlive_retention else {}
    topic = create_topic(broker.bootstrap, "idle", 1, config)
    load = Load(broker, topic, "idle", 1, enable_idempotence=True, message_timeout_ms=60_000)
    for _ in range(2):
        load.run_until_acknowledged(100)
        load.finish()
        remove(broker, topic)
        if is_killed:
            broker.kill()
            broker.start()
    if remove is outlive_retention:
        for_ever = ConfigEntry("retention.ms", "-1", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[for_ever])
        admin.incremental_alter_configs([resource])[resource].result(LIMIT_S)
    before = load.sent
    load.run_until_acknowledged(50)
    load.finish()
    values = [message.value() or b"" for message in read_topic(broker.bootstrap, topic)]
    numbers = [int(value.rstrip(b".").split(b"-")[1]) for value in values]
    assert numbers == list(range(before, load.sent)), "a record is missing, there twice, or before another"
    ends = end_offsets(broker.bootstrap, topic)[0]
    assert ends[1] == load.sent, "an offset was given to nothing, or to something twice"
