"""The broker distinguishes log directories that are not mounted from new ones, over the stepped engine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from world import broker_config, run, running_broker, started_broker

from kafkastore.errors import StartupError
from kafkastore.metadata.image import NO_LEADER
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.server.broker import Broker
from kafkastore.server.known_log_dirs import missing, refuse_missing, remember


async def stopped(folder: Path, directories: str) -> None:
    """Runs and stops a broker on the directories; its topic ``a`` has a partition in each."""
    async with running_broker(folder, log__dirs=directories) as broker:
        await broker.services.topics.create("a", partitions=2)


def unmount(directory: Path) -> None:
    """Makes the directory an empty folder, like a mount point without its disk."""
    shutil.rmtree(directory)
    directory.mkdir()


def leaders(broker: Broker) -> list[int]:
    return [state.leader for state in broker.services.image.topics["a"].partitions]


def test_directory_in_use_before_that_is_not_mounted_is_offline_and_left_as_it_is(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"

    async def body() -> None:
        await stopped(tmp_path, f"{one},{two}")
        unmount(two)
        for _ in range(2):  # a start that misses the directory does not forget it
            async with running_broker(tmp_path, log__dirs=f"{one},{two}") as broker:
                assert list(broker.log_manager.failed) == [str(two)]
                assert "meta.properties" in broker.log_manager.failed[str(two)]
                assert leaders(broker) == [1, NO_LEADER]
            assert list(two.iterdir()) == []

    run(body)


def test_directory_that_left_log_dirs_for_a_while_is_still_known(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"

    async def body() -> None:
        await stopped(tmp_path, f"{one},{two}")
        async with running_broker(tmp_path, log__dirs=f"{one},{tmp_path}/three"):
            pass
        unmount(two)
        async with running_broker(tmp_path, log__dirs=f"{one},{two}") as broker:
            assert list(broker.log_manager.failed) == [str(two)]

    run(body)


def test_replaced_disk_is_used_once_it_has_an_empty_meta_properties(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"

    async def body() -> None:
        await stopped(tmp_path, f"{one},{two}")
        unmount(two)
        (two / "meta.properties").touch()
        async with running_broker(tmp_path, log__dirs=f"{one},{two}") as broker:
            assert broker.log_manager.failed == {}
            assert leaders(broker) == [1, 1]

    run(body)


def test_directory_that_was_never_used_is_new(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"

    async def body() -> None:
        await stopped(tmp_path, str(one))
        async with running_broker(tmp_path, log__dirs=f"{one},{two}") as broker:
            assert broker.log_manager.failed == {}

    run(body)


@pytest.mark.parametrize("order", [("new", "one", "two"), ("two", "one"), ("two", "new", "one")])
def test_metadata_stays_where_it_is_whatever_the_order_of_the_directories(tmp_path: Path, order: list[str]) -> None:
    one = tmp_path / "one"

    async def body() -> None:
        await stopped(tmp_path, f"{one},{tmp_path / 'two'}")
        directories = ",".join(str(tmp_path / name) for name in order)
        async with running_broker(tmp_path, log__dirs=directories) as broker:
            assert broker.config.metadata_path == str(one / "kafkastore-metadata.sqlite")
            assert broker.log_manager.failed == {}
            assert leaders(broker) == [1, 1]

    run(body)


def test_directory_is_new_to_a_broker_that_zookeeper_knows_and_to_another_one_it_is_missing(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    config = broker_config(tmp_path, log__dirs=f"{one},{two}", zookeeper__connect="localhost:1")
    for directory in (one, two):
        directory.mkdir()
    (one / "meta.properties").touch()

    async def body() -> None:
        store = SqliteStore(str(tmp_path / "in-place-of-zookeeper"))
        await store.connect()
        await store.ensure_path("/kafkastore/log_dirs")
        refuse_missing(config)  # no directory is known yet
        with pytest.raises(StartupError, match=rf"log.dirs={two} .*meta.properties"):  # its disk may not be mounted
            await missing(store, config)
        await remember(store, config, [str(one)])
        assert await missing(store, config) == {}
        await remember(store, config, [str(two)])
        assert list(await missing(store, config)) == [str(two)]
        await store.close()

    run(body)


def test_directory_of_the_metadata_that_is_not_mounted_refuses_the_start_and_is_left_as_it_is(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"

    async def body() -> None:
        await stopped(tmp_path, f"{one},{two}")
        unmount(one)
        with pytest.raises(StartupError, match=rf"log.dirs={one} .*meta.properties"):
            await started_broker(tmp_path, log__dirs=f"{one},{two}")
        assert list(one.iterdir()) == []

    run(body)
