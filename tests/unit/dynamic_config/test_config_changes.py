"""A configuration that one broker writes reaches the data plane of every other broker (Kafka's
``/config/changes``)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from member_world import other_store, put_topic, running_member
from stepped import Engine
from world import run, running_broker, until

from kafkastore.dynamic_config.changes import ConfigChanges
from kafkastore.dynamic_config.quota_entities import Entity
from kafkastore.metadata import notices, retries
from kafkastore.metadata.nodes import CONFIG_CHANGES, encode_config
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.server.broker import Broker
from kafkastore.topic.new_topic import NewTopic

T_ID = b"t".ljust(16, b"-")


async def write(store: SqliteStore, path: str, content: bytes, entity: str | None = None) -> None:
    """Writes a configuration as another broker does: the node's content, then the notice."""
    await store.ensure_path(f"/config/{path}")
    await store.set(f"/config/{path}", content)
    await notify(store, json.dumps({"version": 2, "entity_path": entity or path}).encode())


async def notify(store: SqliteStore, notice: bytes) -> None:
    await store.create(f"{CONFIG_CHANGES}/config_change_", notice, is_sequential=True)


def prepare(engine: Engine) -> None:
    engine.add_log("t", 0, T_ID)


def check(folder: Path, test: Callable[[Broker, SqliteStore], Awaitable[None]], **options: Any) -> None:
    """Runs the test on a member with topic ``t``, and with the store of another broker."""

    async def body() -> None:
        async with other_store(folder) as store:
            await put_topic(store, "t")
            async with running_member(folder, options.get("prepare", prepare)) as broker:
                await test(broker, store)

    run(body)


def retention(broker: Broker, topic: str = "t") -> str:
    return broker.services.engine.topic_configs[topic]["retention.ms"]


def test_topic_changed_by_another_broker_changes_here(tmp_path: Path) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        await write(store, "topics/t", encode_config({"retention.ms": "77"}))
        await until(lambda: retention(broker) == "77")
        services = broker.services
        assert services.image.topics["t"].configs == {"retention.ms": "77"}
        assert services.replica_manager.held.topics["t"].configs == {"retention.ms": "77"}

    check(tmp_path, test)


@pytest.mark.parametrize("node", ["brokers/<default>", "brokers/1", "topics/t"])
def test_broker_starts_with_an_invalid_value_in_the_store_and_deletes_nothing_by_default(
    tmp_path: Path, node: str
) -> None:
    key = "segment.ms" if node == "topics/t" else "log.roll.ms"

    async def body() -> None:
        async with other_store(tmp_path) as store:
            await put_topic(store, "t")
            await store.ensure_path(f"/config/{node}")
            await store.set(f"/config/{node}", encode_config({key: "-1"}))
            async with running_member(tmp_path, prepare) as broker:
                engine = broker.services.engine
                assert engine.topic_configs["t"]["segment.ms"] == "604800000"
                assert retention(broker) == "-1"

    run(body)


@pytest.mark.parametrize("node", ["<default>", "1"])
def test_brokers_changed_by_another_broker_change_here(tmp_path: Path, node: str) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        await write(store, f"brokers/{node}", encode_config({"log.retention.ms": "78"}))
        await until(lambda: retention(broker) == "78")  # inherited
        assert broker.services.engine.options["log.retention.ms"] == "78"

    check(tmp_path, test)


def test_change_of_a_topic_is_in_effect_and_notified_when_its_call_returns(tmp_path: Path) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        await broker.services.topics.set_config_overrides("t", {"retention.ms": "79"})
        assert retention(broker) == "79"
        assert json.loads((await store.get("/config/topics/t")).data)["config"] == {"retention.ms": "79"}
        (notice,) = await store.get_children(CONFIG_CHANGES)
        content = (await store.get(f"{CONFIG_CHANGES}/{notice}")).data
        assert json.loads(content) == {"version": 2, "entity_path": "topics/t"}

    check(tmp_path, test)


@pytest.mark.parametrize("node", ["<default>", "1"])
def test_change_of_brokers_is_in_effect_and_notified_when_its_call_returns(tmp_path: Path, node: str) -> None:
    """Without the notice no other broker, and no controller, would ever hear of it."""

    async def test(broker: Broker, store: SqliteStore) -> None:
        await broker.services.config_changes.change_broker(node, lambda _: {"log.retention.ms": "79"})
        assert retention(broker) == "79"
        assert json.loads((await store.get(f"/config/brokers/{node}")).data)["config"] == {"log.retention.ms": "79"}
        (notice,) = await store.get_children(CONFIG_CHANGES)
        content = (await store.get(f"{CONFIG_CHANGES}/{notice}")).data
        assert json.loads(content) == {"version": 2, "entity_path": f"brokers/{node}"}

    check(tmp_path, test)


def test_hosts_reach_the_data_plane_as_addresses_and_what_is_none_stops_nothing(tmp_path: Path) -> None:
    key = "max.connections.per.ip.overrides"
    stored = {key: "10.0.0.1:5,no.such.host.invalid:1,localhost:7", "log.cleaner.threads": "3"}

    async def body() -> None:
        async with other_store(tmp_path) as store:
            await put_topic(store, "t")
            await store.ensure_path("/config/brokers/1")
            await store.set("/config/brokers/1", encode_config(stored))
            async with running_member(tmp_path, prepare) as broker:
                options = broker.services.engine.options
                await until(lambda: "127.0.0.1:7" in broker.services.engine.options[key])
                assert options[key].startswith("10.0.0.1:5")
                assert "invalid" not in broker.services.engine.options[key]
                assert broker.services.config.text(key) == stored[key], "what was set is shown"

    run(body)


def test_changes_before_the_watch_was_set_are_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recovery takes minutes; the broker reads the configuration before it and sets the watch after it."""
    start = ConfigChanges.start

    async def test(broker: Broker, store: SqliteStore) -> None:
        assert (retention(broker), broker.services.engine.options["log.cleaner.threads"]) == ("80", "3")

    async def body() -> None:
        async with other_store(tmp_path) as store:
            await put_topic(store, "t")

            async def late(changes: ConfigChanges, **options: bool) -> None:
                await write(store, "topics/t", encode_config({"retention.ms": "80"}))
                await write(store, "brokers/1", encode_config({"log.cleaner.threads": "3"}))
                await start(changes, **options)

            monkeypatch.setattr(ConfigChanges, "start", late)
            async with running_member(tmp_path, prepare) as broker:
                await test(broker, store)

    run(body)


@pytest.mark.parametrize(
    "notice",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"version": 2}',
        b'{"entity_path": 5}',
        b'{"entity_path": "users/x"}',
        b'{"entity_path": "topics/gone"}',
        b"[" * 100_000,
    ],
)
def test_notice_that_names_nothing_is_skipped_and_the_next_is_read(tmp_path: Path, notice: bytes) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        await notify(store, notice)
        await write(store, "topics/t", encode_config({"retention.ms": "81"}))
        await until(lambda: retention(broker) == "81")

    check(tmp_path, test)


def test_wrong_value_written_by_hand_keeps_back_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "RETRY_S", 0.001)

    async def test(broker: Broker, store: SqliteStore) -> None:
        await put_topic(store, "u")
        await write(store, "topics/u", b"{no json")
        await write(store, "topics/t", encode_config({"retention.ms": "82"}))
        await until(lambda: retention(broker) == "82")
        await write(store, "topics/t", encode_config({"retention.ms": "83"}))
        await until(lambda: retention(broker) == "83")
        await broker.services.controller.elect_leaders([])  # the invalid node does not end the controller either

    check(tmp_path, test)


def test_broker_that_missed_changes_reads_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller's broker keeps only ``KEPT`` notices; a broker that hung meanwhile finds no older ones."""
    monkeypatch.setattr(notices, "KEPT", 3)

    async def test(broker: Broker, store: SqliteStore) -> None:
        changes = broker.services.config_changes._notices
        changes._task = asyncio.get_running_loop().create_future()  # the broker hangs: the watch starts nothing
        await store.set("/config/topics/t", encode_config({"retention.ms": "84"}))  # its notice is gone
        for _ in range(3):
            await notify(store, b'{"version": 2, "entity_path": "topics/other"}')
        await changes._take_over()
        assert retention(broker) == "84"

    check(tmp_path, test)


def test_followed_configuration_that_changed_without_a_watch_is_read_in_the_next_session(tmp_path: Path) -> None:
    """Quotas, SCRAM users and delegation tokens: a watch ends with its session."""

    async def test(broker: Broker, store: SqliteStore) -> None:
        await store.ensure_path("/config/users/alice")
        await store.set("/config/users/alice", encode_config({"producer_byte_rate": "85"}))  # its notice is gone
        await broker.services.config_changes.start()  # as after another session
        assert broker.services.quotas.entities == {Entity("alice"): {"producer_byte_rate": 85.0}}

    check(tmp_path, test)


def test_controllers_broker_keeps_the_newest_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "KEPT", 3)

    async def test(broker: Broker, store: SqliteStore) -> None:
        for _ in range(7):
            await notify(store, b'{"version": 2, "entity_path": "topics/t"}')

        async def is_short() -> bool:
            return len(await store.get_children(CONFIG_CHANGES)) == 3

        await until(is_short)
        names = sorted(await store.get_children(CONFIG_CHANGES))
        assert int(names[-1][-10:]) - int(names[0][-10:]) == 2
        assert broker.services.config_changes._notices._last_seen == names[-1]

    check(tmp_path, test)


def test_controllers_broker_does_not_read_again_the_configurations_that_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    apply = ConfigChanges.apply

    async def note(changes: ConfigChanges, kind: str, name: str) -> None:
        read.append(name)
        await apply(changes, kind, name)

    async def test(broker: Broker) -> None:
        services = broker.services
        await services.topics.create_all([NewTopic("a"), NewTopic("b"), NewTopic("c")])
        monkeypatch.setattr(ConfigChanges, "apply", note)
        await services.topics.set_all_configs({"a": {"retention.ms": "5"}, "b": {"retention.ms": "6"}})
        assert (retention(broker, "a"), retention(broker, "b")) == ("5", "6")
        await write(broker.store, "topics/c", encode_config({"retention.ms": "7"}))  # as an operator does
        await until(lambda: retention(broker, "c") == "7")
        assert read == ["c"]

    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            await test(broker)

    run(body)


def test_change_of_another_writer_meanwhile_is_kept(tmp_path: Path) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        changes = broker.services.config_changes
        read, others = changes._store.get_many, iter([{"log.roll.ms": "1000"}, {"log.roll.ms": "2000"}])

        async def get_many(paths: Any) -> Any:
            nodes = await read(paths)
            if paths == ["/config/brokers/1"] and (other := next(others, None)):
                await store.ensure_path("/config/brokers/1")
                await store.set("/config/brokers/1", encode_config(other))
            return nodes

        class Raced:
            def __getattr__(self, name: str) -> Any:
                return get_many if name == "get_many" else getattr(real, name)

        real, changes._store = changes._store, Raced()  # type: ignore[assignment]
        await changes.change_broker("1", lambda found: found | {"log.retention.ms": "79"})
        found = json.loads((await store.get("/config/brokers/1")).data)["config"]
        assert found == {"log.roll.ms": "2000", "log.retention.ms": "79"}

    check(tmp_path, test)


def test_values_that_bound_each_other_hold_together_over_a_restart_and_a_wrong_limit_keeps_no_records(
    tmp_path: Path,
) -> None:
    async def body() -> None:
        async with other_store(tmp_path) as store:
            await put_topic(store, "t")
            await store.ensure_path("/config/brokers/1")
            await store.ensure_path("/config/brokers/<default>")
            await store.set("/config/brokers/1", encode_config({"max.connections.per.ip.overrides": "127.0.0.1:100"}))
            wrong = {"max.connections.per.ip": "0", "max.connections": "-7"}
            await store.set("/config/brokers/<default>", encode_config(wrong))
            async with running_member(tmp_path, prepare) as broker:
                assert broker.services.engine.options["max.connections.per.ip"] == "0"
                assert "max.connections" not in broker.services.config.dynamic_default
                assert retention(broker) == "604800000", "a limit of connections says nothing of records"

    run(body)


@pytest.mark.parametrize("name", ["users/\\ud800", "users/a/../b", "users/."])
def test_notice_that_no_store_takes_delays_no_other(tmp_path: Path, name: str) -> None:
    async def test(broker: Broker, store: SqliteStore) -> None:
        await notify(store, b'{"version":2,"entity_path":"%s"}' % name.encode())
        await write(store, "topics/t", encode_config({"retention.ms": "77"}))
        await until(lambda: retention(broker) == "77")

    check(tmp_path, test)
