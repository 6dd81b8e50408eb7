"""Partitions whose files are not seen come over the network, into the same rows; those that are seen come from
files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clients.conftest import CODECS, START_TIME_MS
from cluster.cluster import Cluster
from cluster.moves import ReplicaMoves
from peer.topics import read_topic
from scan.transactional_log import write_ended_transactions
from spark.conftest import SMALL_SEGMENTS, Record, produce
from spark.rows import planned, records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and brokers

SPREAD, COPIED, MOVED, TRANSACTIONS = "spread", "copied", "moved", "transactions"


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers with a topic spread over them without copies, and topics of which each has a copy."""
    cluster = Cluster(tmp_path_factory.mktemp("brokers"))
    try:
        cluster.start()
        cluster.create_on(SPREAD, [[1], [2], [3]], SMALL_SEGMENTS)
        cluster.create(COPIED, 3, 3, SMALL_SEGMENTS)
        cluster.create_on(MOVED, [[1], [1]], SMALL_SEGMENTS)
        cluster.create(TRANSACTIONS, 2, 3, SMALL_SEGMENTS)
        for number, codec in enumerate(CODECS):
            produce(cluster.broker(1), SPREAD, 3, 300, codec, number * 300)
        produce(cluster.broker(1), COPIED, 3, 6000, "none", size=6000)  # some fetches for each partition
        produce(cluster.broker(1), MOVED, 2, 600, "lz4", size=500)
        write_ended_transactions(cluster.bootstrap, TRANSACTIONS)
        yield cluster
    finally:
        cluster.close()


def read(spark: SparkSession, cluster: Cluster, topic: str, **options: object) -> DataFrame:
    given = {name.replace("_", "."): str(value) for name, value in options.items()}
    given = {"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": topic, "includeHeaders": "true", **given}
    return spark.read.format("kafkastore").options(**given).load()


def consumed(cluster: Cluster, topic: str, level: str = "read_committed") -> list[Record]:
    messages = read_topic(cluster.bootstrap, topic, isolation_level=level)
    return sorted(map(Record.of, messages), key=lambda one: one[2:5])


def ways(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().toString())


def dirs_of(cluster: Cluster, *nodes: int) -> str:
    return ",".join(str(path) for node in nodes for path in cluster.broker(node).log_dirs)


def test_rows_over_the_network_are_those_of_a_consumer(spark: SparkSession, brokers: Cluster) -> None:
    frame = read(spark, brokers, SPREAD)
    assert records(frame) == consumed(brokers, SPREAD)
    explained = ways(frame)
    assert explained.count("[0, 500) network") == 3, explained
    assert frame.count() == 1500  # no headers are seen: the records are counted


def test_each_partition_comes_from_files_where_they_are_seen(spark: SparkSession, brokers: Cluster) -> None:
    one = read(spark, brokers, SPREAD, path=dirs_of(brokers, 2))
    explained = ways(one)
    assert "spread-1 [0, 500) files" in explained
    assert "spread-0 [0, 500) network" in explained
    assert records(one) == consumed(brokers, SPREAD)
    template = str(brokers.broker(1).log_dirs[0]).replace("broker-1", "broker-{broker.id}")
    for path in (dirs_of(brokers, 3, 1, 2), template):
        every = read(spark, brokers, SPREAD, path=path)
        assert "network" not in ways(every)
        assert records(every) == consumed(brokers, SPREAD)
    assert read(spark, brokers, COPIED, path=template).count() == 6000


def test_bounds_by_offset_and_by_time_mean_the_same_over_the_network(spark: SparkSession, brokers: Cluster) -> None:
    for bounds in (
        {"startingOffsets": '{"spread":{"0":10,"1":-2,"2":499}}', "endingOffsets": '{"spread":{"0":11,"1":7,"2":-1}}'},
        {"startingTimestamp": str(START_TIME_MS + 300_500), "endingTimestamp": str(START_TIME_MS + 1_100_000)},
    ):
        network = records(read(spark, brokers, SPREAD, **bounds))
        assert network == records(read(spark, brokers, SPREAD, path=dirs_of(brokers, 1, 2, 3), **bounds))
        assert 0 < len(network) < 1500


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_aborted_records_are_left_out_over_the_network(spark: SparkSession, brokers: Cluster, level: str) -> None:
    expected = consumed(brokers, TRANSACTIONS, level)
    frame = read(spark, brokers, TRANSACTIONS, kafka_isolation_level=level, minPartitions=7)
    assert records(frame) == expected
    assert len(expected) != len(consumed(brokers, TRANSACTIONS, "read_committed")) or level == "read_committed"


def test_a_partition_that_moves_after_planning_is_read_where_it_is(spark: SparkSession, brokers: Cluster) -> None:
    expected = consumed(brokers, MOVED)
    frame = planned(read(spark, brokers, MOVED, path=dirs_of(brokers, 1)))
    assert "network" not in ways(frame)
    moves = ReplicaMoves(brokers, [])
    for partition in range(2):
        moves.reassign((MOVED, partition), [3])
    folder = brokers.broker(1).log_dirs[0]
    moves.until("the files are gone", lambda: not any((folder / f"{MOVED}-{number}").exists() for number in range(2)))
    assert records(frame) == expected


def test_a_leader_that_is_killed_in_the_middle_costs_no_row(spark: SparkSession, brokers: Cluster) -> None:
    expected = [(one.partition, one.offset) for one in consumed(brokers, COPIED)]
    rows = read(spark, brokers, COPIED, minPartitions=3).select("partition", "offset", "value").toLocalIterator()
    first = next(rows)
    killed = brokers.leader(COPIED, (first.partition + 1) % 3)
    brokers.broker(killed).kill()
    try:
        found = [(first.partition, first.offset), *((row.partition, row.offset) for row in rows)]
    finally:
        brokers.start_brokers()
        brokers.wait_for_brokers(3)
    assert sorted(found) == expected


def test_brokers_that_are_all_gone_are_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"127.0.0.1:1 cannot be asked"):
        spark.read.format("kafkastore").options(
            **{"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}
        ).load().count()
    with pytest.raises(Exception, match=r"stands for each broker's id; give kafka.bootstrap.servers"):
        spark.read.format("kafkastore").options(path=f"{tmp_path}/{{broker.id}}", subscribe="t").load().count()
