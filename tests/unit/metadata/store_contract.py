"""What every metadata store must do. A test module per implementation gives :class:`StoreContract` its ``open_store``.

spec: R2.3
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkastore.metadata.store import (
    CHILDREN_CHANGED,
    CREATED,
    DATA_CHANGED,
    DELETED,
    BadVersionError,
    Check,
    Create,
    Delete,
    MetadataStore,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SetData,
    WatchEvent,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path


class StoreContract:
    """Inherit, and say how a store is opened; stores opened with one ``folder`` share their nodes."""

    def open_store(self, folder: Path) -> MetadataStore:
        raise NotImplementedError

    def check(self, folder: Path, test: Callable[[MetadataStore], Awaitable[None]]) -> None:
        async def body() -> None:
            store = self.open_store(folder)
            await store.connect()
            try:
                await test(store)
            finally:
                await store.close()

        asyncio.run(body())

    def test_node_is_read_as_it_was_created(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            assert await store.create("/a", b"one") == "/a"
            node = await store.get("/a")
            assert (node.data, node.version, node.ephemeral_owner) == (b"one", 0, 0)
            assert await store.exists("/a") == 0
            assert await store.exists("/b") is None

        self.check(tmp_path, test)

    def test_create_needs_a_parent_and_a_free_name(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            with pytest.raises(NoNodeError):
                await store.create("/a/b")
            await store.create("/a")
            with pytest.raises(NodeExistsError):
                await store.create("/a")

        self.check(tmp_path, test)

    def test_set_raises_the_version_and_checks_the_expected_one(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            await store.create("/a", b"0")
            assert await store.set("/a", b"1", 0) == 1
            assert await store.set("/a", b"2") == 2
            with pytest.raises(BadVersionError):
                await store.set("/a", b"3", 1)
            assert (await store.get("/a")).data == b"2"
            with pytest.raises(NoNodeError):
                await store.set("/b", b"")

        self.check(tmp_path, test)

    def test_delete_checks_version_and_children(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            await store.ensure_path("/a/b")
            with pytest.raises(NotEmptyError):
                await store.delete("/a")
            with pytest.raises(BadVersionError):
                await store.delete("/a/b", 7)
            await store.delete("/a/b", 0)
            await store.delete("/a")
            with pytest.raises(NoNodeError):
                await store.delete("/a")

        self.check(tmp_path, test)

    def test_children_are_names_in_order(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            await store.ensure_path("/a")
            for name in ("c", "a", "b"):
                await store.create(f"/a/{name}")
            await store.create("/a/b/below")
            await store.create("/ab")
            assert await store.get_children("/a") == ["a", "b", "c"]
            assert await store.get_children("/a/c") == []
            with pytest.raises(NoNodeError):
                await store.get_children("/none")

        self.check(tmp_path, test)

    def test_sequential_nodes_get_numbers_that_are_never_given_twice(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            await store.create("/q")
            first = await store.create("/q/n-", is_sequential=True)
            assert first == "/q/n-0000000000"
            await store.delete(first)
            assert await store.create("/q/n-", is_sequential=True) == "/q/n-0000000001"
            assert await store.create("/q/m-", is_sequential=True) == "/q/m-0000000002"

        self.check(tmp_path, test)

    def test_ephemeral_nodes_go_with_their_session_and_have_no_children(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            other = self.open_store(tmp_path)
            await other.connect()
            await other.create("/mine", b"x", is_ephemeral=True)
            assert (await store.get("/mine")).ephemeral_owner == other.session_id
            with pytest.raises(NoChildrenForEphemeralsError):
                await other.create("/mine/child")
            with pytest.raises(NodeExistsError):
                await store.create("/mine", is_ephemeral=True)
            await other.close()
            assert await store.exists("/mine") is None

        self.check(tmp_path, test)

    def test_multi_is_all_or_nothing(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            await store.create("/a", b"0")
            results = await store.multi([Create("/b"), SetData("/a", b"1", 0), Create("/b/c"), Check("/a", 1)])
            assert results == ["/b", 1, "/b/c", None]
            for failing, error in (
                (SetData("/a", b"x", 0), BadVersionError),
                (Check("/a", 0), BadVersionError),
                (Create("/b"), NodeExistsError),
                (Delete("/none"), NoNodeError),
                (Delete("/b"), NotEmptyError),
                (Create("/none/c"), NoNodeError),
            ):
                with pytest.raises(error):
                    await store.multi([Create("/d"), Create("/e"), SetData("/a", b"2"), failing])
                assert await store.exists("/d") is None
                assert (await store.get("/a")).version == 1

        self.check(tmp_path, test)

    def test_many_creates_in_one_multi_may_build_on_each_other(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            operations = [Create("/t")]
            for number in range(100):
                operations += [Create(f"/t/{number}"), Create(f"/t/{number}/state", b"%d" % number)]
            await store.multi(operations)
            assert (await store.get("/t/42/state")).data == b"42"
            with pytest.raises(NodeExistsError):
                await store.multi([Create("/u"), Create("/u/1"), Create("/t/5")])
            with pytest.raises(NodeExistsError):
                await store.multi([Create("/u"), Create("/u/1"), Create("/u/1")])
            assert await store.exists("/u") is None

        self.check(tmp_path, test)

    def test_tree_is_everything_below_and_nothing_beside(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            await store.ensure_path("/a/b/c")
            await store.ensure_path("/a-b/c")
            await store.ensure_path("/a0")
            assert sorted(await store.get_tree("/a")) == [("/a/b", b"", 0), ("/a/b/c", b"", 0)]
            await store.multi(await store.delete_tree("/a"))
            assert await store.exists("/a") is None
            assert await store.exists("/a-b/c") == 0
            assert await store.delete_tree("/a") == []

        self.check(tmp_path, test)

    def test_data_watch_fires_once_for_the_next_change(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            seen: list[WatchEvent] = []
            await store.exists("/a", seen.append)
            await store.create("/a")
            assert seen == [WatchEvent(CREATED, "/a")]
            await store.set("/a", b"1")
            assert len(seen) == 1
            await store.get("/a", seen.append)
            await store.set("/a", b"2")
            assert seen[1:] == [WatchEvent(DATA_CHANGED, "/a")]
            await store.get("/a", seen.append)
            await store.delete("/a")
            assert seen[2:] == [WatchEvent(DELETED, "/a")]

        self.check(tmp_path, test)

    def test_child_watch_fires_for_children_and_not_for_data(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            seen: list[WatchEvent] = []
            await store.create("/a")
            await store.get_children("/a", seen.append)
            await store.set("/a", b"1")
            assert seen == []
            await store.create("/a/b")
            assert seen == [WatchEvent(CHILDREN_CHANGED, "/a")]

        self.check(tmp_path, test)

    def test_watch_does_not_fire_for_what_failed(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            seen: list[WatchEvent] = []
            await store.create("/a")
            await store.get("/a", seen.append)
            with pytest.raises(NodeExistsError):
                await store.multi([SetData("/a", b"1"), Create("/a")])
            assert seen == []

        self.check(tmp_path, test)

    def test_watch_hears_of_other_processes_changes_after_a_poll(self, tmp_path: Path) -> None:
        async def test(store: MetadataStore) -> None:
            other = self.open_store(tmp_path)
            await other.connect()
            seen: list[WatchEvent] = []
            await store.create("/a")
            await store.get("/a", seen.append)
            await store.get_children("/a", seen.append)
            await store.exists("/b", seen.append)
            await store.poll()
            assert seen == []
            await other.set("/a", b"1")
            await other.create("/a/c")
            await other.create("/b")
            await store.poll()
            assert sorted(seen) == sorted(
                [WatchEvent(DATA_CHANGED, "/a"), WatchEvent(CREATED, "/b"), WatchEvent(CHILDREN_CHANGED, "/a")]
            )
            await other.close()

        self.check(tmp_path, test)

    def test_nodes_survive_the_process(self, tmp_path: Path) -> None:
        async def write(store: MetadataStore) -> None:
            await store.ensure_path("/a/b")
            await store.set("/a/b", b"kept")

        async def read(store: MetadataStore) -> None:
            node: Any = await store.get("/a/b")
            assert (node.data, node.version) == (b"kept", 1)

        self.check(tmp_path, write)
        self.check(tmp_path, read)
