"""Access control lists with real clients and over the wire: what is refused, with which error, and what a refusal does
not disclose.

Most tests run against Apache Kafka as well (``--against kafka``). The comparison of both brokers runs
``KAFKASTORE_ACL_CASES`` cases, 500 by default.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from clients.acl_comparison import Comparison
from clients.acl_matrix import REFUSALS, ROWS, USER, Row, codes
from clients.acl_world import (
    ALLOW,
    ALTER,
    ANY,
    CLUSTER,
    CLUSTER_NAME,
    CREATE,
    DELETE,
    DENY,
    DESCRIBE,
    EVERYTHING,
    GROUP,
    LITERAL,
    MATCH,
    METADATA,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    Acl,
    AclWorld,
)
from peer.broker_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from parity.raw_client import RawClient
    from peer.broker_factory import BrokerFactory

CASES = int(os.environ.get("KAFKASTORE_ACL_CASES", "500"))
ALICE, BOB = "CN=alice", "CN=bob,O=Example"
TOPIC_FAILED, GROUP_FAILED, CLUSTER_FAILED, TRANSACTIONAL_ID_FAILED = 29, 30, 31, 53
UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUEST = 3, 100, 42


@pytest.fixture
def world(broker_factory: BrokerFactory, tmp_path: Path) -> Iterator[AclWorld]:
    made = AclWorld(broker_factory, tmp_path)
    yield made
    made.close()


def metadata_of(name: str) -> dict[str, object]:
    return {"topics": [{"name": name, "topic_id": None}]} | METADATA


@pytest.mark.timeout(600)
def test_decisions_equal_those_of_apache_kafka(
    broker_factory: BrokerFactory, tmp_path: Path, summary: list[str]
) -> None:
    numbers = random.Random(int(os.environ.get("KAFKASTORE_ACL_SEED", "1")))
    cases, differences = 0, []
    for everyone in ("false", "true"):
        worlds = [
            AclWorld(
                broker_factory, tmp_path / f"{kind}-{everyone}", kind, **{"allow.everyone.if.no.acl.found": everyone}
            )
            for kind in ("kafka", "kafkastore")
        ]
        comparison = Comparison(*worlds)
        while comparison.cases < CASES / 2:
            comparison.round(numbers)
        cases += comparison.cases
        differences += comparison.differences
        for world in worlds:
            world.close()
            world.broker.stop()
    summary.append(f"decisions on ACLs compared with Apache Kafka: {cases} cases, {len(differences)} differences")
    assert not differences, "\n".join(differences[:20])


def answered(client: RawClient, row: Row) -> list[int]:
    """The error codes of the answer to a row's request."""
    try:
        return codes(client.ask(row.api, row.version, row.given))
    except (ConnectionError, TimeoutError, AssertionError) as error:
        error.add_note(row.label)
        raise


@pytest.mark.timeout(400)
def test_each_api_refuses_what_no_acl_allows_and_nothing_more(world: AclWorld) -> None:
    world.create_topics("t")
    client = world.client(USER)
    wrong = []
    for kind, key in ((0, "g"), (1, "x")):  # makes the topics of the coordinators
        asked = {"key_type": kind, "coordinator_keys": [key]}
        wait_until(
            lambda asked=asked: codes(world.admin.ask("find_coordinator", 4, asked)) == [0], 30, "a coordinator is found"
        )
    commit = next(row for row in ROWS if row.api == "offset_commit")
    wait_until(lambda: codes(world.admin.ask("offset_commit", 8, commit.given)) == [0], 30, "an offset is committed")
    for row in ROWS:
        refused = set(answered(client, row))
        if row.refusal not in refused:
            wrong.append(f"{row.label}: {refused} without ACLs")
        for left_out in range(len(row.needs)):
            some = [one for at, one in enumerate(row.acls()) if at != left_out]
            if some:
                assert world.add(*some) == [0] * len(some)
                if not REFUSALS & set(answered(client, row)):
                    wrong.append(f"{row.label}: not refused with {some} alone")
                world.remove(principal_filter=f"User:{USER}")
        assert world.add(*row.acls()) == [0] * len(row.needs)
        granted = set(answered(client, row))
        if REFUSALS & granted:
            wrong.append(f"{row.label}: {granted} with {row.acls()}")
        world.remove(principal_filter=f"User:{USER}")
    assert not wrong, "\n".join(wrong)
