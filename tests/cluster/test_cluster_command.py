"""``kafkastore cluster`` adds brokers to a cluster and removes brokers from it."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import NewPartitions, NewTopic

from cluster import cluster_command as command
from cluster.cluster import SESSION_MS, Cluster, log_size
from cluster.stores import ON_SQLITE, ON_ZOOKEEPER
from crash.load import Load, assert_all_are_read_back
from peer.broker_process import free_port, wait_until
from peer.kafkastore_broker import executable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from confluent_kafka.admin import PartitionMetadata

TOPIC = "orders"
PARTITIONS = 10
LIMIT_S = 60.0
RECORD_BYTES = 50_000
BROKERS_PORT = 1000
"""How far behind its port for clients a broker listens for the other brokers, as `create` writes it."""

FETCH_BYTES = 100_000
"""The most bytes of one partition in one fetch of a follower."""


@pytest.fixture(params=ON_SQLITE)
def three_of_five(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Three running brokers with a topic, and two brokers that do not run yet."""
    made = Cluster(tmp_path, request.param, size=5, overrides={"replica.fetch.max.bytes": str(FETCH_BYTES)})
    try:
        if made.zookeeper is not None:
            made.zookeeper.start()
        start(made, 1, 2, 3)
        made.create(TOPIC, PARTITIONS, 3)
        yield made
    finally:
        made.close()


def start(cluster: Cluster, *nodes: int) -> None:
    for node in nodes:
        cluster.broker(node).launch()
    for node in nodes:
        cluster.broker(node).wait_until_ready()
    cluster.wait_for_brokers(sum(broker.is_running() for broker in cluster.brokers))


def fill(cluster: Cluster) -> None:
    """Fills partitions to different sizes, with records that do not compress."""
    settings = {"acks": "all", "batch.num.messages": 1, "log_level": 0}
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **settings})
    values = random.Random(1)
    for number in range(PARTITIONS):
        for _ in range(10 + 4 * number):
            producer.produce(TOPIC, values.randbytes(RECORD_BYTES), partition=number)
    assert producer.flush(30) == 0


def partitions(cluster: Cluster) -> dict[int, PartitionMetadata]:
    found: dict[int, PartitionMetadata] = cluster.admin().list_topics(TOPIC, timeout=10).topics[TOPIC].partitions
    return found


def held(cluster: Cluster) -> Counter[int]:
    return Counter(node for one in partitions(cluster).values() for node in one.replicas)


def on_disk(cluster: Cluster) -> dict[tuple[int, int], int]:
    """Bytes in the segments of each replica, by node and partition."""
    return {
        (node, number): log_size([folder])
        for node in range(1, len(cluster.brokers) + 1)
        for number in range(PARTITIONS)
        if (folder := cluster.broker(node).log_dir / f"{TOPIC}-{number}").exists()
    }


def figures(printed: str) -> tuple[int, int]:
    """(bytes that the plan copies, least possible)"""
    found = re.search(r"([\d,]+) bytes are copied, the least possible is ([\d,]+)", printed)
    assert found is not None, printed
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def ids(*nodes: int) -> str:
    return ",".join(map(str, nodes))


def test_two_added_to_three_and_one_removed_move_the_least_possible(three_of_five: Cluster, summary: list[str]) -> None:
    cluster = three_of_five
    fill(cluster)
    start(cluster, 4, 5)
    before = on_disk(cluster)
    added = command.run("add-brokers", "--bootstrap-server", cluster.bootstrap, "--brokers", "4,5")
    assert held(cluster) == dict.fromkeys(range(1, 6), 6)
    wait_until(lambda: len(on_disk(cluster)) == 3 * PARTITIONS, LIMIT_S, "what left is deleted")
    between = on_disk(cluster)
    copied = sum(size for replica, size in between.items() if replica not in before)
    assert (copied, copied) == figures(added)
    removed = command.run("remove-brokers", "--bootstrap-server", cluster.bootstrap, "--brokers", "2")
    assert "hold nothing: they may be stopped. They are out of service" in removed
    after = on_disk(cluster)
    assert not any(node == 2 for node, _ in after)
    copied_again = sum(size for replica, size in after.items() if replica not in between)
    assert (copied_again, copied_again) == figures(removed)
    assert set(held(cluster)) == {1, 3, 4, 5}
    assert set(held(cluster).values()) <= {7, 8}
    assert cluster.broker(2).stop() == 0
    cluster.wait_in_sync(TOPIC, 3)
    summary.append(
        f"two brokers added to three: {copied:,} bytes moved, least possible {figures(added)[1]:,}; one of the five "
        f"removed: {copied_again:,} moved, least possible {figures(removed)[1]:,} ({sum(before.values()):,} bytes in "
        f"{3 * PARTITIONS} replicas)"
    )


def test_moves_of_added_brokers_lose_nothing_under_load(three_of_five: Cluster) -> None:
    cluster = three_of_five
    load = Load(cluster, TOPIC, "load", PARTITIONS, enable_idempotence=True)  # type: ignore[arg-type]
    load.run_until_acknowledged(1000)
    start(cluster, 4, 5)
    process = command.launch("add-brokers", "--bootstrap-server", cluster.bootstrap, "--brokers", "4,5")
    load.run_until_acknowledged(2000)
    load.finish()
    process.communicate(timeout=command.LIMIT_S)
    assert process.returncode == 0
    assert held(cluster) == dict.fromkeys(range(1, 6), 6)
    values = assert_all_are_read_back(cluster, TOPIC, [load])  # type: ignore[arg-type]
    assert all(len(set(of_partition)) == len(of_partition) for of_partition in values.values())


def begin_slowly(cluster: Cluster) -> None:
    """Begins to add brokers 4 and 5 at a rate that takes hours, and kills the command. Every broker knew the rate
    before the first move began, so no more is copied than one fetch brings."""
    fill(cluster)
    start(cluster, 4, 5)
    process = command.launch(
        "add-brokers", "--bootstrap-server", cluster.bootstrap, "--brokers", "4,5", "--throttle", "1000"
    )
    try:
        wait_until(lambda: re.search(r"moving: [1-9]", status(cluster)), LIMIT_S, "partitions move")
    finally:
        process.kill()
        process.communicate()


def status(cluster: Cluster) -> str:
    return command.run("status", "--bootstrap-server", cluster.bootstrap)


@pytest.mark.parametrize("three_of_five", ON_ZOOKEEPER, indirect=True)  # what a killed command left is in nodes
def test_command_that_was_killed_is_run_again_and_goes_on(three_of_five: Cluster) -> None:
    cluster = three_of_five
    begin_slowly(cluster)
    told = status(cluster)
    left = re.search(r"moving: (\d+), ([\d,]+) of ([\d,]+) bytes left", told)
    assert left is not None, told
    assert 0 < int(left[2].replace(",", "")) <= int(left[3].replace(",", ""))
    assert int(left[3].replace(",", "")) - int(left[2].replace(",", "")) <= PARTITIONS * FETCH_BYTES
    again = command.run("add-brokers", "--bootstrap-server", cluster.bootstrap, "--brokers", "4,5")
    assert (
        f"0 partition(s) move; 0 bytes are copied, the least possible is 0; {left[1]} partition(s) move already"
        in again
    )
    assert held(cluster) == dict.fromkeys(range(1, 6), 6)
    assert "moving: 0" in status(cluster)


def test_cancelled_moves_leave_everything_where_it_was(three_of_five: Cluster) -> None:
    cluster = three_of_five
    before = {number: sorted(one.replicas) for number, one in partitions(cluster).items()}
    begin_slowly(cluster)
    cancelled = re.search(r"cancelled: ([1-9]\d*)", command.run("cancel", "--bootstrap-server", cluster.bootstrap))
    assert cancelled is not None
    after = {number: sorted(one.replicas) for number, one in partitions(cluster).items()}
    moved = [number for number in before if after[number] != before[number]]
    assert len(moved) <= PARTITIONS - int(cancelled[1]), "what the first fetch had copied whole was over before"
    assert all(len(after[number]) == 3 for number in moved)
    told = status(cluster)
    assert "moving: 0" in told
    assert "under-replicated: 0" in told


def test_status_shows_unhealthy_partitions(cluster: Cluster) -> None:
    cluster.create(TOPIC, 3, 3)
    cluster.create("lonely", 1, 1)
    status = ("status", "--bootstrap-server", cluster.bootstrap)
    told = command.run(*status)
    assert [line for line in told.splitlines() if line.endswith("controller")]
    for kind in ("under-replicated", "under min.insync.replicas", "offline", "moving"):
        assert f"{kind}: " in told
    assert "under-replicated: 0\n" in told
    dead = cluster.partition("lonely").leader
    cluster.broker(dead).kill()
    wait_until(lambda: f"{dead}  not alive" in command.run(*status), SESSION_MS / 1000 + LIMIT_S, "one is not alive")
    wait_until(lambda: "under-replicated: 3\n" in command.run(*status), LIMIT_S, "its replicas are missed")
    told = command.run(*status)
    assert "offline: 1\n  lonely-0\n" in told
    other = next(broker for broker in cluster.brokers if broker.is_running())
    other.kill()
    rest = next(broker for broker in cluster.brokers if broker.is_running())
    wait_until(
        lambda: "under min.insync.replicas: 3\n" in command.run("status", "--bootstrap-server", rest.bootstrap),
        LIMIT_S,
        "one of three is left",
    )


@pytest.mark.parametrize("store", ["sqlite"])
def test_faults_that_only_the_cluster_knows_are_named_and_nothing_moves(store: str, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, store, size=2, overrides={"min.insync.replicas": "1"})
    try:
        cluster.start()
        cluster.create(TOPIC, 2, 2)
        before = {number: one.replicas for number, one in partitions(cluster).items()}
        plan = tmp_path / "plan.json"
        arguments = ("reassign", "--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(plan))
        good = {"topic": TOPIC, "partition": 0, "replicas": [2]}
        for wrong, sentence in (
            (
                {"topic": "nobody", "partition": 0, "replicas": [1]},
                "partition nobody-0 does not exist: there is no topic nobody",
            ),
            ({"topic": TOPIC, "partition": 7, "replicas": [1]}, f"topic {TOPIC} has no such partition"),
            (
                {"topic": TOPIC, "partition": 1, "replicas": [1, 9]},
                "is to go to broker 9, which is not alive; alive are 1, 2",
            ),
        ):
            plan.write_text(json.dumps({"version": 1, "partitions": [good, wrong]}))
            assert sentence in command.refused(*arguments)
        server = ("--bootstrap-server", cluster.bootstrap)
        assert "broker 9 is not alive" in command.refused("add-brokers", *server, "--brokers", "9")
        assert "there is no broker 9; there are 1, 2" in command.refused("remove-brokers", *server, "--brokers", "9")
        assert "leave at least one" in command.refused("remove-brokers", *server, "--brokers", "1,2")
        assert f"{TOPIC}-0 has 2 replicas" in command.refused("remove-brokers", *server, "--brokers", "1")
        assert {number: one.replicas for number, one in partitions(cluster).items()} == before
        plan.write_text(json.dumps({"version": 1, "partitions": [good]}))
        assert json.loads(command.run(*arguments, "--dry-run").splitlines()[0])["partitions"][0]["replicas"] == [2]
        assert {number: one.replicas for number, one in partitions(cluster).items()} == before
        assert "done: 1 partition(s)" in command.run(*arguments, "--throttle", "1000000")
        assert partitions(cluster)[0].replicas == [2]
        assert "nothing moves" in command.run(*arguments)
    finally:
        cluster.close()


def test_created_properties_start_a_cluster(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    ports = str(free_port(BROKERS_PORT))
    lines = command.run(
        "create",
        "--folder",
        str(folder),
        "--brokers",
        "1",
        "--first-id",
        "7",
        "--first-port",
        ports,
        "--racks",
        "north",
    )
    name, *arguments = lines.split()
    assert name == "kafkastore"
    process = subprocess.Popen([executable(), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:

        def told() -> str:
            asked = command.launch("status", "--bootstrap-server", f"127.0.0.1:{ports}")
            return asked.communicate(timeout=command.LIMIT_S)[0]

        wait_until(lambda: re.search(r"^ +7  .* north .* controller$", told(), re.MULTILINE), LIMIT_S, "it runs")
        assert "broker-7 already" in command.refused(
            "create", "--folder", str(folder), "--brokers", "2", "--first-id", "6"
        )
        assert not (folder / "broker-6").exists()
    finally:
        process.terminate()
        assert process.wait(LIMIT_S) == 0


def create_one(cluster: Cluster, name: str) -> set[int]:
    """Creates a topic; returns the brokers that have its replicas."""
    cluster.create(name, 8, 2)
    return {
        node
        for one in cluster.admin().list_topics(name, timeout=10).topics[name].partitions.values()
        for node in one.replicas
    }


def test_removed_broker_gets_nothing_until_it_is_added(three_of_five: Cluster) -> None:
    cluster = three_of_five
    start(cluster, 4, 5)
    server = ("--bootstrap-server", cluster.bootstrap)
    command.run("add-brokers", *server, "--brokers", "4,5")
    said = command.run("remove-brokers", *server, "--brokers", "4")
    assert "broker(s) 4 hold nothing: they may be stopped. They are out of service" in said
    assert re.search(r"^ +4 .* out of service$", command.run("status", *server), re.MULTILINE)
    assert create_one(cluster, "later") == {1, 2, 3, 5}
    admin = cluster.admin()
    grown = admin.create_partitions([NewPartitions("later", 16)])["later"]
    grown.result(20)
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "g", "log_level": 0})
    consumer.subscribe([TOPIC])

    def has_offsets_topic() -> bool:
        consumer.poll(0.1)
        return "__consumer_offsets" in admin.list_topics(timeout=10).topics

    wait_until(has_offsets_topic, 20, "the consumer has had __consumer_offsets created")
    consumer.close()
    by_hand = NewTopic("by-hand", 1, replica_assignment=[[4, 1]])
    with pytest.raises(KafkaException, match="broker 4, which was removed"):
        admin.create_topics([by_hand], operation_timeout=20)["by-hand"].result(20)
    command.run("rebalance", *server)
    command.run("remove-brokers", *server, "--brokers", "3")  # moves onto brokers in service only
    placed = [one for topic in admin.list_topics(timeout=10).topics.values() for one in topic.partitions.values()]
    assert {node for one in placed for node in one.replicas} == {1, 2, 5}
    cluster.broker(4).restart()
    assert create_one(cluster, "after-a-restart") == {1, 2, 5}
    command.run("add-brokers", *server, "--brokers", "3,4")
    assert "out of service" not in command.run("status", *server)
    assert create_one(cluster, "at-last") == {1, 2, 3, 4, 5}


def test_rebalance_evens_out_brokers_that_are_there_and_moves_the_least_possible(
    three_of_five: Cluster,
) -> None:
    cluster = three_of_five
    fill(cluster)
    cluster.create_on("uneven", [(1, 2)] * 9)
    server = ("--bootstrap-server", cluster.bootstrap)
    dry = command.run("rebalance", *server, "--dry-run")
    done = command.run("rebalance", *server, "--throttle", "50000000")
    moved, least = figures(done)
    assert figures(dry) == (moved, least)
    assert moved == least == 0, "the replicas of the empty topic go, those with data stay"
    found = [
        one for topic in cluster.admin().list_topics(timeout=10).topics.values() for one in topic.partitions.values()
    ]
    holds = Counter(node for one in found for node in one.replicas)
    first = Counter(one.replicas[0] for one in found)
    assert max(holds.values()) - min(holds.values()) <= 1
    assert max(first.values()) - min(first.values()) <= 1
    assert "nothing moves: it is so already" in command.run("rebalance", *server)
