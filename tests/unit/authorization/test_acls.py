"""ACLs in the store: compare-and-set, what several brokers see, invalid nodes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from world import until

from kafkastore.acl_words import (
    ALLOW,
    ANY,
    DENY,
    GROUP,
    LITERAL,
    MATCH,
    PREFIXED,
    READ,
    TOPIC,
    WRITE,
    AccessControlEntry,
    AclBindingFilter,
    ResourcePattern,
)
from kafkastore.authorization.acls import TOGETHER, Acls
from kafkastore.authorization.nodes import CHANGES, decode, encode, path_of
from kafkastore.errors import StartupError
from kafkastore.metadata.notices import KEPT
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import NoNodeError

T, U, PREFIX = (
    ResourcePattern(TOPIC, LITERAL, "t"),
    ResourcePattern(GROUP, LITERAL, "u"),
    ResourcePattern(TOPIC, PREFIXED, "t"),
)
ALICE, BOB = AccessControlEntry("User:alice", "*", READ, ALLOW), AccessControlEntry("User:bob", "*", WRITE, DENY)
EVERYTHING = AclBindingFilter(ANY, ANY, None, None, None, ANY, ANY)
BY = ("User:admin", "/10.0.0.1")


class Published:
    """The data plane's end: the ACLs by pattern."""

    def __init__(self) -> None:
        self.acls: dict[ResourcePattern, frozenset[AccessControlEntry]] = {}

    def publish_acls(self, patterns: list[Any], *, is_whole: bool) -> None:
        if is_whole:
            self.acls = {}
        for kind, pattern_type, name, entries in patterns:
            pattern = ResourcePattern(kind, pattern_type, name)
            self.acls.pop(pattern, None)
            if entries:
                self.acls[pattern] = frozenset(AccessControlEntry(*one) for one in entries)


class Brokers:
    """Several brokers on one store; the first is the controller."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stores: list[SqliteStore] = []
        self.acls: list[Acls] = []
        self.published: list[Published] = []

    async def start(self) -> Acls:
        store, published = SqliteStore(str(self.folder / "metadata.sqlite")), Published()
        await store.connect()
        security: Any = published
        is_first = not self.acls
        acls = Acls(store, security, lambda: is_first)
        self.stores.append(store)
        self.acls.append(acls)
        self.published.append(published)
        await acls.start()
        return acls

    async def close(self) -> None:
        for acls, store in zip(self.acls, self.stores, strict=True):
            await acls.stop()
            await store.close()


@pytest.fixture
async def brokers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Brokers]:
    brokers = Brokers(tmp_path)
    yield brokers
    await brokers.close()


async def test_change_is_in_effect_here_at_once_and_on_other_brokers_within_a_second(brokers: Brokers) -> None:
    one, _ = await brokers.start(), await brokers.start()
    await one.add({T: [ALICE], PREFIX: [BOB]}, *BY)
    assert brokers.published[0].acls == {T: {ALICE}, PREFIX: {BOB}}
    polls, poll = 0, brokers.stores[1].poll

    async def counted() -> None:
        nonlocal polls
        polls += 1
        await poll()

    brokers.stores[1].poll = counted  # type: ignore[method-assign]
    await until(lambda: brokers.published[1].acls == brokers.published[0].acls)
    assert polls * brokers.stores[1]._poll_s <= 1, "no more looks than it takes in a second"
    assert await one.remove([EVERYTHING], *BY) == [[(T, ALICE), (PREFIX, BOB)]]
    assert brokers.published[0].acls == {}
    await until(lambda: brokers.published[1].acls == {})


async def test_each_change_is_in_the_audit_log_with_principal_and_address(
    brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafka.authorizer.logger")
    one = await brokers.start()
    await one.add({T: [ALICE]}, *BY)
    await one.remove([EVERYTHING], *BY)
    found = [record.getMessage() for record in caplog.records if record.name == "kafka.authorizer.logger"]
    assert found == [
        f"Principal = User:admin from host = 10.0.0.1 has {done} the ACL {ALICE} on resource = {T}"
        for done in ("added", "removed")
    ]


async def test_acl_that_is_there_already_is_not_written_again(brokers: Brokers) -> None:
    one = await brokers.start()
    await one.add({T: [ALICE]}, *BY)
    await one.add({T: [ALICE]}, *BY)
    assert len(await brokers.stores[0].get_children(CHANGES[LITERAL])) == 1


async def test_pattern_without_acls_has_no_node(brokers: Brokers) -> None:
    one = await brokers.start()
    await one.add({T: [ALICE, BOB]}, *BY)
    await one.remove([EVERYTHING._replace(principal=ALICE.principal)], *BY)
    assert decode(LITERAL, path_of(T), (await brokers.stores[0].get(path_of(T))).data) == (T, {BOB})
    await one.remove([EVERYTHING], *BY)
    with pytest.raises(NoNodeError):
        await brokers.stores[0].get(path_of(T))


async def test_changes_of_two_brokers_at_once_are_both_made(brokers: Brokers) -> None:
    acls = [await brokers.start(), await brokers.start()]
    entries = [[AccessControlEntry(f"User:{broker}-{at}", "*", READ, ALLOW) for at in range(20)] for broker in (0, 1)]

    async def add(broker: int) -> None:
        for entry in entries[broker]:
            await acls[broker].add({T: [entry], U: [entry]}, *BY)

    await asyncio.gather(add(0), add(1))
    expected = {T: {*entries[0], *entries[1]}, U: {*entries[0], *entries[1]}}
    for published in brokers.published:
        await until(lambda published=published: published.acls == expected)


async def test_broker_that_missed_notices_reads_everything(brokers: Brokers) -> None:
    one, _ = await brokers.start(), await brokers.start()
    many = {ResourcePattern(TOPIC, LITERAL, f"t{at}"): [ALICE] for at in range(KEPT + TOGETHER + 1)}
    await one.add(many, *BY)
    await until(lambda: len(brokers.published[1].acls) == len(many))
    await until(lambda: brokers.published[0].acls == brokers.published[1].acls)
    await one.add({U: [ALICE]}, *BY)  # the controller takes old notices away when it hears of the next
    store = brokers.stores[0]
    async with asyncio.timeout(5):
        while len(await store.get_children(CHANGES[LITERAL])) > KEPT:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)


async def test_acls_are_read_at_the_start(brokers: Brokers) -> None:
    await (await brokers.start()).add({T: [ALICE], PREFIX: [BOB]}, *BY)
    await brokers.start()
    assert brokers.published[1].acls == {T: {ALICE}, PREFIX: {BOB}}


async def test_invalid_node_refuses_the_start_and_changes_nothing_later(brokers: Brokers) -> None:
    one = await brokers.start()
    await one.add({T: [BOB]}, *BY)
    await brokers.stores[0].set(path_of(T), b"{")
    await one.start()  # as after another session
    assert brokers.published[0].acls == {T: {BOB}}
    with pytest.raises(StartupError, match=r"^/kafka-acl/Topic/t in the metadata store is invalid: .* repair or"):
        await brokers.start()


async def test_node_that_kafka_has_named_otherwise_is_changed_where_it_is(brokers: Brokers, tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "metadata.sqlite"))
    await store.connect()
    await store.ensure_path("/kafka-acl/Group")
    await store.create(
        "/kafka-acl/Group/50%", encode(ResourcePattern(GROUP, LITERAL, "x"), {ALICE}).replace(b',"name":"x"', b"")
    )
    await store.close()
    one = await brokers.start()
    percent = ResourcePattern(GROUP, LITERAL, "50%")
    assert brokers.published[0].acls == {percent: {ALICE}}
    await one.add({percent: [BOB]}, *BY)
    assert [path for path, _, _ in await brokers.stores[0].get_tree("/kafka-acl/Group")] == ["/kafka-acl/Group/50%"]
    assert brokers.published[0].acls == {percent: {ALICE, BOB}}


async def test_acls_of_two_nodes_that_name_one_pattern_are_all_in_effect(brokers: Brokers) -> None:
    one, store, percent = await brokers.start(), brokers.stores[0], ResourcePattern(GROUP, LITERAL, "50%")
    for path, entry in (("/kafka-acl/Group/50%", ALICE), (path_of(percent), BOB)):
        await store.ensure_path(path)
        await store.set(path, encode(percent, {entry}))
    await one.start()  # as after another session
    assert brokers.published[0].acls == {percent: {ALICE, BOB}}


@pytest.mark.parametrize(
    ("pattern", "pattern_type", "name", "is_matched"),
    [
        (T, LITERAL, "t", True),
        (T, PREFIXED, "t", False),
        (PREFIX, LITERAL, "t", False),
        (PREFIX, ANY, "t", True),
        (PREFIX, ANY, "tt", False),
        (PREFIX, MATCH, "tt", True),
        (T, MATCH, "tt", False),
        (ResourcePattern(TOPIC, LITERAL, "*"), MATCH, "tt", True),
        (ResourcePattern(TOPIC, LITERAL, "*"), ANY, "tt", False),
        (ResourcePattern(TOPIC, PREFIXED, "*"), MATCH, "tt", False),
        (T, MATCH, None, True),
    ],
)
def test_filter_finds_patterns_as_in_kafka(
    pattern: ResourcePattern, pattern_type: int, name: str | None, is_matched: bool
) -> None:
    wanted = EVERYTHING._replace(pattern_type=pattern_type, name=name)
    assert wanted.matches_pattern(pattern) is is_matched
