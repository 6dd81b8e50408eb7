"""Brokers that reach each other by TLS and SASL: they replicate and fail over as without, and nobody else is a broker
(KIP-103)."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from cluster.cluster import Cluster
from cluster.committed_reader import CommittedReader
from kafkastore._core import BrokerLogin, BrokerTls
from kafkastore.config.secret import FILE_KEY
from kafkastore.errors import ErrorCode
from kafkastore.interbroker.client import BrokerClient
from kafkastore.interbroker.dialer import Dialer
from kafkastore.interbroker.unreachable import BrokerUnreachableError
from parity.messages import request as made
from peer.broker_process import wait_until
from peer.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from peer.kafkastore_broker import KafkastoreBroker

TOPIC = "orders"
PASSWORD = "between, brokers=only"
LIMIT_S = 30.0
SESSION_MS = 3_000
NAMES_KEY = "ssl.endpoint.identification.algorithm"
REFUSED = (None, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Way(NamedTuple):
    """How brokers reach each other."""

    protocol: str
    settings: Mapping[str, str]
    has_secret: bool = False


OF_PLAIN = {
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.replication.plain.sasl.jaas.config": f'{PLAIN} required username="kafka" password="{PASSWORD}" '
    f'user_kafka="{PASSWORD}" user_alice="alice-secret";',
    "connections.max.reauth.ms": str(SESSION_MS),
}
OF_USER = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
OF_SCRAM = {
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
    "listener.name.replication.scram-sha-512.sasl.jaas.config": f'{SCRAM} required username="kafka" '
    f'password="{PASSWORD}";',
}
WAYS = {
    "SSL with the secret": Way("SSL", {}, has_secret=True),
    "SSL with certificates of both": Way("SSL", {"listener.name.replication.ssl.client.auth": "required"}),
    "SASL_SSL with PLAIN": Way("SASL_SSL", OF_PLAIN),
    "SASL_PLAINTEXT with SCRAM": Way("SASL_PLAINTEXT", OF_SCRAM),
}


class SecureCluster(Cluster):
    def __init__(self, folder: Path, way: Way, *, size: int = 3, hosts: Sequence[str] = ("127.0.0.1",)) -> None:
        self.authority = Authority(folder / "certificates")
        self.pair = self.authority.server(*hosts)
        self.way = way
        self.tls = {
            "ssl.keystore.location": str(self.pair.both),
            "ssl.truststore.location": str(self.authority.ca),
        }
        super().__init__(folder, size=size)

    def new_broker(self, node: int, settings: Mapping[str, str], log_dirs: Sequence[Path] = ()) -> KafkastoreBroker:
        settings = {
            **settings,
            **(self.tls if "SSL" in self.way.protocol else {}),
            **self.way.settings,
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,REPLICATION:{self.way.protocol}",
        }
        if not self.way.has_secret:
            del settings[FILE_KEY]
        return super().new_broker(node, settings, log_dirs)

    def start_brokers(self) -> None:
        if "SCRAM" in str(self.way.settings):
            # the other brokers reach the first one when their user is there
            first = self.broker(1)
            first.start()
            user = UserScramCredentialUpsertion("kafka", OF_USER, PASSWORD.encode())
            admin = self.admin_at(first)  # kept: its requests end with its last reference
            admin.alter_user_scram_credentials([user])["kafka"].result(LIMIT_S)
        super().start_brokers()


def produce(cluster: Cluster, values: Sequence[bytes]) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    for value in values:
        producer.produce(TOPIC, value)
    assert producer.flush(LIMIT_S) == 0


@pytest.fixture(params=WAYS)
def secure(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SecureCluster]:
    made = SecureCluster(tmp_path, WAYS[request.param])
    try:
        made.start()
        yield made
    finally:
        made.close()


async def _shut_down(broker: Any, dialer: Dialer) -> int:
    """The error code with which a broker answers an order of another broker."""
    client = BrokerClient("127.0.0.1", broker.broker_port, "broker-2", dialer=dialer)
    try:
        answer = await client.send(made("controlled_shutdown", 3, {"broker_id": 9, "broker_epoch": 1}), 10_000)
        return int(answer.error_code)
    finally:
        await client.close()


def order(broker: Any, tls: BrokerTls | None = None, login: BrokerLogin | None = None) -> int | None:
    """As :func:`_shut_down`; None when the broker does not let this client in."""
    try:
        return asyncio.run(_shut_down(broker, Dialer(tls, login)))
    except BrokerUnreachableError:
        return None


def test_brokers_replicate_and_fail_over_and_nobody_else_is_a_broker(secure: SecureCluster) -> None:
    secure.create(TOPIC, config={"min.insync.replicas": "2"})
    produce(secure, [b"%d" % number for number in range(100)])
    secure.wait_in_sync(TOPIC, 3)
    dead = secure.broker(secure.leader(TOPIC))
    dead.kill()
    wait_until(lambda: secure.partition(TOPIC).leader not in (-1, int(dead.overrides["node.id"])), LIMIT_S, "a leader")
    produce(secure, [b"%d" % number for number in range(100, 200)])
    dead.start()
    secure.wait_in_sync(TOPIC, 3)
    with CommittedReader(secure.bootstrap, TOPIC, 1) as reader:
        wait_until(lambda: reader.has_read(200), LIMIT_S, "all records are read")
    assert sorted(int(value) for value in reader.found[0]) == list(range(200))
    wait_until(lambda: secure.has_equal_logs(TOPIC), LIMIT_S, "the replicas have the same bytes")
    assert not any("may act as a broker of this cluster" in broker.output() for broker in secure.brokers)

    broker = secure.broker(1)
    stranger = Authority(secure.folder / "elsewhere").server()
    outsiders = [None, BrokerTls({**secure.tls, NAMES_KEY: "https", "ssl.keystore.location": str(stranger.both)})]
    if secure.way != WAYS["SSL with certificates of both"]:
        outsiders.append(BrokerTls({**secure.tls, NAMES_KEY: "https"}))
    for tls in outsiders:
        assert order(broker, tls) in REFUSED
        assert order(broker, tls, BrokerLogin.of_user("PLAIN", "alice", "alice-secret")) in REFUSED
        assert order(broker, tls, BrokerLogin.of_user("SCRAM-SHA-512", "kafka", "guessed")) in REFUSED


def test_sessions_that_end_are_replaced_before_they_do(tmp_path: Path) -> None:  # KIP-368
    cluster = SecureCluster(tmp_path, WAYS["SASL_SSL with PLAIN"], size=2)
    try:
        cluster.start()
        cluster.create(TOPIC, replicas=2)
        ends = time.monotonic() + 2.5 * SESSION_MS / 1000
        while time.monotonic() < ends:
            produce(cluster, [b"value"])
            time.sleep(0.2)
        cluster.wait_in_sync(TOPIC, 2)
        assert not any("cannot be fetched from" in broker.output() for broker in cluster.brokers)
        # a user who is no broker is let in, and gives no orders
        tls = BrokerTls({**cluster.tls, NAMES_KEY: "https"})
        alice = BrokerLogin.of_user("PLAIN", "alice", "alice-secret")
        assert order(cluster.broker(1), tls, alice) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        kafka = BrokerLogin.of_user("PLAIN", "kafka", PASSWORD)
        assert order(cluster.broker(1), tls, kafka) not in (None, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    finally:
        cluster.close()


def test_request_between_brokers_may_be_larger_than_the_buffers_of_tls(tmp_path: Path) -> None:
    cluster = SecureCluster(tmp_path, WAYS["SSL with the secret"], size=1)
    topics = [{"topic_id": None, "name": f"{number:0>100}"} for number in range(5000)]
    given = {"topics": topics, "allow_auto_topic_creation": False}

    async def ask(port: int) -> Any:
        dialer = Dialer(BrokerTls({**cluster.tls, NAMES_KEY: "https"}))
        client = BrokerClient("127.0.0.1", port, "broker-2", dialer=dialer)
        try:
            return await client.send(made("metadata", 12, given), 20_000)
        finally:
            await client.close()

    try:
        cluster.start()
        broker: Any = cluster.broker(1)
        answer = asyncio.run(ask(broker.broker_port))
        assert len(answer.topics) == len(topics)
    finally:
        cluster.close()


@pytest.mark.parametrize("names", ["https", ""])
def test_a_certificate_of_another_host_is_refused_unless_names_do_not_count(tmp_path: Path, names: str) -> None:
    way = Way("SSL", {NAMES_KEY: names}, has_secret=True)
    cluster = SecureCluster(tmp_path, way, size=2, hosts=("elsewhere.example",))
    try:
        if names:
            for broker in cluster.brokers:
                broker.launch()
            refusal = 'is not reached: 127.0.0.1:.*not valid for name "127.0.0.1"'
            wait_until(
                lambda: any(re.search(refusal, broker.output()) for broker in cluster.brokers),
                LIMIT_S,
                "the controller says why it does not reach the other broker",
            )
        else:
            cluster.start()
            cluster.create(TOPIC, replicas=2)
            produce(cluster, [b"value"])
            cluster.wait_in_sync(TOPIC, 2)
    finally:
        cluster.close()
