"""Brokers with two log directories each: replicas that move between them under load, and a directory that fails
(KIP-113, KIP-112; H24, H27). Apache Kafka's tools drive the moves."""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import ConfigResource, ResourceType

from cluster.cluster import Cluster, log_size
from cluster.stores import ON_SQLITE, ON_ZOOKEEPER
from crash.load import Load, assert_all_are_read_back
from parity.raw_client import RawClient
from peer import small_disk as disks
from peer.broker_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.java_tools import JavaTools
    from peer.kafkastore_broker import KafkastoreBroker

TOPIC = "orders"
NODES = (1, 2, 3)
LIMIT_S = 60.0
KILLED_WITH = 20_000
"""Records of 200 bytes that a replica copies when its broker is killed."""

SMALL_BYTES = 24 << 20

OVERRIDES = {"log.index.size.max.bytes": "65536", "alter.log.dirs.replication.quota.window.num": "3"}
"""With these a throttle lets the bytes of two seconds pass at once."""

RATE = 2_000_000
RECORD_BYTES = 20_000
HELD = 1500
"""Records of the replica that moves: a quarter of a minute at the rate."""

THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for SMALL_BYTES."""
    with disks.mounted(tmp_path / "small", SMALL_BYTES) as folder:
        yield folder


@pytest.fixture(params=ON_SQLITE)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Three brokers with the log directories ``one`` and ``two``; with ``small_disk`` the second directory of broker 1
    is on it."""
    log_dirs = {node: [tmp_path / f"dirs-{node}" / name for name in ("one", "two")] for node in NODES}
    if "small_disk" in request.fixturenames:
        log_dirs[1][1] = request.getfixturevalue("small_disk") / "data"
    made = Cluster(tmp_path, request.param, overrides=OVERRIDES, log_dirs=log_dirs)
    try:
        yield made.start()
    finally:
        made.close()


def ask(broker: KafkastoreBroker, api: str, version: int, **given: Any) -> Any:
    client = RawClient("127.0.0.1", broker.port)
    try:
        return client.ask(api, version, given)
    finally:
        client.close()


def held_in(broker: KafkastoreBroker, topic: str = TOPIC, number: int = 0) -> list[tuple[str, bool]]:
    """The log directories of a partition's replica, each with whether it holds the future replica."""
    answer = ask(broker, "describe_log_dirs", 4, topics=[{"topic": topic, "partitions": [number]}])
    return [
        (of_dir.log_dir, one.is_future_key)
        for of_dir in answer.results
        for at in of_dir.topics
        for one in at.partitions
    ]


def other_dir(broker: KafkastoreBroker) -> str:
    (now,) = (path for path, is_future in held_in(broker) if not is_future)
    return next(str(path) for path in broker.log_dirs if str(path) != now)


def move(broker: KafkastoreBroker, to: str) -> None:
    """Moves the replica by the protocol alone, because a tool takes seconds to start."""
    dirs = [{"path": to, "topics": [{"name": TOPIC, "partitions": [0]}]}]
    answer = ask(broker, "alter_replica_log_dirs", 2, dirs=dirs)
    assert [one.error_code for topic in answer.results for one in topic.partitions] == [0]


def wait_moved(broker: KafkastoreBroker, to: str) -> None:
    wait_until(lambda: held_in(broker) == [(to, False)], LIMIT_S, f"the replica is in {to}")


def assert_equal_everywhere(cluster: Cluster) -> None:
    def are_equal() -> bool:
        held = cluster.log_bytes(TOPIC)
        return bool(held[0]) and len(set(held)) == 1

    wait_until(are_equal, 30, "the replicas have the same bytes")


def start_load(cluster: Cluster, topic: str = TOPIC, records: int = 1000) -> Load:
    load = Load(cluster, topic, "load", 1, enable_idempotence=True, compression_type="none")  # type: ignore[arg-type]
    load.run_until_acknowledged(records)
    return load


def finish(cluster: Cluster, load: Load, topic: str = TOPIC) -> None:
    load.finish()
    values = assert_all_are_read_back(cluster, topic, [load])  # type: ignore[arg-type]
    assert len(set(values[0])) == len(values[0]), "a record is there twice"


def test_kafkas_tools_move_leader_and_follower_under_load(  # KIP-113
    cluster: Cluster, java: JavaTools, tmp_path: Path
) -> None:
    cluster.create(TOPIC)
    load = start_load(cluster, records=5000)
    targets = {node: other_dir(cluster.broker(node)) for node in NODES}
    replicas = cluster.partition(TOPIC).replicas
    wanted = {"topic": TOPIC, "partition": 0, "replicas": replicas, "log_dirs": [targets[node] for node in replicas]}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))

    def run(tool: str, *args: str) -> str:
        result = java.tool(tool, "--bootstrap-server", cluster.bootstrap, *args)
        assert result.exit == 0, result
        return result.out

    executed = run("kafka-reassign-partitions", "--reassignment-json-file", str(plan), "--execute")
    assert executed.count("Successfully started moving log directory to") == len(NODES), executed
    load.run_until_acknowledged(2000)
    for node in NODES:
        wait_moved(cluster.broker(node), targets[node])
    load.run_until_acknowledged(1000)
    verified = run("kafka-reassign-partitions", "--reassignment-json-file", str(plan), "--verify")
    assert verified.count("completed successfully.") == len(NODES), verified
    described = run("kafka-log-dirs", "--describe", "--topic-list", TOPIC)
    line = next(line for line in described.splitlines() if line.startswith("{"))
    found = {
        one["broker"]: {at["logDir"] for at in one["logDirs"] if at["partitions"]}
        for one in json.loads(line)["brokers"]
    }
    assert found == {node: {target} for node, target in targets.items()}
    finish(cluster, load)
    assert_equal_everywhere(cluster)


def copied(broker: KafkastoreBroker) -> int:
    """Bytes in the segments of the future replica."""
    return log_size(folder for log_dir in broker.log_dirs for folder in log_dir.glob(f"{TOPIC}-0.*-future"))


def throttle_of(cluster: Cluster, node: int) -> str | None:
    resource = ConfigResource(ResourceType.BROKER, str(node))
    admin = cluster.admin()  # kept: its requests end with its last reference
    entry = admin.describe_configs([resource])[resource].result(10).get(THROTTLE)
    return None if entry is None else entry.value


def test_a_move_with_a_throttle_of_kafkas_tool_is_held_to_it(  # KIP-113
    cluster: Cluster, java: JavaTools, tmp_path: Path, summary: list[str]
) -> None:
    cluster.create(TOPIC)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    values = random.Random(1)
    for _ in range(HELD):
        producer.produce(TOPIC, values.randbytes(RECORD_BYTES), partition=0)
    assert producer.flush(30) == 0
    broker, replicas = cluster.broker(1), cluster.partition(TOPIC).replicas
    target = other_dir(broker)
    log_dirs = [target if node == 1 else "any" for node in replicas]
    plan = tmp_path / "plan.json"
    wanted = {"topic": TOPIC, "partition": 0, "replicas": replicas, "log_dirs": log_dirs}
    plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))

    def run(*args: str) -> str:
        given = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(plan), *args)
        result = java.tool("kafka-reassign-partitions", *given)
        assert result.exit == 0, result
        return result.out

    run("--execute", "--replica-alter-log-dirs-throttle", str(RATE))
    assert throttle_of(cluster, 1) == str(RATE)
    wait_until(lambda: copied(broker) > 3 * RATE, LIMIT_S, "what passes at once is over")
    start, before = time.monotonic(), copied(broker)
    wait_until(lambda: copied(broker) > before + 3 * RATE, LIMIT_S, "it goes on")
    rate = (copied(broker) - before) / (time.monotonic() - start)
    assert RATE / 3 < rate < RATE * 1.5
    run("--execute", "--additional", "--replica-alter-log-dirs-throttle", str(1000 * RATE))
    wait_moved(broker, target)
    assert "completed successfully." in run("--verify")
    assert throttle_of(cluster, 1) is None
    assert_equal_everywhere(cluster)
    summary.append(f"between log directories throttled to {RATE:,} B/s: {rate:,.0f} B/s moved")


def test_a_leader_that_is_killed_while_it_moves_goes_on_when_it_is_back(cluster: Cluster) -> None:
    cluster.create(TOPIC, config={"segment.bytes": "1048576"})
    load = start_load(cluster, records=KILLED_WITH)
    for kill in range(4):
        node = cluster.leader(TOPIC) if kill % 2 == 0 else next(n for n in NODES if n != cluster.leader(TOPIC))
        broker = cluster.broker(node)
        target = other_dir(broker)
        move(broker, target)
        load.run_until_acknowledged(10 * kill + 1)
        broker.kill()
        load.run_until_acknowledged(500)
        broker.start()
        wait_moved(broker, target)
        cluster.wait_in_sync(TOPIC, 3)
        assert len(list(broker.log_dirs[0].glob(f"{TOPIC}-0")) + list(broker.log_dirs[1].glob(f"{TOPIC}-0"))) == 1
    finish(cluster, load)
    assert_equal_everywhere(cluster)


@pytest.mark.parametrize("cluster", ON_ZOOKEEPER, indirect=True)  # the controller hears of it by a sequential node
def test_a_directory_that_fails_costs_its_replicas_only(cluster: Cluster, small_disk: Path) -> None:  # H27, KIP-112
    """A directory's disk is full. Another broker leads the partition that broker 1 led there, the replicas in broker
    1's other directory go on, new replicas are placed in that one, and with a larger disk all replicas are in sync
    again."""
    broker = cluster.broker(1)
    small = str(small_disk / "data")
    cluster.create(TOPIC)
    cluster.create("other")
    if (small, False) not in held_in(broker):
        move(broker, small)
        wait_moved(broker, small)
    if (small, False) in held_in(broker, "other"):
        dirs = [{"path": str(broker.log_dirs[0]), "topics": [{"name": "other", "partitions": [0]}]}]
        ask(broker, "alter_replica_log_dirs", 2, dirs=dirs)
        wait_until(
            lambda: held_in(broker, "other") == [(str(broker.log_dirs[0]), False)], LIMIT_S, "it is in the large one"
        )
    load = start_load(cluster)

    def is_full() -> bool:
        load.run_until_acknowledged(2000)
        return "failed:" in broker.output()

    wait_until(is_full, LIMIT_S, "the small disk is full")
    load.run_until_acknowledged(2000)
    wait_until(lambda: 1 not in cluster.partition(TOPIC).isrs, LIMIT_S, "broker 1 is out of sync")
    assert cluster.leader(TOPIC) != 1
    offline = ask(cluster.broker(2), "metadata", 8, topics=[{"name": TOPIC}], allow_auto_topic_creation=False)
    assert [one.offline_replicas for one in offline.topics[0].partitions] == [(1,)]
    assert 1 in cluster.partition("other").isrs
    on_other = start_load(cluster, "other")
    cluster.create("later")
    wait_until(lambda: sorted(cluster.partition("later").isrs) == [1, 2, 3], LIMIT_S, "a new topic is on all brokers")
    finish(cluster, on_other, "other")

    broker.stop()
    disks.resize(small_disk, 16 * SMALL_BYTES)
    broker.start()
    cluster.wait_in_sync(TOPIC, 3)
    load.run_until_acknowledged(500)
    finish(cluster, load)
    assert_equal_everywhere(cluster)
