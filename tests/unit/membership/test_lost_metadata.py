"""Topics that the store does not know, or whose configuration it has lost: nothing is deleted by a default."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from stepped import Engine
from world import broker_config, run, running_broker, started_broker

from kafkastore.config import HELD, held
from kafkastore.errors import StartupError
from kafkastore.log.manager import ADOPT_FILE
from kafkastore.membership.metadata_marks import MetadataMarks
from kafkastore.metadata.backup import accept_loss, back_up, restore
from kafkastore.metadata.marks import DIRECTORY_FILE, StoreMark, read_mark
from kafkastore.metadata.nodes import topic_id_text
from kafkastore.metadata.opening import open_store
from kafkastore.metadata.store import Delete

TOPIC_ID = b"t".ljust(16, b"-")
FOREVER = {"retention.ms": "-1"}


def with_log(engine: Engine) -> None:
    engine.add_log("t", 0, TOPIC_ID)


def change_store(folder: Path, *operations: Delete) -> None:
    async def body() -> None:
        store = open_store(broker_config(folder))
        await store.connect()
        for one in operations:
            await store.multi(await store.delete_tree(one.path))
        await store.close()

    run(body)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, HELD),
        ({"max.message.bytes": "5"}, {**HELD, "max.message.bytes": "5"}),
        ({"retention.bytes": "5"}, {**HELD, "retention.bytes": "5"}),
        ({"retention.ms": "5"}, {"retention.ms": "5"}),
        ({"cleanup.policy": "compact"}, {"cleanup.policy": "compact"}),
        ({"cleanup.policy": "delete"}, HELD),
        ({"cleanup.policy": "compact,delete"}, {**HELD, "cleanup.policy": "compact,delete"}),
        ({"cleanup.policy": "delete", "retention.ms": "5"}, {"cleanup.policy": "delete", "retention.ms": "5"}),
    ],
)
def test_adopted_topic_is_held_unless_its_retention_is_configured(
    known: dict[str, str], expected: dict[str, str]
) -> None:
    assert held(known) == expected


def test_adopted_topic_is_held_until_it_is_configured_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        async with running_broker(tmp_path, with_log, log__retention__bytes="1000") as broker:
            assert broker.services.image.topics["t"].configs == HELD
            config = broker.services.engine.topic_configs["t"]
            assert {key: config[key] for key in HELD} == HELD
        async with running_broker(tmp_path, with_log) as again:
            assert again.services.image.topics["t"].configs == HELD
            await again.services.topics.set_config_overrides("t", {})
            assert again.services.engine.topic_configs["t"]["retention.ms"] == "604800000"
        async with running_broker(tmp_path, with_log) as again:
            assert again.services.image.topics["t"].configs == {}

    run(body)
    (warned,) = [
        one.getMessage() for one in caplog.records if one.name.endswith("reconcile") and one.levelno == logging.WARNING
    ]
    assert warned.startswith("1 topics were found in the log directories alone")


def test_topic_without_a_node_is_adopted_with_the_configuration_beside_its_log(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            await broker.services.topics.set_config_overrides("t", FOREVER)
        for lost in (["/brokers/topics/t"], ["/config/topics/t"], ["/brokers/topics/t", "/config/topics/t"]):
            await_change = [Delete(path) for path in lost]
            await broker.services.run_blocking(change_store, tmp_path, *await_change)
            async with running_broker(tmp_path, with_log) as again:
                assert again.services.image.topics["t"].configs == FOREVER
                assert again.services.engine.topic_configs["t"]["retention.ms"] == "-1"

    run(body)


def test_unreadable_configuration_is_taken_from_the_copy_beside_the_log_and_kept_in_the_store(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            await broker.services.topics.set_config_overrides("t", {"retention.ms": "99"})
            await broker.store.set("/config/topics/t", b"{")
        async with running_broker(tmp_path, with_log) as again:
            assert again.services.engine.topic_configs["t"]["retention.ms"] == "99"
            assert (await again.store.get("/config/topics/t")).data == b"{"

    run(body)


def test_unreadable_dynamic_defaults_delete_nothing(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            await broker.services.topics.create("a")
            await broker.services.topics.create("own", configs={"retention.ms": "5"})
            await broker.store.ensure_path("/config/brokers/<default>")
            await broker.store.set("/config/brokers/<default>", b"{")
        async with running_broker(tmp_path) as again:
            engine = again.services.engine
            assert engine.topic_configs["a"]["retention.ms"] == "-1"
            assert engine.topic_configs["own"]["retention.ms"] == "5"

    run(body)


def test_log_without_an_id_is_not_deleted_by_an_old_mark(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            await broker.store.create("/admin/delete_topics/t", b"")
        async with running_broker(tmp_path, lambda engine: engine.add_log("t", 0, None)) as again:
            assert again.services.engine.deleted == []
            assert "t" in again.services.image.topics

    run(body)


def test_change_that_a_backup_does_not_have_is_taken_from_beside_the_log_once(tmp_path: Path) -> None:
    store, backup = str(tmp_path / "data" / "kafkastore-metadata.sqlite"), str(tmp_path / "backup")

    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            await broker.services.topics.set_config_overrides("t", {"retention.ms": "5"})
            back_up(store, backup)
            await broker.services.topics.set_config_overrides("t", FOREVER)
        restore(backup, store, [str(tmp_path / "data")])
        async with running_broker(tmp_path, with_log) as again:
            assert again.services.image.topics["t"].configs == FOREVER
            await again.services.topics.set_config_overrides("t", {"retention.ms": "7"})
        async with running_broker(tmp_path, with_log) as again:
            assert again.services.image.topics["t"].configs == {"retention.ms": "7"}

    run(body)


def test_directory_takes_the_store_down_and_knows_an_older_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    store = str(data / "kafkastore-metadata.sqlite")

    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            mark = await broker.store.mark()
        found = read_mark(str(data / DIRECTORY_FILE)).mark
        assert found is not None
        assert found.store == mark.store
        assert found.generation >= mark.generation
        back_up(store, str(tmp_path / "older"))
        async with running_broker(tmp_path) as broker:
            await broker.services.topics.create("a")
        for suffix in ("", "-mark"):
            os.unlink(store + suffix)
        os.rename(tmp_path / "older", store)
        for _ in range(3):
            with pytest.raises(StartupError, match=f"has lost something.*{DIRECTORY_FILE}"):
                await started_broker(tmp_path)

    run(body)


class MarkedStore:
    def __init__(self) -> None:
        self.now: StoreMark | None = StoreMark("one", 5)

    async def mark(self) -> StoreMark | None:
        return self.now

    read_mark = mark


def test_store_that_was_replaced_is_noticed_when_a_running_broker_has_a_new_session(tmp_path: Path) -> None:
    async def body() -> None:
        store: Any = MarkedStore()
        marks = MetadataMarks(broker_config(tmp_path), store)
        log_manager: Any = SimpleNamespace(online=[str(tmp_path)])
        await marks.start(log_manager)
        for now, words in [
            (StoreMark("one", 5), None),
            (StoreMark("one", 4), "has lost something"),
            (StoreMark("two", 9), "another metadata store"),
            (None, "is new"),
            (StoreMark("one", 6), None),
        ]:
            store.now = now
            if words is None:
                await marks.check_again()
                continue
            with pytest.raises(StartupError, match=words):
                await marks.check_again()
        await marks.stop()

    run(body)


def want(folder: Path, topic_id: bytes) -> Path:
    file = folder / "data" / ADOPT_FILE
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{topic_id_text(topic_id)} t\n")
    return file


@pytest.mark.parametrize(("topic_id", "is_adopted"), [(TOPIC_ID, True), (bytes(range(16)), False), (None, False)])
def test_member_adopts_a_topic_that_the_store_does_not_know_when_requested(
    tmp_path: Path, topic_id: bytes | None, is_adopted: bool
) -> None:
    file = None if topic_id is None else want(tmp_path, topic_id)

    async def body() -> None:
        settings = {"kafkastore__metadata__path": str(tmp_path / "metadata.sqlite")}
        async with running_broker(tmp_path, with_log, **settings) as broker:
            engine = broker.services.engine
            assert engine.stray == ([] if is_adopted else [("t", 0)])
            assert ("t" in broker.services.image.topics) is is_adopted
            if is_adopted:
                assert broker.services.image.topics["t"].topic_id == TOPIC_ID
                assert broker.services.image.topics["t"].configs == HELD
                assert engine.leases["t", 0][0] == 1
            assert file is None or not file.exists(), "it is asked once"
        async with running_broker(tmp_path, with_log, **settings) as again:
            assert ("t" in again.services.image.topics) is is_adopted

    run(body)


def others_go_on(folder: Path) -> None:
    async def body() -> None:
        store = open_store(broker_config(folder))
        await store.connect()
        for number in range(20):
            await store.ensure_path(f"/{number}")
        await store.close()

    run(body)


@pytest.mark.parametrize("is_noted", [True, False])
def test_last_change_that_an_older_store_has_lost_is_taken_from_beside_the_log(tmp_path: Path, is_noted: bool) -> None:
    """The changes that the start itself makes get the numbers of the lost changes, unless the loss was noted: then a
    broker that starts later finds its lost changes, too."""
    data = tmp_path / "data"
    path, older = data / "kafkastore-metadata.sqlite", str(tmp_path / "older")

    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            await broker.services.topics.set_config_overrides("t", {"retention.ms": "1000"})
            await broker.services.run_blocking(back_up, str(path), older)
            await broker.services.topics.set_config_overrides("t", FOREVER)
        for one in data.glob(f"{path.name}*"):
            one.unlink()
        os.rename(older, path)
        if is_noted:
            accept_loss(str(path), [str(data)])
            await broker.services.run_blocking(others_go_on, tmp_path)
        else:
            (data / DIRECTORY_FILE).unlink()
        async with running_broker(tmp_path, with_log) as again:
            assert again.services.image.topics["t"].configs == FOREVER
            assert (await again.services.topics.stored_configs("t")) == FOREVER

    run(body)
