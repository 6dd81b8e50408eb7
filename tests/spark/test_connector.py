"""Beside Spark's own Kafka source: the same rows, and checkpoints that either goes on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clients.conftest import CODECS
from peer.broker_factory import BrokerFactory
from peer.topics import create_topic
from proof.scope import played
from spark.conftest import SMALL_SEGMENTS, produce
from spark.session import HAS_CONNECTOR
from spark.test_stream import places, run, stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from peer.broker_process import BrokerProcess
    from peer.java_tools import JavaTools

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a run starts a JVM and a broker
    pytest.mark.skipif(not HAS_CONNECTOR, reason="the connector is of another version of Spark"),
]


KINDS = ("kafkastore", "kafka")


@pytest.fixture(params=KINDS)
def broker(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[BrokerProcess]:
    factory = BrokerFactory(request.param, tmp_path / "brokers")
    yield factory()
    factory.close()


def both(spark: SparkSession, broker: BrokerProcess, **options: object) -> tuple[DataFrame, DataFrame]:
    given = {name.replace("_", "."): str(value) for name, value in options.items()}
    given["kafka.bootstrap.servers"] = broker.bootstrap
    ours = spark.read.format("kafkastore").options(path=str(broker.log_dir), **given).load()
    return ours, spark.read.format("kafka").options(**given).load()


# of our files test_equality_formats.py has more
@pytest.mark.parametrize("broker", played(["kafka"], KINDS), indirect=True)
def test_every_row_equals_the_connectors(spark: SparkSession, broker: BrokerProcess, java: JavaTools) -> None:
    create_topic(broker.bootstrap, "rows", 2, SMALL_SEGMENTS)
    for number, codec in enumerate(CODECS):
        produce(broker, "rows", 2, 300, codec, number * 300)
    create_topic(broker.bootstrap, "append-time", 1, {**SMALL_SEGMENTS, "message.timestamp.type": "LogAppendTime"})
    produce(broker, "append-time", 1, 50, "lz4")
    options = {"subscribe": "rows,append-time", "includeHeaders": "true"}
    ours, connectors = both(spark, broker, **options)
    assert ours.schema == connectors.schema
    assert ours.count() == connectors.count() == 1550
    assert ours.exceptAll(connectors).count() == 0
    assert connectors.exceptAll(ours).count() == 0
    network = spark.read.format("kafkastore").options(**{"kafka.bootstrap.servers": broker.bootstrap, **options}).load()
    assert network.count() == 1550
    assert network.exceptAll(connectors).count() == 0
    start = '{"rows":{"0":100,"1":-2},"append-time":{"0":3}}'
    end = '{"rows":{"0":150,"1":40},"append-time":{"0":-1}}'
    ours, connectors = both(spark, broker, startingOffsets=start, endingOffsets=end, **options)
    assert ours.count() == connectors.count() == 50 + 40 + 47
    assert ours.exceptAll(connectors).count() == 0


# offsets in a checkpoint do not depend on the broker
@pytest.mark.parametrize("broker", played(["kafkastore"], KINDS), indirect=True)
def test_streams_go_on_with_each_others_checkpoints(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> None:
    create_topic(broker.bootstrap, "flights", 2, SMALL_SEGMENTS)
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    given = {"kafka.bootstrap.servers": broker.bootstrap, "startingOffsets": "earliest"}
    written = 0
    for source in ("kafkastore", "kafka", "kafkastore", "kafka"):
        produce(broker, "flights", 2, 40, "zstd", start=written)
        written += 40
        if source == "kafkastore":
            frame = stream(spark, str(broker.log_dir), **{name.replace(".", "_"): v for name, v in given.items()})
        else:
            frame = spark.readStream.format("kafka").options(subscribe="flights", **given).load()
        run(frame, out, checkpoint)
        expected = [(partition, offset) for partition in range(2) for offset in range(written // 2)]
        assert places(spark, out) == expected, source
