"""Transactions on three brokers with three replicas: every broker coordinates one of the transactional ids and leads
some partitions of each transaction, so that markers and offsets go from broker to broker.

`make test` plays Java's client and librdkafka, `make proof` seven clients: what one broker does with each of them is
``clients/test_transactions.py``. KIP-98, KIP-447, KIP-890; H14
"""

from __future__ import annotations

import itertools
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from clients import test_transactions as on_one_broker
from clients.conftest import unique_name
from clients.test_transactions import COMMITTED, PARTITIONS, PROGRAMS, UNCOMMITTED, committed_offsets, to_each_partition
from clients.transactional import Client, Script, copy, send, step
from cluster.cluster import Cluster
from parity.raw_client import RawClient
from peer.topics import wait_until_stable
from proof.scope import played

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clients.transactional import Step, Values
    from peer.kafkastore_broker import KafkastoreBroker

TRANSACTION_KEY_TYPE = 1
LIMIT_S = 20.0
FEW_PARTITIONS = {"offsets.topic.num.partitions": "6", "transaction.state.log.num.partitions": "6"}

client = on_one_broker.client


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three running brokers."""
    with closing(Cluster(tmp_path_factory.mktemp("cluster"), overrides=FEW_PARTITIONS)) as cluster:
        yield cluster.start()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return unique_name(request)


def coordinator(broker: KafkastoreBroker, transactional_id: str) -> int:
    with closing(RawClient(broker.host, broker.port)) as connection:
        asked = {"key_type": TRANSACTION_KEY_TYPE, "coordinator_keys": [transactional_id]}
        return int(connection.ask("find_coordinator", 4, asked).coordinators[0].node_id)


def one_id_for_each_coordinator(brokers: Cluster, name: str) -> list[str]:
    """Transactional ids, each with another broker as its coordinator."""
    found: dict[int, str] = {}
    for number in itertools.count():
        found.setdefault(coordinator(brokers.broker(1), f"{name}-{number}"), f"{name}-{number}")
        if len(found) == len(brokers.brokers):
            return list(found.values())
    raise AssertionError


def to_every_partition_and_end(topic: str, word: str, end: str) -> list[Step]:
    return [step("begin"), send(topic, *to_each_partition(word)), step(end)]


@pytest.mark.parametrize("client", played(["java", "librdkafka"], ["java", *PROGRAMS]), indirect=True)
def test_transactions_of_every_coordinator_are_atomic_over_the_partitions_of_all_leaders(
    client: Client, brokers: Cluster, name: str
) -> None:
    source, target, group = f"{name}-source", f"{name}-target", f"{name}-group"
    seed = brokers.broker(1).bootstrap  # the clients learn of the others
    for topic in (source, target):
        brokers.create(topic, PARTITIONS)
    assert {brokers.leader(source, number) for number in range(PARTITIONS)} == {1, 2, 3}
    ids = one_id_for_each_coordinator(brokers, name)
    committed: Values = []
    aborted: Values = []
    for number, transactional_id in enumerate(ids):
        steps = [step("init")]
        for word, end in ((f"kept-{number}", "commit"), (f"dropped-{number}", "abort")):
            steps += to_every_partition_and_end(source, word, end)
            (committed if end == "commit" else aborted).extend(to_each_partition(word))
        assert client.run(Script(seed, transactional_id, steps)) == [""] * len(steps)
    wait_until_stable(seed, source, LIMIT_S)  # markers are written after the client has its answer
    assert sorted(client.read(seed, source, COMMITTED)) == sorted(committed)
    assert sorted(client.read(seed, source, UNCOMMITTED)) == sorted(committed + aborted)

    for transactional_id, commits in zip(ids[:2], (False, True), strict=True):
        steps = [step("init"), copy(source, target, group, len(committed), commits=commits)]
        assert client.run(Script(seed, transactional_id, steps)) == ["", ""]
        offsets = committed_offsets(brokers.broker(1), group, source, PARTITIONS)
        assert sorted(offsets) == (list(range(PARTITIONS)) if commits else [])
    last_committed = 4 * len(ids) - 4  # each id leaves a record and its marker twice, and its last pair is aborted
    assert set(offsets.values()) <= {last_committed + 1, last_committed + 2}, "behind the record, or its marker"
    wait_until_stable(seed, target, LIMIT_S)
    assert sorted(client.read(seed, target, COMMITTED)) == sorted(committed)
