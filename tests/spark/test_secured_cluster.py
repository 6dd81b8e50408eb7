"""Three secured brokers: a query reads and writes over all of them by TLS and SASL, and a dead leader costs no row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from cluster.cluster import Cluster
from peer.broker_process import free_port
from peer.certificates import Authority
from peer.token_endpoint import TokenEndpoint
from peer.tokens import AuthorizationServer
from peer.topics import read_settled
from proof.scope import played
from spark.secured import (
    GROUP,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    Right,
    Secured,
    listeners_of,
    settings_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from peer.kafkastore_broker import KafkastoreBroker

pytestmark = pytest.mark.timeout(300)

SOURCE, TARGET = "source", "target"
ROWS = 600


class SecuredCluster(Cluster):
    """Each broker has the listeners of :func:`settings_of`; the brokers reach each other by TLS and their secret."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder / "certificates")
        self.tokens = AuthorizationServer(folder / "keys")
        self.endpoint = TokenEndpoint(self.tokens.token)
        self.ports: list[tuple[int, int, int]] = []
        super().__init__(folder)

    def new_broker(self, node: int, settings: Mapping[str, str], log_dirs: Sequence[Path] = ()) -> KafkastoreBroker:
        broker = super().new_broker(node, settings, log_dirs)
        ports = free_port(), free_port(), free_port()
        broker.overrides |= settings_of("kafkastore", self.authority, self.tokens) | listeners_of(broker, ports)
        protocols = broker.overrides["listener.security.protocol.map"]
        broker.overrides["listener.security.protocol.map"] = protocols.replace(
            "REPLICATION:PLAINTEXT", "REPLICATION:SSL"
        )
        self.ports.append(ports)
        return broker

    def close(self) -> None:
        self.endpoint.close()
        super().close()

    def secured(self) -> Secured:
        first, *others = self.brokers
        more = [(broker, ports[0]) for broker, ports in zip(others, self.ports[1:], strict=True)]
        made = Secured(first, *self.ports[0], self.authority, self.tokens, self.endpoint, others=more)
        made.add_user()
        return made


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    made = SecuredCluster(tmp_path_factory.mktemp("secured"))
    try:
        made.start()
        yield made
    finally:
        made.close()


def fill(cluster: SecuredCluster, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    for number in numbers:
        producer.produce(topic, b"%d" % number)
    assert producer.flush(60) == 0


@pytest.mark.parametrize("login", played(["by_delegation_token"], ["by_delegation_token", "by_scram", "by_bearer"]))
def test_a_leader_that_dies_costs_no_row_and_doubles_none(
    spark: SparkSession, cluster: SecuredCluster, login: str, tmp_path: Path
) -> None:
    at = cluster.secured()
    source, target = f"{SOURCE}-{login}", f"{TARGET}-{login}"
    for topic in (source, target):
        cluster.create(topic, 3, 3)
    at.allow(
        Right(READ, TOPIC, source),
        Right(WRITE, TOPIC, target),
        Right(WRITE, TRANSACTIONAL_ID, "etl", PREFIXED),
        Right(READ, GROUP, "etl", PREFIXED),
        Right(READ, TOPIC, "__transaction_state"),
    )
    proof = getattr(at, login)()
    given = {"kafka.bootstrap.servers": at.bootstrap, **{f"kafka.{key}": value for key, value in proof.items()}}
    once = {"deliveryGuarantee": "exactly-once", "transactionalIdPrefix": "etl"}
    reader = spark.readStream.format("kafkastore").options(**given, subscribe=source, startingOffsets="earliest")
    writer = reader.load().select("value").writeStream.format("kafkastore").options(**given, **once, topic=target)
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    try:
        fill(cluster, source, range(ROWS))
        query.processAllAvailable()
        cluster.broker(cluster.leader(target)).kill()
        fill(cluster, source, range(ROWS, 2 * ROWS))
        query.processAllAvailable()
    finally:
        query.stop()
        cluster.start_brokers()
        cluster.wait_for_brokers(3)
    found = read_settled(cluster.bootstrap, target)
    assert sorted(int(one.value() or b"") for one in found) == list(range(2 * ROWS))
