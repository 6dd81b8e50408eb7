"""Three secured brokers, ours and Apache Kafka's: each path reads and writes over all of them by TLS and SASL. A dead
leader of ours costs no row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic
from pyspark.sql import SparkSession

import kafkastore
import kafkastore.spark
from clients.conftest import unique_name
from cluster.cluster import Cluster
from kafkastore.cli import main as cli
from peer.broker_process import free_port
from peer.certificates import Authority
from peer.kafkastore_broker import KafkastoreBroker
from peer.token_endpoint import TokenEndpoint
from peer.tokens import AuthorizationServer
from peer.topics import read_settled
from proof.scope import played
from spark.secured import READ, TOPIC, WRITE, Right, Secured, secure
from spark.secured_kafka import secured_kafka
from spark.test_secured import (
    EXACTLY_ONCE,
    committed,
    copying,
    properties_file,
    read,
    rows,
    to_load,
    to_write_once,
    write,
)

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
        secure(broker, ports, self.authority, self.tokens)
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
    with SecuredCluster(tmp_path_factory.mktemp("secured")).running() as made:
        yield made


@pytest.fixture(scope="module", params=played(["kafkastore"], ["kafkastore", "kafka"]))
def three(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    if request.param == "kafka":
        yield from secured_kafka(tmp_path_factory.mktemp("kafka"))
    else:
        yield request.getfixturevalue("cluster").secured()


def fill(bootstrap: str, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
    for number in numbers:
        producer.produce(topic, b"%d" % number, partition=number % 3)
    assert producer.flush(60) == 0


@pytest.mark.parametrize("login", played(["by_delegation_token"], ["by_delegation_token", "by_scram", "by_bearer"]))
def test_a_leader_that_dies_costs_no_row_and_doubles_none(
    spark: SparkSession, cluster: SecuredCluster, login: str, tmp_path: Path
) -> None:
    at = cluster.secured()
    source, target = f"{SOURCE}-{login}", f"{TARGET}-{login}"
    for topic in (source, target):
        cluster.create(topic, 3, 3)
    at.allow(Right(READ, TOPIC, source), *to_write_once(target))
    query = copying(spark, at, getattr(at, login)(), source, target, tmp_path).start()
    try:
        fill(cluster.bootstrap, source, range(ROWS))
        query.processAllAvailable()
        cluster.broker(cluster.leader(target)).kill()
        fill(cluster.bootstrap, source, range(ROWS, 2 * ROWS))
        query.processAllAvailable()
    finally:
        query.stop()
        cluster.start_brokers()
        cluster.wait_for_brokers(3)
    found = read_settled(cluster.bootstrap, target)
    assert sorted(int(one.value() or b"") for one in found) == list(range(2 * ROWS))


@pytest.mark.parametrize("login", played(["by_certificate"], ["by_certificate", "by_scram", "by_bearer"]))
def test_each_path_goes_over_all_brokers(
    spark: SparkSession,
    three: Secured,
    login: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Source, stream, sink at least once and exactly once, scan, `sql`, export, and loads into ours."""
    name, proof, wanted = unique_name(request), getattr(three, login)(), list(range(ROWS))
    paths = ("source", "sink", "once", "stream", "load")
    topics = {path: f"{name}-{path}" for path in paths}
    made = three.admin.create_topics([NewTopic(topic, 3, 3) for topic in topics.values()], operation_timeout=20)
    for future in made.values():
        future.result(30)
    source, log_dir = topics["source"], str(three.broker.log_dir)
    fill(three.broker.bootstrap, source, range(ROWS))
    three.allow(
        Right(READ, TOPIC, source),
        Right(WRITE, TOPIC, topics["sink"]),
        *to_write_once(topics["once"]),
        Right(WRITE, TOPIC, topics["stream"]),
        *to_load(topics["load"], name),
    )
    frame = read(spark, three, proof, source)
    assert frame.select("value").distinct().count() == ROWS
    assert {row.partition for row in frame.select("partition").distinct().collect()} == {0, 1, 2}
    write(rows(spark, ROWS), three, proof, topics["sink"])
    write(rows(spark, ROWS), three, proof, topics["once"], **EXACTLY_ONCE)
    stream = copying(spark, three, proof, source, topics["stream"], tmp_path / "checkpoint")
    stream.trigger(availableNow=True).start().awaitTermination()
    written = ["sink", "once", "stream"]
    if three.kind == "kafkastore":
        given: dict[str, Any] = {"bootstrap_servers": three.bootstrap_of(proof), "command_config": proof}
        assert kafkastore.spark.load(topics["load"], rows(spark, ROWS), load_id=name, **given).records == ROWS
        written.append("load")
    for path in written:
        assert committed(three, topics[path]) == wanted, path
    scan = kafkastore.scan([log_dir], source, bootstrap_servers=three.bootstrap_of(proof), command_config=proof)
    assert scan.count() == ROWS
    config = ["--bootstrap-server", three.bootstrap_of(proof), "--command-config", properties_file(tmp_path, proof)]
    query = f'select count(*) as n from "{source}"'
    assert cli.main(["sql", query, log_dir, *config, "--format", "jsonl"]) == 0
    assert json.loads(capfd.readouterr().out) == {"n": ROWS}
    assert cli.main(["export", log_dir, "--topic", source, "--output", str(tmp_path / "lake"), *config]) == 0
    assert sum(pq.read_metadata(file).num_rows for file in (tmp_path / "lake").rglob("*.parquet")) == ROWS
    shown = "".join(capfd.readouterr()) + str(frame._jdf.queryExecution().toString())
    assert not [secret for secret in three.secrets if secret in shown]
