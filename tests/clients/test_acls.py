"""Access control lists with real clients and over the wire: what is refused, with which error, and what a refusal does
not disclose.

Most tests run against Apache Kafka as well (``--against kafka``). The comparison of both brokers runs
``KAFKASTORE_ACL_CASES`` cases, 500 by default.
"""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from clients.acl_comparison import Comparison
from clients.acl_matrix import REFUSALS, ROWS, TOPIC_FAILED, USER, Row, codes
from clients.acl_world import (
    ADMIN,
    ALL,
    ANY,
    CLUSTER,
    CREATE,
    DENY,
    DESCRIBE,
    GROUP,
    LITERAL,
    MATCH,
    METADATA,
    PREFIXED,
    READ,
    WRITE,
    Acl,
    AclWorld,
)
from parity.raw_client import RawClient
from peer.broker_factory import BrokerFactory
from peer.broker_process import wait_until

CASES = int(os.environ.get("KAFKASTORE_ACL_CASES", "500"))
BOB = "CN=bob,O=Example"
UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUEST = 3, 100, 42


@pytest.fixture
def world(broker_factory: BrokerFactory, tmp_path: Path) -> Iterator[AclWorld]:
    made = AclWorld(broker_factory, tmp_path)
    yield made
    made.close()


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


def is_answered(client: RawClient, api: str, version: int, given: dict[str, Any]) -> bool:
    """Whether there is an answer with a row and without an error."""
    return codes(client.ask(api, version, given)) == [0]


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
        wait_until(partial(is_answered, world.admin, "find_coordinator", 4, asked), 30, "a coordinator is found")
    commit = next(row for row in ROWS if row.api == "offset_commit")
    wait_until(partial(is_answered, world.admin, "offset_commit", 8, commit.given), 30, "an offset is committed")
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


def named(name: str, topic_id: object = None) -> dict[str, Any]:
    return {"topics": [{"name": name or None, "topic_id": topic_id}]} | METADATA


def test_refused_topic_is_answered_like_a_missing_one(world: AclWorld) -> None:
    world.create_topics("t", "seen")
    assert world.add(Acl(USER, DESCRIBE, name="seen")) == [0]
    client = world.client(USER)
    answers = [client.ask("metadata", 12, named(name)).topics[0] for name in ("t", "missing")]
    assert {(int(one.error_code), one.topic_id, one.partitions) for one in answers} == {(TOPIC_FAILED, None, ())}
    listed = client.ask("metadata", 12, {"topics": None} | METADATA).topics
    assert [one.name for one in listed] == ["seen"]
    (hidden,) = world.admin.ask("metadata", 12, named("t")).topics
    (by_id,) = client.ask("metadata", 12, named("", hidden.topic_id)).topics
    assert (int(by_id.error_code), by_id.name, by_id.topic_id) == (TOPIC_FAILED, None, hidden.topic_id)
    unknown = uuid.UUID(int=77)
    (by_id,) = client.ask("metadata", 12, named("", unknown)).topics
    assert (int(by_id.error_code), by_id.name) == (UNKNOWN_TOPIC_ID, None)


def test_cursor_of_a_page_of_topics_names_no_hidden_one(world: AclWorld) -> None:
    world.create_topics("a", "b", "c")
    assert world.add(Acl(USER, DESCRIBE, name="a"), Acl(USER, DESCRIBE, name="c")) == [0, 0]
    page = {"topics": [], "response_partition_limit": 1, "cursor": None}
    answer = world.client(USER).ask("describe_topic_partitions", 0, page)
    assert [topic.name for topic in answer.topics] == ["a"]
    assert (answer.next_cursor.topic_name, answer.next_cursor.partition_index) == ("c", 0)


def test_missing_topic_is_created_only_for_a_client_that_may_create_it(world: AclWorld) -> None:
    creating = named("new") | {"allow_auto_topic_creation": True}
    client = world.client(USER)
    assert world.add(Acl(USER, DESCRIBE, name="*")) == [0]
    assert int(client.ask("metadata", 12, creating).topics[0].error_code) == TOPIC_FAILED
    assert int(world.admin.ask("metadata", 12, named("new")).topics[0].error_code) == UNKNOWN_TOPIC_OR_PARTITION
    assert world.add(Acl(USER, CREATE, name="new")) == [0]
    wait_until(lambda: int(client.ask("metadata", 12, creating).topics[0].error_code) == 0, 30, "the topic is created")


def test_clients_write_and_read_with_the_acls_that_they_need(world: AclWorld) -> None:
    world.create_topics("t")

    def write() -> str | None:
        failed: list[str] = []
        producer = Producer(world.rd(USER) | {"message.timeout.ms": 20_000, "enable.idempotence": True})
        producer.produce("t", b"value", on_delivery=lambda error, _: failed.append(error.name()) if error else None)
        assert producer.flush(30) == 0
        return failed[0] if failed else None

    def read() -> bytes | str | None:
        consumer = Consumer(world.rd(USER) | {"group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        with closing(consumer):
            message = consumer.poll(30)
            assert message is not None
            error = message.error()
            return message.value() if error is None else error.name()

    assert write() == "TOPIC_AUTHORIZATION_FAILED"
    assert world.add(Acl(USER, WRITE)) == [0]
    assert write() is None
    assert read() in ("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED")
    assert world.add(Acl(USER, READ), Acl(USER, READ, GROUP, "g")) == [0, 0]
    assert read() == b"value"


def test_admin_clients_create_find_and_delete_acls(world: AclWorld) -> None:
    admin = AdminClient(world.rd("CN=admin"))
    binding = AclBinding(
        ResourceType.TOPIC, "a", ResourcePatternType.PREFIXED, "User:CN=x", "10.0.0.1", AclOperation.READ,
        AclPermissionType.DENY,
    )  # fmt: skip
    (created,) = admin.create_acls([binding]).values()
    assert created.result(30) is None
    any_user: Any = None  # the library's annotations have no filter without a principal
    wanted = AclBindingFilter(
        ResourceType.TOPIC, "abc", ResourcePatternType.MATCH, any_user, any_user, AclOperation.ANY,
        AclPermissionType.ANY,
    )  # fmt: skip
    wait_until(lambda: admin.describe_acls(wanted).result(30) == [binding], 30, "the ACL is found")
    (deleted,) = admin.delete_acls([wanted]).values()
    assert deleted.result(30) == [binding]
    wait_until(lambda: admin.describe_acls(wanted).result(30) == [], 30, "the ACL is gone")


@pytest.mark.parametrize(
    "changed",
    [
        {"resource_type": CLUSTER, "resource_name": "another"},
        {"resource_name": ""},
        {"resource_type": ANY},
        {"resource_pattern_type": MATCH},
        {"operation": ANY},
        {"permission_type": ANY},
        {"resource_type": 77},
        {"operation": 77},
        {"principal": "nobody"},
    ],
    ids=str,
)
def test_invalid_acl_is_refused_and_the_one_beside_it_made(world: AclWorld, changed: dict[str, Any]) -> None:
    good = Acl(USER, READ)
    asked = {"creations": [{**Acl(USER, WRITE).creation(), **changed}, good.creation()]}
    answer = world.admin.ask("create_acls", 3, asked)
    if world.kind == "kafka" and {ANY, MATCH} & set(changed.values()):
        assert -1 in codes(answer)  # Kafka fails with UNKNOWN_SERVER_ERROR, and makes none of the ACLs
        return
    assert codes(answer) == [INVALID_REQUEST, 0]
    assert answer.results[0].error_message
    wait_until(lambda: world.described() == {good}, 30, "the valid ACL is there")


def test_denial_stays_when_the_acl_beside_it_is_removed_and_after_a_restart(world: AclWorld) -> None:
    """CVE-2024-27309"""
    world.create_topics("t")
    denial = Acl(USER, READ, permission=DENY)
    assert world.add(Acl("*", ALL), denial, Acl(BOB, READ)) == [0, 0, 0]
    assert world.remove(principal_filter=f"User:{BOB}") == 1
    fetch = ROWS[0]
    assert TOPIC_FAILED in codes(world.client(USER).ask(fetch.api, fetch.version, fetch.given))
    assert not REFUSALS & set(codes(world.client(BOB).ask(fetch.api, fetch.version, fetch.given)))
    world.close()
    world.broker.restart()
    world.admin = world.client(ADMIN)
    wait_until(lambda: denial in world.described(), 30, "the ACLs are read")
    assert TOPIC_FAILED in codes(world.client(USER).ask(fetch.api, fetch.version, fetch.given))


ODD_NAMES = ("a/b", "../x", "..", ".", "%2F", "a%2Fb", "*", "tab\tnul\0", "é\u2028", "\U0001f600", "n" * 3000, " ")


def test_acls_with_odd_names_are_kept_apart_over_a_restart(world: AclWorld) -> None:
    acls = {Acl(f"CN={name}", READ, GROUP, name, pattern) for name in ODD_NAMES for pattern in (LITERAL, PREFIXED)}
    assert world.add(*acls) == [0] * len(acls)
    assert world.described() == acls
    world.close()
    world.broker.restart()
    world.admin = world.client(ADMIN)
    wait_until(lambda: world.described() == acls, 30, "the ACLs are read")
    assert world.remove(resource_name_filter="a/b", pattern_type_filter=LITERAL) == 1
    assert world.remove(resource_name_filter="../x/y", pattern_type_filter=MATCH) == 4  # `*`, and prefixes of it
    assert world.remove() == len(acls) - 5


def test_client_cannot_fetch_as_a_follower(world: AclWorld) -> None:
    world.create_topics("t")
    fetch = ROWS[0]
    for name in ("t", "missing"):
        (topic,) = fetch.given["topics"]
        given = {**fetch.given, "replica_id": 1, "topics": [{**topic, "topic": name}]}
        assert codes(world.client(USER).ask(fetch.api, fetch.version, given)) == [0, TOPIC_FAILED]


def test_refusal_is_in_the_audit_log(world: AclWorld) -> None:
    if world.kind == "kafka":
        pytest.skip("the tests start Apache Kafka without its audit log")
    fetch = ROWS[0]
    world.client(USER).ask(fetch.api, fetch.version, fetch.given)
    line = (
        f"Principal = User:{USER} is Denied operation = READ from host = 127.0.0.1 on resource = Topic:LITERAL:t "
        "for request = Fetch with resourceRefCount = 1 (kafka.authorizer.logger)"
    )
    wait_until(lambda: line in world.broker.output(), 10, "the refusal is logged")
