"""Access control lists in a cluster: no ACL is needed by brokers, every broker hears of changes, and a request that one
broker passes on to the controller is its client's."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clients.acl_matrix import codes
from clients.acl_world import ADMIN, AUTHORIZER, CREATE, DESCRIBE, EVERYTHING, METADATA, PREFIXED, WRITE, Acl
from cluster.cluster import Cluster
from cluster.stores import ON_ZOOKEEPER
from parity.raw_client import RawClient
from peer.broker_process import free_port, wait_until
from peer.certificates import Authority, Pair
from peer.kafkastore_broker import KafkastoreBroker

ALICE = "CN=alice"
TOPIC_FAILED = 29
EFFECT_S = 1.0
"""Within it another broker has a change, and within as long as ten changes take on a machine that is busier."""
CHANGES = 20


class AclCluster(Cluster):
    """Two brokers with a listener for users with certificates."""

    def __init__(self, folder: Path, store: str) -> None:
        self.authority = Authority(folder / "certificates")
        self._server = self.authority.server()
        self._pairs: dict[str, Pair] = {}
        self._clients: list[RawClient] = []
        self.ports: list[int] = []
        super().__init__(folder, store, size=2)

    def new_broker(self, node: int, settings: Mapping[str, str], log_dirs: Sequence[Path] = ()) -> KafkastoreBroker:
        broker = super().new_broker(node, settings, log_dirs)
        self.ports.append(free_port())
        broker.overrides |= {
            "listeners": f"{broker.properties()['listeners']},SSL://127.0.0.1:{self.ports[-1]}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,REPLICATION:PLAINTEXT,SSL:SSL",
            "ssl.keystore.location": str(self._server.both),
            "ssl.client.auth": "required",
            "ssl.truststore.location": str(self.authority.ca),
            "authorizer.class.name": AUTHORIZER,
            "super.users": f"User:{ADMIN}",
        }
        return broker

    def client(self, user: str, node: int) -> RawClient:
        """A connection of ``user`` to a node."""
        context = ssl.create_default_context(cafile=str(self.authority.ca))
        pair = self._pairs.get(user) or self.authority.client(user, name=f"client-{len(self._pairs)}")
        self._pairs[user] = pair
        context.load_cert_chain(str(pair.chain), str(pair.key))
        raw = socket.create_connection(("127.0.0.1", self.ports[node - 1]), 10)
        self._clients.append(RawClient("", 0, context.wrap_socket(raw, server_hostname="localhost")))
        return self._clients[-1]

    def close(self) -> None:
        for client in self._clients:
            client.close()
        super().close()


@pytest.fixture(params=ON_ZOOKEEPER)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AclCluster]:
    with AclCluster(tmp_path, request.param).running() as made:
        yield made


def add(client: RawClient, *acls: Acl) -> None:
    answer = client.ask("create_acls", 3, {"creations": [one.creation() for one in acls]})
    assert codes(answer) == [0] * len(acls), answer


def creation(*names: str) -> dict[str, Any]:
    topics = [
        {"name": name, "num_partitions": 1, "replication_factor": 2, "assignments": [], "configs": []} for name in names
    ]
    return {"topics": topics, "timeout_ms": 20_000, "validate_only": False}


def metadata_code(client: RawClient, name: str) -> int:
    asked = {"topics": [{"name": name, "topic_id": None}]} | METADATA
    return int(client.ask("metadata", 12, asked).topics[0].error_code)


def has_metadata(client: RawClient, name: str, wanted: set[int]) -> bool:
    return metadata_code(client, name) in wanted


def is_outcome(outcome: Callable[[], dict[str, int]], expected: dict[str, int]) -> bool:
    return outcome() == expected


def has_outcome(outcome: Callable[[], dict[str, int]]) -> bool:
    return outcome()["theirs"] == TOPIC_FAILED


@pytest.mark.timeout(300)
def test_cluster_without_any_acl_replicates_and_changes_reach_every_broker(
    cluster: AclCluster, summary: list[str]
) -> None:
    admins = [cluster.client(ADMIN, node) for node in (1, 2)]

    def is_created() -> bool:
        created = admins[0].ask("create_topics", 7, creation("t"))
        return int(created.topics[0].error_code) in (0, 36)

    wait_until(is_created, 30, "the topic is created")
    for admin in admins:
        wait_until(partial(has_metadata, admin, "t", {0}), 30, "both brokers know the topic")

    def isr() -> set[int]:
        asked = {"topics": [{"name": "t", "topic_id": None}]} | METADATA
        return set(admins[0].ask("metadata", 12, asked).topics[0].partitions[0].isr_nodes)

    wait_until(lambda: isr() == {1, 2}, 30, "both replicas are in sync")
    alices = [cluster.client(ALICE, node) for node in (1, 2)]
    slowest = 0.0
    for turn in range(CHANGES):
        asked, other = turn % 2, 1 - turn % 2
        asks = time.monotonic()
        add(admins[asked], Acl(ALICE, DESCRIBE, name="t"))
        limit_s = max(EFFECT_S, 10 * (time.monotonic() - asks))
        assert metadata_code(alices[asked], "t") == 0, "in effect on the broker that answered"
        began = time.monotonic()
        while metadata_code(alices[other], "t") != 0:
            assert time.monotonic() - began < limit_s, "the other broker has the ACL"
        slowest = max(slowest, time.monotonic() - began)
        (removed,) = admins[other].ask("delete_acls", 3, {"filters": [EVERYTHING]}).filter_results
        assert len(removed.matching_acls) == 1
        assert metadata_code(alices[other], "t") == TOPIC_FAILED
        began = time.monotonic()
        while metadata_code(alices[asked], "t") != TOPIC_FAILED:
            assert time.monotonic() - began < limit_s, "the other broker has no ACL any more"
        slowest = max(slowest, time.monotonic() - began)
    store = "zookeeper" if cluster.zookeeper else "sqlite"
    summary.append(f"an ACL is in effect on another broker ({store}): {slowest * 1000:.0f} ms at most")


@pytest.mark.timeout(300)
def test_request_that_a_broker_passes_on_is_its_clients(cluster: AclCluster) -> None:
    admin = cluster.client(ADMIN, 1)
    add(admin, Acl(ALICE, CREATE, name="mine", pattern_type=PREFIXED), Acl(ALICE, WRITE, name="mine-1"))
    for node in (1, 2):  # one of them passes the request on
        alice = cluster.client(ALICE, node)
        wait_until(partial(has_metadata, alice, "mine-1", {0, 3}), 5, "the ACL is in effect")

        def outcome(alice: RawClient = alice, node: int = node) -> dict[str, int]:
            answer = alice.ask("create_topics", 7, creation(f"mine-{node}", "theirs"))
            return {one.name: int(one.error_code) for one in answer.topics}

        wait_until(partial(has_outcome, outcome), 30, "a controller answers")
        expected = {f"mine-{node}": 36, "theirs": TOPIC_FAILED}
        wait_until(partial(is_outcome, outcome, expected), 5, "the controller has the ACLs, too")
        by_admin = cluster.client(ADMIN, node).ask("create_topics", 7, creation(f"admins-{node}"))
        assert codes(by_admin)[0] == 0, by_admin
