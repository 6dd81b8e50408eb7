"""A log directory whose disk is not mounted at the start: an empty folder where partitions were.

Apache Kafka refuses the start; ours serves the other directories. Neither writes into the folder.
"""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Producer

from crash.test_refusals import assert_refuses
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess
from peer.topics import admin_client, create_topic, read_topic

PARTITIONS = 4
PER_PARTITION = 50


def filled(broker: BrokerProcess) -> set[bytes]:
    """A topic `t` with records in every partition; returns their values."""
    create_topic(broker.bootstrap, "t", PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    values = {b"%d-%d" % (partition, i) for partition in range(PARTITIONS) for i in range(PER_PARTITION)}
    for value in sorted(values):
        producer.produce("t", value, partition=int(value.split(b"-")[0]))
    assert producer.flush(30) == 0
    return values


def read_values(broker: BrokerProcess) -> set[bytes | None]:
    return {message.value() for message in read_topic(broker.bootstrap, "t")}


def test_directory_that_is_not_mounted_is_left_alone_and_comes_back_with_every_record(
    broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    one, two, disk = tmp_path / "one", tmp_path / "two", tmp_path / "disk"
    broker = broker_factory(log_dirs=[one, two])
    values = filled(broker)
    broker.stop()
    away = [number for number in range(PARTITIONS) if (two / f"t-{number}").exists()]
    assert 0 < len(away) < PARTITIONS
    two.rename(disk)
    two.mkdir()
    broker.launch()
    if broker.kind == "kafka":
        assert_refuses(broker)
    else:
        broker.wait_until_ready()
        found = admin_client(broker.bootstrap).list_topics("t", timeout=30).topics["t"].partitions
        assert sorted(number for number in found if found[number].leader == -1) == away
        assert f"Log directory {two} is offline: it was in use before" in broker.output()
    broker.stop()
    assert list(two.iterdir()) == []
    two.rmdir()
    disk.rename(two)
    broker.start()
    assert read_values(broker) == values


def test_directory_of_the_metadata_that_is_not_mounted_refuses_the_start(
    broker_factory: BrokerFactory, tmp_path: Path
) -> None:
    one, two, disk = tmp_path / "one", tmp_path / "two", tmp_path / "disk"
    broker = broker_factory(log_dirs=[one, two])
    values = filled(broker)
    broker.stop()
    one.rename(disk)
    one.mkdir()
    if broker.kind == "kafka":  # the factory formats a first directory without meta.properties
        (one / "meta.properties").touch()
    broker.launch()
    assert_refuses(broker, f"log.dirs={one}", "meta.properties")
    broker.stop()
    if broker.kind == "kafka":
        (one / "meta.properties").unlink()
    assert list(one.iterdir()) == []
    one.rmdir()
    disk.rename(one)
    broker.start()
    assert read_values(broker) == values
