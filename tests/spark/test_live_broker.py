"""Beside a broker that runs: `kafka.bootstrap.servers` tells how far may be read, and each query has a range of its
own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic
from spark.conftest import SMALL_SEGMENTS, Written, produce
from spark.rows import places, planned, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from peer.broker_process import BrokerProcess

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    broker = KafkastoreBroker(tmp_path_factory.mktemp("live"))
    broker.start()
    yield broker
    broker.kill()


def test_a_query_sees_what_was_acknowledged_before_it_and_nothing_later(
    spark: SparkSession, live: BrokerProcess
) -> None:
    create_topic(live.bootstrap, "live", 2, SMALL_SEGMENTS)
    written = Written(live.log_dirs, {})
    options = {"kafka_bootstrap_servers": live.bootstrap}
    produce(live, "live", 2, 400, "none")
    first = read(spark, written, "live", **options)
    planned(first)
    produce(live, "live", 2, 600, "zstd", 400)
    assert places(first) == [(partition, offset) for partition in range(2) for offset in range(200)]
    second = read(spark, written, "live", **options)
    assert places(second) == [(partition, offset) for partition in range(2) for offset in range(500)]


def test_a_broker_that_cannot_be_asked_is_named(spark: SparkSession, written: Written) -> None:
    with pytest.raises(Exception, match=r"127.0.0.1:1 cannot be asked"):
        read(spark, written, "flights", kafka_bootstrap_servers="127.0.0.1:1").count()
