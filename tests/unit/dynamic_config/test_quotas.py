"""Quotas in Kafka's layout of the metadata store: written beside other keys, read by every broker (KIP-546)."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from member_world import other_store, running_member
from world import until

from kafkastore.dynamic_config.quota_entities import DEFAULT, Entity, check_value, entity_at, entity_of, value_text
from kafkastore.errors import InvalidRequestError
from kafkastore.metadata.nodes import CONFIG_CHANGES, config_notice, encode_config
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.server.broker import Broker

NODES = [
    (Entity(user="alice"), "users", "alice"),
    (Entity(user=DEFAULT), "users", "<default>"),
    (Entity("a b/c*~", "über"), "users", "a%20b%2Fc%2A%7E/clients/%C3%BCber"),
    (Entity(DEFAULT, DEFAULT), "users", "<default>/clients/<default>"),
    (Entity(user="<default>"), "users", "%3Cdefault%3E"),
    (Entity(client_id="app.1_2-3"), "clients", "app.1_2-3"),
    (Entity(client_id=DEFAULT), "clients", "<default>"),
    (Entity(ip="10.0.0.1"), "ips", "10.0.0.1"),
    (Entity(ip="::1"), "ips", "%3A%3A1"),
]


@pytest.mark.parametrize(("entity", "kind", "name"), NODES)
def test_entity_has_the_node_that_kafka_gives_it(entity: Entity, kind: str, name: str) -> None:
    assert (entity.kind, entity.name) == (kind, name)
    assert entity_at(kind, name) == entity
    assert entity_of(entity.parts()) == entity


@pytest.mark.parametrize("name", ["", "alice/clients", "alice/groups/x", "alice/clients/a/b"])
def test_node_of_no_entity_is_skipped(name: str) -> None:
    assert entity_at("users", name) is None


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([], "Invalid empty client quota entity"),
        ([("group", "a")], "Unhandled client quota entity type: group"),
        ([("user", "")], "Empty user not supported"),
        ([("ip", "10.0.0.1"), ("user", "a")], "Invalid empty client quota entity"),
        ([("user", "a"), ("user", "b")], "duplicate entity entry user"),
        ([("user", "..")], "no name that the metadata store can keep"),
    ],
)
def test_wrong_entity_is_refused(parts: list[tuple[str, str | None]], reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        entity_of(parts)


@pytest.mark.parametrize(
    ("entity", "key", "value", "reason"),
    [
        (Entity("a"), "bytes", 1.0, "Invalid configuration key bytes"),
        (Entity("a"), "SCRAM-SHA-256", 1.0, "Invalid configuration key SCRAM-SHA-256"),
        (Entity("a"), "connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        (Entity(ip="::1"), "producer_byte_rate", 1.0, "Invalid configuration key producer_byte_rate"),
        (Entity("a"), "request_percentage", 0.0, "Quota request_percentage must be greater than 0"),
        (Entity("a"), "request_percentage", float("nan"), "must be greater than 0"),
        (Entity("a"), "controller_mutation_rate", float("inf"), "must be a finite number"),
        (Entity("a"), "producer_byte_rate", 1.5, "producer_byte_rate cannot be a fractional value."),
        (Entity("a"), "producer_byte_rate", 1e-7, "producer_byte_rate cannot be a fractional value."),
        (Entity("a"), "consumer_byte_rate", 1e19, "Proposed value for consumer_byte_rate is too large for a LONG."),
        (Entity(ip="::1"), "connection_creation_rate", 2.0**31, "is too large for an INT."),
    ],
)
def test_wrong_value_is_refused(entity: Entity, key: str, value: float, reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        check_value(entity, key, value)


def test_values_are_written_as_kafka_writes_them() -> None:
    assert value_text("producer_byte_rate", 1024.0) == "1024"
    assert value_text("request_percentage", 50.0) == "50.0"


@pytest.fixture
async def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteStore]:
    """The store of another broker."""
    async with other_store(tmp_path) as store:
        yield store


@pytest.fixture
async def broker(tmp_path: Path, store: SqliteStore) -> AsyncIterator[Broker]:
    async with running_member(tmp_path, lambda _: None) as broker:
        yield broker


async def content(store: SqliteStore, path: str) -> Any:
    return json.loads((await store.get(path)).data)


def limits(broker: Broker) -> list[tuple[Any, ...]]:
    """(user, client id, key, limit) in effect."""
    engine: Any = broker.services.engine
    found: list[tuple[Any, ...]] = engine.quotas().in_effect("publish", 3)
    return found


def connection_rates(broker: Broker) -> list[tuple[str | None, float]]:
    engine: Any = broker.services.engine
    published = engine.quotas().of("publish_connection_rates")
    return sorted(published[-1][0], key=repr) if published else []


async def test_change_keeps_the_other_keys_of_the_node_and_is_notified_and_in_force(
    broker: Broker, store: SqliteStore
) -> None:
    await store.ensure_path("/config/users/alice")
    await store.set("/config/users/alice", encode_config({"SCRAM-SHA-256": "salt=…"}))
    quotas, alice = broker.services.quotas, Entity("alice")
    assert await quotas.alter({alice: {"producer_byte_rate": 1024.0, "controller_mutation_rate": 2.5}}) == {}
    assert limits(broker) == [("alice", None, "producer_byte_rate", 1024.0)]
    assert (await content(store, "/config/users/alice"))["config"] == {
        "SCRAM-SHA-256": "salt=…",
        "producer_byte_rate": "1024",
        "controller_mutation_rate": "2.5",
    }
    (notice,) = await store.get_children(CONFIG_CHANGES)
    assert await content(store, f"{CONFIG_CHANGES}/{notice}") == {"version": 2, "entity_path": "users/alice"}
    assert await quotas.alter({alice: {"producer_byte_rate": None, "controller_mutation_rate": None}}) == {}
    assert (await content(store, "/config/users/alice"))["config"] == {"SCRAM-SHA-256": "salt=…"}
    assert limits(broker) == []
    assert quotas.entities == {}


async def test_change_that_meets_another_writer_keeps_what_that_one_wrote(broker: Broker, store: SqliteStore) -> None:
    path = "/config/users/alice"
    await store.ensure_path(path)
    quotas = broker.services.quotas
    read, writes = quotas._store.get_many, iter(["one", "two"])

    async def get_many(paths: Sequence[str]) -> Any:
        nodes = await read(paths)
        if paths == [path] and (name := next(writes, None)):
            await store.set(path, encode_config({"SCRAM-SHA-512": name}))
        return nodes

    class Raced:
        def __getattr__(self, name: str) -> Any:
            return get_many if name == "get_many" else getattr(broker_store, name)

    broker_store, quotas._store = quotas._store, Raced()  # type: ignore[assignment]
    assert await quotas.alter({Entity("alice"): {"producer_byte_rate": 7.0}}) == {}
    assert (await content(store, path))["config"] == {"SCRAM-SHA-512": "two", "producer_byte_rate": "7"}


async def test_nothing_is_written_for_a_change_that_changes_nothing(broker: Broker, store: SqliteStore) -> None:
    quotas = broker.services.quotas
    await quotas.alter({Entity("nobody"): {"producer_byte_rate": None}})
    await quotas.alter({Entity("alice"): {"producer_byte_rate": 7.0}}, validate_only=True)
    assert await store.exists("/config/users/nobody") is None
    assert await store.exists("/config/users/alice") is None
    assert await store.get_children(CONFIG_CHANGES) == []


@pytest.mark.parametrize(("entity", "kind", "name"), NODES)
async def test_quota_of_another_broker_is_in_force_here(
    broker: Broker, store: SqliteStore, entity: Entity, kind: str, name: str
) -> None:
    await store.ensure_path(f"/config/{kind}/{name}")
    key = "connection_creation_rate" if kind == "ips" else "consumer_byte_rate"
    await store.set(f"/config/{kind}/{name}", encode_config({key: "9", "SCRAM-SHA-256": "x"}))
    notice = json.dumps({"version": 2, "entity_path": f"{kind}/{name}"}).encode()
    await store.create(f"{CONFIG_CHANGES}/config_change_", notice, is_sequential=True)
    await until(lambda: broker.services.quotas.entities == {entity: {key: 9.0}})
    if kind == "ips":
        assert connection_rates(broker) == [(entity.ip, 9.0)]
    else:
        assert limits(broker) == [(entity.user, entity.client_id, key, 9.0)]


async def test_quotas_of_a_node_that_another_tool_deleted_end(broker: Broker, store: SqliteStore) -> None:
    quotas = broker.services.quotas
    await quotas.alter({Entity("alice"): {"producer_byte_rate": 7.0}})
    assert limits(broker) == [("alice", None, "producer_byte_rate", 7.0)]
    await store.delete("/config/users/alice")
    quotas.take("users", {"alice": None})
    assert limits(broker) == []
    assert quotas.entities == {}


async def test_quotas_of_the_store_are_in_force_from_the_start_and_wrong_ones_are_skipped(tmp_path: Path) -> None:
    async with other_store(tmp_path) as store:
        for node, data in [
            ("users/alice", encode_config({"producer_byte_rate": "5"})),
            ("users/alice/clients/app", encode_config({"consumer_byte_rate": "6"})),
            ("users/bob", encode_config({"producer_byte_rate": "much"})),
            ("users/eve", b"{no json"),
            ("clients/<default>", encode_config({"request_percentage": "50.5"})),
            ("ips/<default>", encode_config({"connection_creation_rate": "3"})),
        ]:
            await store.ensure_path(f"/config/{node}")
            await store.set(f"/config/{node}", data)
        async with running_member(tmp_path, lambda _: None) as broker:
            assert limits(broker) == [
                ("alice", "app", "consumer_byte_rate", 6.0),
                ("alice", None, "producer_byte_rate", 5.0),
                (None, "", "request_percentage", 50.5),
            ]
            assert connection_rates(broker) == [(None, 3.0)]
        await asyncio.sleep(0)


async def test_host_that_no_name_server_knows_any_more_keeps_its_addresses(
    broker: Broker, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def set_rate(rate: int) -> None:
        await store.ensure_path("/config/ips/localhost")
        await store.set("/config/ips/localhost", encode_config({"connection_creation_rate": str(rate)}))
        await store.multi([config_notice("ips", "localhost")])

    await set_rate(3)
    await until(lambda: ("127.0.0.1", 3.0) in connection_rates(broker))

    def fail(*_: Any) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    await set_rate(4)
    await until(lambda: ("127.0.0.1", 4.0) in connection_rates(broker))


@pytest.mark.parametrize("ip", ["not.a.host.invalid", "10.0.0.256"])
async def test_address_that_does_not_exist_is_refused(broker: Broker, ip: str) -> None:
    wrong, right = Entity(ip=ip), Entity(ip="10.0.0.1")
    rate = {"connection_creation_rate": 1.0}
    refused = await broker.services.quotas.alter({wrong: rate, right: rate})
    assert str(refused.pop(wrong)) == f"{ip} is not a valid IP or resolvable host."
    assert refused == {}
    assert broker.services.quotas.entities == {right: rate}
