"""A client that pretends to be a broker changes nothing on any listener."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from kazoo.client import KazooClient

from cluster.cluster import Cluster, secret_at
from cluster.stores import ON_ZOOKEEPER
from kafkastore._core import BrokerLogin
from kafkastore.config.secret import FILE_KEY, REQUIRED_KEY
from kafkastore.errors import ErrorCode
from kafkastore.interbroker.client import BrokerClient
from kafkastore.interbroker.dialer import Dialer
from kafkastore.interbroker.unreachable import BrokerUnreachableError
from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.sqlite import SqliteStore
from parity.messages import request as made
from peer.broker_process import hang, wait_until

TOPIC = "orders"
PLENTY_MS = 10_000
LIMIT_S = 30.0
LATEST = -1
"""The time that stands for the high watermark."""

VERY_HIGH = 1_000_000
"""An epoch above all others."""


@pytest.fixture(params=ON_ZOOKEEPER)
def patient(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster in which brokers that hang keep their sessions and stay in sync."""
    overrides = {"zookeeper.session.timeout.ms": "18000", "replica.lag.time.max.ms": "60000"}
    with Cluster(tmp_path, request.param, overrides=overrides).running() as made:
        yield made


def epoch_of(cluster: Cluster, node: int) -> int:
    """The broker's epoch, which a client can guess on SQLite, and read where ZooKeeper is open."""
    path = f"/brokers/ids/{node}"
    if cluster.zookeeper is None:
        return asyncio.run(_created(str(cluster.metadata_path), path))
    client = KazooClient(f"{cluster.zookeeper.address}/kafkastore")
    client.start()
    created: int = client.get(path)[1].czxid
    client.stop()
    client.close()
    return created


async def _created(file: str, path: str) -> int:
    store = SqliteStore(file)
    await store.connect()
    created = (await store.get(path)).created
    await store.close()
    return created


async def _ask(port: int, request: OutgoingRequest, secret: str | None = None) -> Any:
    login = None if secret is None else BrokerLogin.of_secret(secret, is_required=True)
    client = BrokerClient("127.0.0.1", port, "broker-2-fetcher-0", dialer=Dialer(login=login))
    try:
        return await client.send(request, PLENTY_MS)
    finally:
        await client.close()


def ask(port: int, request: OutgoingRequest) -> Any:
    """Sends the request as any client can, without a secret."""
    return asyncio.run(_ask(port, request))


def orders(cluster: Cluster, node: int) -> list[OutgoingRequest]:
    """Forged inter-broker requests with the right broker epoch and a controller epoch that would be obeyed."""
    from_controller = {"controller_id": 1, "controller_epoch": VERY_HIGH, "broker_epoch": epoch_of(cluster, node)}
    gone = {"partition_index": 0, "leader_epoch": VERY_HIGH, "delete_partition": True}
    of_topic = {"topic_name": TOPIC, "partition_states": [gone]}
    sender = {"broker_id": node, "broker_epoch": epoch_of(cluster, node)}
    return [
        made("stop_replica", 4, {**from_controller, "topic_states": [of_topic]}),
        made("leader_and_isr", 7, {**from_controller, "type": 1}),
        made("update_metadata", 8, {**from_controller, "type": 2}),
        made("controlled_shutdown", 3, sender),
        made("alter_partition", 3, sender),
    ]


def follower_fetch(replica: int, offset: int) -> OutgoingRequest:
    partition = {"partition": 0, "fetch_offset": offset, "current_leader_epoch": -1, "partition_max_bytes": 1 << 20}
    given: Mapping[str, Any] = {
        "replica_id": replica,
        "max_bytes": 1 << 20,
        "session_epoch": -1,
        "topics": [{"topic": TOPIC, "partitions": [partition]}],
        "rack_id": "",
    }
    return made("fetch", 12, given)


def high_watermark(running: Any) -> int:
    """As the leader tells it in one request: a consumer would ask for its coordinator first, and a controller that
    hangs makes no topic for that."""
    partition = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": LATEST}
    topics = [{"name": TOPIC, "partitions": [partition]}]
    request = made("list_offsets", 7, {"replica_id": -1, "isolation_level": 0, "topics": topics})
    (of_topic,) = ask(running.port, request).topics
    found: int = of_topic.partitions[0].offset
    return found


def test_orders_of_a_client_are_refused_on_every_listener(cluster: Cluster) -> None:
    cluster.create(TOPIC)
    leader = cluster.leader(TOPIC)
    before = cluster.partition(TOPIC)
    for node in (leader, leader % 3 + 1):
        broker: Any = cluster.broker(node)
        for port in (broker.port, broker.broker_port):
            for order in orders(cluster, node):
                assert ask(port, order).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED, (port, order.api)
        assert sorted(path.name for path in broker.log_dir.glob(f"{TOPIC}*")) in ([], [f"{TOPIC}-0"])
    now = cluster.partition(TOPIC)
    assert (now.leader, now.replicas, now.isrs) == (before.leader, before.replicas, before.isrs)
    assert len(cluster.admin().list_topics(timeout=10).brokers) == 3


def test_fetch_with_a_replica_id_counts_for_nothing_on_any_listener(patient: Cluster) -> None:
    cluster = patient
    cluster.create(TOPIC)
    leader = cluster.leader(TOPIC)
    cluster.wait_in_sync(TOPIC, 3)
    broker: Any = cluster.broker(leader)
    followers = [node for node in (1, 2, 3) if node != leader]
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": 1, "log_level": 0})
    producer.produce(TOPIC, b"on all")
    assert producer.flush(LIMIT_S) == 0
    wait_until(lambda: high_watermark(broker) == 1, LIMIT_S, "the first record is on all replicas")
    for node in followers:
        hang(cluster.broker(node).pid)
    producer.produce(TOPIC, b"on the leader only")
    assert producer.flush(LIMIT_S) == 0
    for port in (broker.port, broker.broker_port):
        for node in followers:
            answer = ask(port, follower_fetch(node, 2))
            of_partition = answer.responses[0].partitions[0]
            assert of_partition.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert high_watermark(broker) == 1, "a client has said that it has the record, and the leader has believed it"
    for node in followers:
        os.kill(cluster.broker(node).pid, signal.SIGCONT)
    wait_until(lambda: high_watermark(broker) == 2, LIMIT_S, "the followers have it")


def test_wrong_secret_costs_the_connection_and_the_right_one_opens_it(cluster: Cluster) -> None:
    broker: Any = cluster.broker(1)
    order = orders(cluster, 1)[1]
    with pytest.raises(BrokerUnreachableError, match="the secret of the brokers was not proven"):
        asyncio.run(_ask(broker.broker_port, order, "a secret that is wrong"))
    right = (cluster.folder / "inter-broker.secret").read_text().strip()
    with pytest.raises(BrokerUnreachableError, match=r"does not take the proof .*error 34"):
        asyncio.run(_ask(broker.port, order, right))
    answer = asyncio.run(_ask(broker.broker_port, alter_partition_of_broker_99(), right))
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH or answer.error_code == ErrorCode.NOT_CONTROLLER

    async def out_of_order() -> None:
        client = BrokerClient("127.0.0.1", broker.broker_port, "nobody")
        early = await client.send(made("sasl_authenticate", 1, {"auth_bytes": b"n,,n=broker,r=x"}), PLENTY_MS)
        assert early.error_code == ErrorCode.ILLEGAL_SASL_STATE
        plain = await client.send(made("sasl_handshake", 1, {"mechanism": "PLAIN"}), PLENTY_MS)
        assert (plain.error_code, plain.mechanisms) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ("SCRAM-SHA-256",))
        connection = client._connection
        assert connection is not None
        async with asyncio.timeout(PLENTY_MS / 1000):
            await connection.until_closed()
        await client.close()

    asyncio.run(out_of_order())
    assert (
        "127.0.0.1 on REPLICATION has not proven to be a broker by the secret: the password is wrong" in broker.output()
    )


def alter_partition_of_broker_99() -> OutgoingRequest:
    return made("alter_partition", 3, {"broker_id": 99, "broker_epoch": 1})


def test_secret_is_brought_in_while_the_cluster_serves(tmp_path: Path) -> None:
    """The steps of docs/clusters.md: none, known, required; each broker is restarted in each step."""
    cluster = Cluster(tmp_path, "sqlite", size=2)
    file = {FILE_KEY: str(secret_at(tmp_path / "inter-broker.secret"))}
    with closing(cluster):
        for broker in cluster.brokers:
            del broker.overrides[FILE_KEY]
        cluster.start()
        cluster.create(TOPIC, replicas=2)
        produced = 0
        for step in (file | {REQUIRED_KEY: "false"}, file | {REQUIRED_KEY: "true"}):
            for broker in cluster.brokers:
                broker.overrides |= step
                broker.restart()
                cluster.wait_for_brokers(2)
                cluster.wait_in_sync(TOPIC, 2)
                producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
                producer.produce(TOPIC, b"%d" % produced)
                assert producer.flush(LIMIT_S) == 0
                produced += 1
        assert high_watermark(cluster.broker(cluster.leader(TOPIC))) == produced == 4
        said = [broker.output() for broker in cluster.brokers]
        assert all(text.count("Whoever reaches listener REPLICATION may act as a broker") == 2 for text in said)
