"""Beside brokers that append, roll, delete, compact, move and cut: the rows of `format("kafkastore")`, from files and
over the network, are those of Spark's own Kafka source.

Each query has its end fixed, since rows are appended all the time. Where rows go meanwhile, the rows of ours lie
between those that the connector reads before and after: all that is left, nothing that was gone. The content of every
record follows from its partition and offset, so every row is also compared with what was produced.
"""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Any, Self

import pytest
from confluent_kafka import Message, Producer, TopicPartition

from clients.conftest import START_TIME_MS
from cluster.cluster import Cluster
from cluster.moves import Place, ReplicaMoves
from cluster.test_log_dirs import ask, held_in
from interop.transplant import read_checkpoint
from peer.broker_factory import BrokerFactory
from peer.broker_process import wait_until
from peer.topics import admin_client, create_topic, end_offsets, last_stable_offsets
from proof.scope import played
from scan.transactional_log import end, producer
from spark.conftest import QUICK_CLEANER, SMALL_SEGMENTS, Record
from spark.rows import collected, planned, records, with_millis
from spark.session import HAS_CONNECTOR
from spark.test_network import ways

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from peer.broker_process import BrokerProcess
    from peer.kafkastore_broker import KafkastoreBroker

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a run starts a JVM and brokers
    pytest.mark.skipif(not HAS_CONNECTOR, reason="the connector is of another version of Spark"),
]

LIMIT_S = 30.0
ROUNDS = played(2, 6)
"""An even number: what changes from round to round changes to and fro."""
PARTITIONS = 2
FIRST = 1000
RATE = 300
"""Records of a partition that a load produces at once, and then in a second."""
KEYS = 61
STEP_MS = 100
"""Between the timestamps of two records of a partition."""
WINDOW = 1500
"""Records of a partition that a query reads, where it needs not read from the beginning."""
ROLLS = {**SMALL_SEGMENTS, "segment.ms": str(200 * STEP_MS)}
"""A segment has 200 records."""
RETENTION_BYTES = "40000"
"""Of a partition: more than 700 records."""
AHEAD = 400
"""Records that a load appends behind the end of a query, where retention must not reach that end."""
QUICK = {
    **QUICK_CLEANER,
    "log.retention.check.interval.ms": "200",
    "log.segment.delete.delay.ms": "0",
    "log.flush.offset.checkpoint.interval.ms": "200",
}
"""A broker that cleans and deletes all the time."""
PROMPT = {"kafka.fetch.max.wait.ms": "20"}
"""The connector's last fetch, which finds nothing when a range ends with a hole, waits no longer."""
CONNECTOR, FILES, NETWORK = "connector", "files", "network"
WAYS = (FILES, NETWORK)
LOST = re.compile(r"([\w-]+)-(\d): offsets (\d+) to (\d+) are lost")


# ---- what is produced
def record_of(topic: str, partition: int, offset: int) -> Record:
    """The record at an offset. Each second one has a key of its own; some are tombstones, some have headers."""
    key = b"%d" % (offset % KEYS if offset % 2 else KEYS + offset)
    value = None if offset % 13 == 5 else b"%d:%d " % (partition, offset) + b"." * (offset % 7 * 40)
    headers = (("n", b"%d" % offset), ("none", None)) if offset % 3 == 0 else None
    timestamp_ms = START_TIME_MS + STEP_MS * offset
    return Record(key, value, topic, partition, offset, timestamp_ms, 0, headers)


def place_of(one: Record) -> tuple[str, int, int]:
    return one.topic, one.partition, one.offset


def send(sender: Producer, one: Record) -> None:
    headers: Any = list(one.headers or ())
    sender.produce(one.topic, one.value, one.key, one.partition, timestamp=one.timestamp_ms, headers=headers)


class Load:
    """Produces to a topic without end, its first records at once; an idempotent producer makes the n-th record the n-th
    offset."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged = dict.fromkeys(range(PARTITIONS), 0)
        self.failures: list[str] = []
        self.limit = 1 << 62
        """The offset at which it pauses."""
        self._topic = topic
        self._stopping = threading.Event()
        settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20}
        settings |= {"compression.type": "lz4", "batch.num.messages": 50, "log_level": 0, "on_delivery": self._done}
        self._producer = Producer(settings)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait_for(FIRST)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def wait_for(self, count: int) -> None:
        """Waits until each partition has so many records."""
        wait_until(lambda: min(self.acknowledged.values()) >= count, LIMIT_S, f"{self._topic} has {count} records")

    def _run(self) -> None:
        start, stop = 0, FIRST
        while not self._stopping.wait(0.02):
            for offset in range(start, stop):
                for partition in range(PARTITIONS):
                    send(self._producer, record_of(self._topic, partition, offset))
            start, stop = stop, max(stop, min(stop + RATE // 50, self.limit))
            self._producer.poll(0)
        self._producer.flush(LIMIT_S)

    def _done(self, error: object, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if error is not None or partition is None or offset is None:
            self.failures.append(f"{error}")
        elif message.timestamp()[1] != START_TIME_MS + STEP_MS * offset:
            self.failures.append(f"{partition}: another record at {offset}")
        else:
            self.acknowledged[partition] = offset + 1


class Transactions(threading.Thread):
    """Transactions that follow one another, each second of them aborted, in partition 0 of a topic."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__()
        self.ended = 0
        self._topic = topic
        self._sender = producer(bootstrap, topic, "zstd")
        self._stopping = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        while not self._stopping.wait(0.02):
            self._sender.begin_transaction()
            for offset in range(self.ended * 20, self.ended * 20 + 20):
                send(self._sender, record_of(self._topic, 0, offset))
            assert self._sender.flush(LIMIT_S) == 0  # an abort forgets what was not sent yet
            end(self._sender, commits=self.ended % 2 == 0)
            self.ended += 1


# ---- queries
Offsets = dict[str, dict[int, int]]
"""By topic and partition."""


class Reader:
    """Queries of topics by both sources; `path` as the option."""

    def __init__(self, spark: SparkSession, bootstrap: str, path: str) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._path = path

    def load(self, way: str, ends: Offsets, starts: Offsets | None = None, **options: str) -> DataFrame:
        """From the earliest offsets unless `starts` are given; option names with `_` for `.`."""
        given = {name.replace("_", "."): value for name, value in options.items()}
        given |= {"subscribe": ",".join(ends), "includeHeaders": "true", "endingOffsets": json.dumps(ends)}
        given |= {"kafka.bootstrap.servers": self._bootstrap}
        given |= {} if starts is None else {"startingOffsets": json.dumps(starts)}
        if way == CONNECTOR:
            return self._spark.read.format("kafka").options(**given, **PROMPT).load()
        source = self._spark.read.format("kafkastore").options(**given)
        return (source.option("path", self._path) if way == FILES else source).load()

    def rows(self, way: str, ends: Offsets, starts: Offsets | None = None, **options: str) -> list[Record]:
        return records(self.load(way, ends, starts, **options))


class Plan:
    """A query whose ranges are fixed now and that is read later."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = planned(with_millis(frame))

    def rows(self) -> list[Record]:
        return collected(self._frame)


def ends_of(bootstrap: str, topic: str) -> Offsets:
    return {topic: {number: high for number, (_, high) in end_offsets(bootstrap, topic).items()}}


def windows(ends: Offsets) -> Offsets:
    return {topic: {number: max(0, high - WINDOW) for number, high in of.items()} for topic, of in ends.items()}


def produced(starts: Offsets, ends: Offsets, topic: str) -> list[Record]:
    return [
        record_of(topic, number, offset)
        for number in sorted(ends[topic])
        for offset in range(starts[topic][number], ends[topic][number])
    ]


def assert_same(found: list[Record], expected: list[Record], what: str) -> None:
    """Says in few words what differs in thousands of rows."""
    if found != expected:
        unlike = sorted(set(found) ^ set(expected), key=place_of)
        pytest.fail(f"{what}: {len(found)} rows of {len(expected)}; the first that only one has: {unlike[:3]}")


def assert_between(found: list[Record], before: list[Record], after: list[Record], what: str) -> None:
    """`found` was read between the two others, which the connector read."""
    assert_same(found, [record_of(one.topic, one.partition, one.offset) for one in found], f"{what}: the content")
    assert_same(sorted(set(found), key=place_of), found, f"{what}: rows that come twice")
    missing = sorted(set(after) - set(found), key=place_of)
    added = sorted(set(found) - set(before), key=place_of)
    assert not missing, f"{what}: {len(missing)} rows are missing that the connector reads afterwards: {missing[:3]}"
    assert not added, f"{what}: {len(added)} rows came back that were gone before: {added[:3]}"


def wait_for_more(what: str, count: Callable[[], int], than: int) -> None:
    wait_until(lambda: count() > than, LIMIT_S, f"{what}: more than {than}")


# ---- one broker
@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    factory = BrokerFactory("kafkastore", tmp_path_factory.mktemp("live"))
    try:
        yield factory(QUICK)
    finally:
        factory.close()


@pytest.fixture
def reader(spark: SparkSession, live: BrokerProcess) -> Reader:
    return Reader(spark, live.bootstrap, str(live.log_dir))


def segments(broker: BrokerProcess, topic: str) -> set[str]:
    return {f"{path.parent.name}/{path.name}" for path in broker.log_dir.glob(f"{topic}-*/*.log")}


def delete_records(broker: BrokerProcess, topic: str, before: Mapping[int, int]) -> None:
    admin = admin_client(broker.bootstrap)  # kept: its requests end with its last reference
    asked = [TopicPartition(topic, number, offset) for number, offset in before.items()]
    for done in admin.delete_records(asked).values():
        done.result(LIMIT_S)


def test_rows_equal_the_connectors_while_a_broker_appends_and_rolls(live: BrokerProcess, reader: Reader) -> None:
    at = live.bootstrap
    create_topic(at, "appended", PARTITIONS, ROLLS)
    create_topic(at, "transactions", 1, ROLLS)
    with Load(at, "appended") as load, Transactions(at, "transactions") as transactions:
        wait_for_more("some transactions", lambda: transactions.ended, 10)
        before = segments(live, "appended")
        for number in range(ROUNDS):
            level = ("read_committed", "read_uncommitted")[number % 2]
            ends = ends_of(at, "appended") | ends_of(at, "transactions")
            if level == "read_committed":
                ends |= {topic: last_stable_offsets(at, topic) for topic in ends}
            starts = windows(ends)
            connectors = reader.rows(CONNECTOR, ends, starts, kafka_isolation_level=level)
            for way in WAYS:
                found = reader.rows(way, ends, starts, kafka_isolation_level=level)
                assert_same(found, connectors, f"{way}, {level}")
            plain, transactional = ([one for one in connectors if one.topic == topic] for topic in ends)
            assert_same(plain, produced(starts, ends, "appended"), "what was produced")
            share = len(transactional) / (ends["transactions"][0] - starts["transactions"][0])
            assert share == pytest.approx(0.48 if level == "read_committed" else 0.95, abs=0.2), level
        assert segments(live, "appended") > before, "the log has rolled"
    assert not load.failures


def test_rows_lie_between_the_connectors_while_a_broker_deletes(live: BrokerProcess, reader: Reader) -> None:
    at = live.bootstrap
    create_topic(at, "deleted", PARTITIONS, {**ROLLS, "retention.bytes": RETENTION_BYTES})
    gone = 0
    with Load(at, "deleted") as load:
        wait_for_more("a deletion", lambda: min(low for low, _ in end_offsets(at, "deleted").values()), 0)
        for number in range(ROUNDS):
            ends = ends_of(at, "deleted")
            load.limit = max(ends["deleted"].values())
            before = reader.rows(CONNECTOR, ends, failOnDataLoss="false")
            low, high = end_offsets(at, "deleted")[1]
            delete_records(live, "deleted", {1: low + (high - low) // 3})  # within a batch
            plans = {way: Plan(reader.load(way, ends, failOnDataLoss="false")) for way in WAYS}
            load.limit += AHEAD
            if number % 2:
                wait_for_more("another deletion", lambda: end_offsets(at, "deleted")[0][0], before[0].offset)
            found = {way: plan.rows() for way, plan in plans.items()}
            after = reader.rows(CONNECTOR, ends, failOnDataLoss="false")
            for way in WAYS:
                assert_between(found[way], before, after, way)
            gone += len(before) - len(after)
    assert not load.failures
    assert gone > 200 * ROUNDS


@pytest.mark.parametrize("way", WAYS)
def test_rows_deleted_after_planning_are_a_loss_that_is_named(live: BrokerProcess, reader: Reader, way: str) -> None:
    topic = f"lost-{way}"
    create_topic(live.bootstrap, topic, PARTITIONS, ROLLS)
    with Load(live.bootstrap, topic) as load:
        ends = ends_of(live.bootstrap, topic)
        plan = Plan(reader.load(way, ends))
        load.wait_for(max(ends[topic].values()) + 1)
        delete_records(live, topic, ends[topic])
        first = {f"{topic}-{number}/{0:020}.log" for number in range(PARTITIONS)}
        wait_until(lambda: not first & segments(live, topic), LIMIT_S, "the files are gone")
        with pytest.raises(Exception, match=LOST) as failure:
            plan.rows()
        assert not reader.rows(way, ends, failOnDataLoss="false")
    (*place, start, stop) = LOST.findall(str(failure.value))[0]
    assert place[0] == topic
    assert 0 <= int(start) < int(stop) <= ends[topic][int(place[1])]


def test_rows_lie_between_the_connectors_while_a_broker_compacts(live: BrokerProcess, reader: Reader) -> None:
    at = live.bootstrap
    create_topic(at, "compacted", PARTITIONS, {**ROLLS, "cleanup.policy": "compact", "delete.retention.ms": "0"})

    def cleaned_to() -> int:
        found = read_checkpoint(live.log_dir / "cleaner-offset-checkpoint")
        return min(int(found.get(f"compacted {number}", 0)) for number in range(PARTITIONS))

    gone = 0
    with Load(at, "compacted") as load:
        wait_until(lambda: cleaned_to() > 0, LIMIT_S, "the first cleaning")
        for number in range(ROUNDS):
            ends = ends_of(at, "compacted")
            before = reader.rows(CONNECTOR, ends)
            plans = {way: Plan(reader.load(way, ends)) for way in WAYS}
            if number % 2:
                wait_for_more("another cleaning", cleaned_to, cleaned_to())
            found = {way: plan.rows() for way, plan in plans.items()}
            after = reader.rows(CONNECTOR, ends)
            for way in WAYS:
                assert_between(found[way], before, after, way)
            gone += len(before) - len(after)
            assert len(before) < sum(ends["compacted"].values()), "the log has holes"
    assert not load.failures
    assert gone > 25 * ROUNDS


# ---- two brokers
class Wanderings(ReplicaMoves):
    """Moves a partition without copies to the other broker, and there to the other log directory."""

    def move(self, place: Place) -> None:
        (node,) = self.replicas_of(place)
        self.reassign(place, [3 - node])
        broker = self.cluster.broker(3 - node)
        self.until(f"{place} is on {broker.folder.name}", lambda: len(held_in(broker, *place)) == 1)
        ((path, _),) = held_in(broker, *place)
        (target,) = {str(one) for one in broker.log_dirs} - {path}
        self.until(f"{place} may move to {target}", lambda: self._begin_within(broker, place, target))
        self.until(f"{place} is in {target}", lambda: held_in(broker, *place) == [(target, False)])

    def _begin_within(self, broker: KafkastoreBroker, place: Place, target: str) -> bool:
        topics = [{"name": place[0], "partitions": [place[1]]}]
        answer = ask(broker, "alter_replica_log_dirs", 2, dirs=[{"path": target, "topics": topics}])
        return [int(one.error_code) for topic in answer.results for one in topic.partitions] == [0]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two brokers with two log directories each."""
    folder = tmp_path_factory.mktemp("two")
    log_dirs = {node: [folder / f"dirs-{node}" / name for name in ("one", "two")] for node in (1, 2)}
    made = Cluster(folder, size=2, overrides={**QUICK, "min.insync.replicas": "1"}, log_dirs=log_dirs)
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture
def cluster_reader(spark: SparkSession, cluster: Cluster) -> Reader:
    paths = {node: ",".join(map(str, cluster.broker(node).log_dirs)) for node in (1, 2)}
    return Reader(spark, cluster.bootstrap, json.dumps(paths))


def test_rows_equal_the_connectors_while_partitions_move(cluster: Cluster, cluster_reader: Reader) -> None:
    cluster.create_on("moved", [[1], [2]], ROLLS)
    moves = Wanderings(cluster, [("moved", number) for number in range(PARTITIONS)])
    with Load(cluster.bootstrap, "moved") as load:
        starts, ends = {"moved": {0: 0, 1: 0}}, {"moved": {0: 10, 1: 10}}
        at_rest = {way: ways(cluster_reader.load(way, ends, starts)) for way in WAYS}
        assert [text.count("[0, 10) files") for text in at_rest.values()] == [2, 0]
        assert [text.count("[0, 10) network") for text in at_rest.values()] == [0, 2]
        moves.start()
        try:
            while moves.moved < ROUNDS and not moves.errors:
                moved, ends = moves.moved, ends_of(cluster.bootstrap, "moved")
                starts = windows(ends)
                plans = {way: Plan(cluster_reader.load(way, ends, starts)) for way in WAYS}
                connectors = cluster_reader.rows(CONNECTOR, ends, starts)
                assert_same(connectors, produced(starts, ends, "moved"), "what was produced")
                for way in WAYS:
                    assert_same(cluster_reader.rows(way, ends, starts), connectors, way)
                wait_for_more("a move, or an error", lambda: moves.moved + len(moves.errors), moved)
                for way in WAYS:
                    assert_same(plans[way].rows(), connectors, f"{way}, planned before a move")
        finally:
            moves.finish()
    assert not moves.errors
    assert not load.failures


def test_rows_cut_off_by_an_unclean_election_are_a_loss_and_those_in_their_place_are_the_connectors(
    cluster: Cluster, cluster_reader: Reader
) -> None:
    """300 records that both replicas have, 200 of the first leader alone, and 250 of the second."""
    cluster.create_on("cut", [[1, 2]], {**ROLLS, "unclean.leader.election.enable": "true"})

    def append(start: int, count: int, name: str) -> None:
        sender = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True})
        for offset in range(start, start + count):
            send(sender, record_of("cut", 0, offset)._replace(key=name.encode()))
        assert sender.flush(LIMIT_S) == 0

    append(0, 300, "both")
    cluster.wait_in_sync("cut", 2)
    cluster.broker(2).stop()
    wait_until(lambda: cluster.partition("cut").isrs == [1], LIMIT_S, "the first is in sync alone")
    append(300, 200, "first")
    ends: Offsets = {"cut": {0: 500}}
    strict = {way: Plan(cluster_reader.load(way, ends)) for way in WAYS}
    lenient = {way: Plan(cluster_reader.load(way, ends, failOnDataLoss="false")) for way in WAYS}
    was = cluster_reader.rows(CONNECTOR, ends)
    cluster.broker(1).stop()
    cluster.broker(2).start()
    wait_until(lambda: cluster.partition("cut").leader == 2, LIMIT_S, "the second leads")
    append(300, 250, "second")
    cluster.broker(1).start()
    cluster.wait_in_sync("cut", 2)
    now = cluster_reader.rows(CONNECTOR, ends)
    assert [one.key for one in now[299:]] == [b"both", *[b"second"] * 200]
    assert [one.key for one in was[299:]] == [b"both", *[b"first"] * 200]
    for way in WAYS:
        assert_same(cluster_reader.rows(way, ends), now, f"{way}, planned now")
        assert_same(lenient[way].rows(), now[:300], f"{way}, planned before the election")
        with pytest.raises(Exception, match=r"cut-0: offsets 300 to 500 are lost"):
            strict[way].rows()
