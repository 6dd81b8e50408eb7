"""The contract of every metadata store. Each implementation's test module inherits :class:`StoreContract`."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kafkastore.metadata.batches import write_many
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import (
    BATCH_BYTES,
    CHILDREN_CHANGED,
    CONNECTED,
    CREATED,
    DATA_CHANGED,
    DELETED,
    EXPIRED,
    BadVersionError,
    Check,
    Create,
    Delete,
    MetadataStore,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
    SetData,
    WatchEvent,
)
from unit.metadata.store_client import open_store, store_client

SESSION_TIMEOUT_MS = 1500
"""Short, so that expiries are tested in seconds; longer than a busy machine keeps a thread waiting."""

LONG_SESSION_MS = 4_000
"""20 ticks, the longest session that the tests' ZooKeeper grants."""

LIMIT_S = 10.0


async def eventually(
    condition: Callable[[], bool], limit_s: float = LIMIT_S, turn: Callable[[], Awaitable[object]] | None = None
) -> float:
    """Lets the loop run, and calls ``turn`` each time, until ``condition()`` holds. Returns the seconds that it took,
    by a clock that a busy machine does not advance: the number of turns, each of which counts as the shortest did."""
    start = time.monotonic()
    turns, shortest_s = 0, limit_s
    while not condition():
        begun = time.monotonic()
        assert begun - start < limit_s, f"waited {limit_s:g} s in vain"
        await asyncio.sleep(0.01)
        if turn is not None:
            await turn()
        turns, shortest_s = turns + 1, min(shortest_s, time.monotonic() - begun)
    return turns * shortest_s


S = TypeVar("S", bound=MetadataStore)


@asynccontextmanager
async def connected(store: S) -> AsyncIterator[S]:
    """The store with a session."""
    await store.connect()
    try:
        yield store
    finally:
        await store.close()


def in_sqlite(path: str | Path, test: Callable[[SqliteStore], Awaitable[object]]) -> None:
    """Runs the test with a store that has a session, on a loop of its own."""

    async def body() -> None:
        async with connected(SqliteStore(str(path))) as store:
            await test(store)

    asyncio.run(body())


class StoreContract:
    """The tests; a subclass defines the address of a store. Stores of one ``folder`` share their nodes."""

    def address(self, folder: Path) -> tuple[str, str]:
        """The kind and the address, as ``store_client`` takes them."""
        raise NotImplementedError

    def open_store(self, folder: Path, session_timeout_ms: int = SESSION_TIMEOUT_MS) -> MetadataStore:
        return open_store(*self.address(folder), session_timeout_ms)

    def client_arguments(self, folder: Path, session_timeout_ms: int = SESSION_TIMEOUT_MS) -> list[str]:
        return [*self.address(folder), str(session_timeout_ms)]

    @pytest.fixture
    async def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MetadataStore]:
        async with connected(self.open_store(tmp_path)) as store:
            yield store

    @pytest.fixture
    async def other(self, tmp_path: Path, store: MetadataStore) -> AsyncIterator[MetadataStore]:
        """Another session on the same nodes."""
        async with connected(self.open_store(tmp_path)) as other:
            yield other

    async def test_node_is_read_as_it_was_created(self, store: MetadataStore) -> None:
        assert await store.create("/a", b"one") == "/a"
        node = await store.get("/a")
        assert (node.data, node.version, node.ephemeral_owner) == (b"one", 0, 0)
        assert await store.exists("/a") == 0
        assert await store.exists("/b") is None

    async def test_create_needs_a_parent_and_a_free_name(self, store: MetadataStore) -> None:
        with pytest.raises(NoNodeError):
            await store.create("/a/b")
        await store.create("/a")
        with pytest.raises(NodeExistsError):
            await store.create("/a")

    async def test_set_raises_the_version_and_checks_the_expected_one(self, store: MetadataStore) -> None:
        await store.create("/a", b"0")
        assert await store.set("/a", b"1", 0) == 1
        assert await store.set("/a", b"2") == 2
        with pytest.raises(BadVersionError):
            await store.set("/a", b"3", 1)
        assert (await store.get("/a")).data == b"2"
        with pytest.raises(NoNodeError):
            await store.set("/b", b"")

    async def test_delete_checks_version_and_children(self, store: MetadataStore) -> None:
        await store.ensure_path("/a/b")
        with pytest.raises(NotEmptyError):
            await store.delete("/a")
        with pytest.raises(BadVersionError):
            await store.delete("/a/b", 7)
        await store.delete("/a/b", 0)
        await store.delete("/a")
        with pytest.raises(NoNodeError):
            await store.delete("/a")

    async def test_children_are_names_in_order(self, store: MetadataStore) -> None:
        await store.ensure_path("/a")
        for name in ("c", "a", "b"):
            await store.create(f"/a/{name}")
        await store.create("/a/b/below")
        await store.create("/ab")
        assert await store.get_children("/a") == ["a", "b", "c"]
        assert await store.get_children("/a/c") == []
        with pytest.raises(NoNodeError):
            await store.get_children("/none")

    async def test_sequential_nodes_get_numbers_that_are_never_given_twice(self, store: MetadataStore) -> None:
        await store.create("/q")
        first = await store.create("/q/n-", is_sequential=True)
        assert first == "/q/n-0000000000"
        await store.delete(first)
        assert await store.create("/q/n-", is_sequential=True) == "/q/n-0000000001"
        assert await store.create("/q/m-", is_sequential=True) == "/q/m-0000000002"

    async def test_ephemeral_nodes_go_with_their_session_and_have_no_children(
        self, store: MetadataStore, tmp_path: Path
    ) -> None:
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

    async def test_multi_is_all_or_nothing(self, store: MetadataStore) -> None:
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

    async def test_many_creates_in_one_multi_may_build_on_each_other(self, store: MetadataStore) -> None:
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

    async def test_tree_is_everything_below_and_nothing_beside(self, store: MetadataStore) -> None:
        await store.ensure_path("/a/b/c")
        await store.ensure_path("/a-b/c")
        await store.ensure_path("/a0")
        assert sorted(await store.get_tree("/a")) == [("/a/b", b"", 0), ("/a/b/c", b"", 0)]
        await store.multi(await store.delete_tree("/a"))
        assert await store.exists("/a") is None
        assert await store.exists("/a-b/c") == 0
        assert await store.delete_tree("/a") == []

    async def test_tree_of_thousands_of_nodes_is_whole_and_as_new_as_the_last_write(self, tmp_path: Path) -> None:
        session_timeout_ms = 30_000  # a busy machine reads them for longer than the sessions of other tests last
        async with connected(self.open_store(tmp_path, session_timeout_ms)) as store:
            count = 2500
            await store.ensure_path("/many")
            await store.multi([Create(f"/many/{number}", b"before") for number in range(count)])
            await store.set("/many/7", b"after")
            found = {path: (data, version) for path, data, version in await store.get_tree("/many")}
            assert len(found) == count
            assert found["/many/7"] == (b"after", 1)
            assert found["/many/8"] == (b"before", 0)
            pauses = 0

            async def pause() -> None:
                nonlocal pauses
                pauses += 1

            operations = await store.delete_tree("/many", pause)
            assert pauses > 1
            assert operations[-1].path == "/many"
            await store.multi(operations)
            assert await store.exists("/many") is None

    async def test_data_watch_fires_once_for_the_next_change(self, store: MetadataStore) -> None:
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

    async def test_child_watch_fires_for_children_and_not_for_data(self, store: MetadataStore) -> None:
        seen: list[WatchEvent] = []
        await store.create("/a")
        await store.get_children("/a", seen.append)
        await store.set("/a", b"1")
        assert seen == []
        await store.create("/a/b")
        assert seen == [WatchEvent(CHILDREN_CHANGED, "/a")]

    async def test_watch_does_not_fire_for_what_failed(self, store: MetadataStore) -> None:
        seen: list[WatchEvent] = []
        await store.create("/a")
        await store.get("/a", seen.append)
        with pytest.raises(NodeExistsError):
            await store.multi([SetData("/a", b"1"), Create("/a")])
        assert seen == []

    async def test_watch_hears_of_other_processes_changes_after_a_poll(
        self, store: MetadataStore, other: MetadataStore
    ) -> None:
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

    async def test_nodes_survive_the_process(self, tmp_path: Path) -> None:
        async with connected(self.open_store(tmp_path)) as store:
            await store.ensure_path("/a/b")
            await store.set("/a/b", b"kept")
        async with connected(self.open_store(tmp_path)) as store:
            node: Any = await store.get("/a/b")
            assert (node.data, node.version) == (b"kept", 1)

    # ---- numbers
    async def test_created_rises_with_every_node_of_the_store(self, store: MetadataStore, other: MetadataStore) -> None:
        await store.create("/a")
        await other.create("/b", is_ephemeral=True)
        first, second = await store.get("/a"), await store.get("/b")
        assert 0 < first.created < second.created
        await store.set("/a", b"1")
        assert (await store.get("/a")).created == first.created
        await store.delete("/a")
        await store.create("/a")
        assert (await other.get("/a")).created > second.created
        await store.multi([Create("/c"), Create("/d")])
        assert (await store.get("/c")).created == (await store.get("/d")).created

    async def test_last_change_is_another_one_after_every_change_below(
        self, store: MetadataStore, other: MetadataStore
    ) -> None:
        await store.ensure_path("/a/b")
        if await store.last_change("/a") is None:
            return  # this store cannot tell
        changes: list[Callable[[], Awaitable[Any]]] = [
            lambda: other.set("/a/b", b"1"),
            lambda: store.create("/a/b/c"),
            lambda: other.delete("/a/b/c"),
            lambda: store.set("/a", b"1"),
            lambda: store.create("/d"),  # newer than the nodes that are left
            lambda: other.multi([Delete("/a/b"), Delete("/a")]),
            lambda: store.create("/a"),
        ]
        for change in changes:
            before = await store.last_change("/a", "/d")
            await change()
            assert await store.last_change("/a", "/d") != before
        before = await store.last_change("/a")
        await other.multi([Create("/a-b"), Create("/e"), SetData("/d", b"1")])
        assert await store.last_change("/a") == before

    # ---- many nodes
    async def test_mark_is_the_same_until_something_changes_and_rises_with_every_change(
        self, store: MetadataStore
    ) -> None:
        """A log directory keeps the store's mark, to recognise an older store."""
        await store.ensure_path("/a")
        before = await store.mark()
        await store.set("/a", b"1")
        stamp = await store.stamp()
        after = await store.mark()
        await store.delete("/a")
        assert before.store == after.store
        assert before.generation < stamp.generation <= after.generation < (await store.mark()).generation

    async def test_mark_is_found_by_the_next_process(self, tmp_path: Path) -> None:
        store = self.open_store(tmp_path)
        await store.connect()
        await store.ensure_path("/a")
        mark = await store.mark()
        await store.close()
        again = self.open_store(tmp_path)
        await again.connect()
        found = await again.read_mark()
        assert found is not None
        assert found.store == mark.store
        assert found.generation >= mark.generation
        assert not await again.has_lost(mark.generation, "/a")
        assert await again.has_lost(mark.generation + 1_000_000, "/a")
        assert await again.find_damage() == []
        await again.close()

    async def test_write_many_writes_in_batches_in_order_with_the_check_in_front_of_each(
        self, store: MetadataStore
    ) -> None:
        store.batch_bytes = BATCH_BYTES
        await store.multi([Create("/epoch"), Create("/t")])
        data = b"x" * 1000
        operations = [Create(f"/t/{number:04}", data) for number in range(2000)]  # 2 MB: 4 or 5 batches
        results = await write_many(store, operations, [Check("/epoch", 0)])
        assert results == [operation.path for operation in operations]
        created = [(await store.get(f"/t/{number:04}")).created for number in (0, 400, 800, 1200, 1600, 1999)]
        assert created == sorted(created)
        assert len(set(created)) > 3

    async def test_write_many_ends_where_its_check_is_no_longer_true(self, store: MetadataStore) -> None:
        store.batch_bytes = BATCH_BYTES
        await store.multi([Create("/epoch"), Create("/t")])
        operations: list[Any] = [Create(f"/t/{number:04}", b"x" * 1000) for number in range(1000)]
        operations[600] = SetData("/epoch", b"another")
        with pytest.raises(BadVersionError):
            await write_many(store, operations, [Check("/epoch", 0)])
        names = await store.get_children("/t")
        assert 600 <= len(names) < 999
        assert names == [operation.path[3:] for operation in operations if isinstance(operation, Create)][: len(names)]

    # ---- watches
    async def test_watches_fire_by_themselves_for_other_processes_changes(
        self, store: MetadataStore, other: MetadataStore
    ) -> None:
        seen: list[WatchEvent] = []
        await store.create("/a")
        await store.get("/a", seen.append)
        await store.get_children("/a", seen.append)
        await store.exists("/b", seen.append)
        await other.set("/a", b"1")
        await other.create("/a/c")
        await other.create("/b")
        assert await eventually(lambda: len(seen) == 3) < 1
        assert set(seen) == {
            WatchEvent(DATA_CHANGED, "/a"),
            WatchEvent(CHILDREN_CHANGED, "/a"),
            WatchEvent(CREATED, "/b"),
        }

    async def test_watch_fires_before_a_later_read_shows_the_change(
        self, store: MetadataStore, other: MetadataStore
    ) -> None:
        await store.create("/a", b"0")
        for number in range(1, 30):
            seen: list[WatchEvent] = []
            before = await store.get("/a", seen.append)
            writing = asyncio.create_task(other.set("/a", b"%d" % number))
            while (await store.get("/a")).version == before.version:  # noqa: ASYNC110 - the reads are the test
                await asyncio.sleep(0)
            assert seen == [WatchEvent(DATA_CHANGED, "/a")]
            await writing

    async def test_watch_set_by_a_read_hears_of_every_change_after_that_read(
        self, store: MetadataStore, tmp_path: Path
    ) -> None:
        other = self.open_store(tmp_path)
        await other.connect()
        await store.create("/a", b"0")
        versions: list[int] = []

        async def follow() -> None:
            changed = asyncio.Event()
            while not versions or versions[-1] < 60:
                changed.clear()
                versions.append((await store.get("/a", lambda _: changed.set())).version)
                if versions[-1] < 60:
                    await asyncio.wait_for(changed.wait(), LIMIT_S)

        following = asyncio.create_task(follow())
        for _ in range(30):
            await asyncio.gather(other.set("/a", b"other"), store.set("/a", b"mine"))
        await following
        assert versions == sorted(set(versions))

    async def test_watch_that_was_set_after_a_change_does_not_fire_for_it(self, store: MetadataStore) -> None:
        await store.create("/a")
        for _ in range(20):
            seen: list[WatchEvent] = []
            writing = asyncio.create_task(store.set("/a", b""))
            before = await store.exists("/a")
            while await store.exists("/a") == before:  # noqa: ASYNC110 - no watch, to set one after the change
                await asyncio.sleep(0)
            await store.exists("/a", seen.append)
            await writing
            await store.poll()
            assert seen == []

    # ---- concurrency
    async def test_versions_keep_concurrent_writers_apart(self, store: MetadataStore, other: MetadataStore) -> None:
        async def add(store: MetadataStore) -> None:
            for _ in range(15):
                while True:
                    node = await store.get("/n")
                    try:
                        await store.set("/n", b"%d" % (int(node.data) + 1), node.version)
                    except BadVersionError:
                        continue
                    break

        await store.create("/n", b"0")
        await asyncio.gather(add(store), add(other), add(store))
        assert (await store.get("/n")).data == b"45"

    # ---- sessions
    async def test_ephemeral_nodes_go_when_their_process_is_killed(self, store: MetadataStore, tmp_path: Path) -> None:
        seen: list[WatchEvent] = []
        await store.create("/turns")
        async with store_client(self.client_arguments(tmp_path)) as other:
            await other.tell("create /mine")
            assert await store.exists("/mine", seen.append) == 0
            other.send_signal(signal.SIGKILL)
            took_s = await eventually(lambda: bool(seen), turn=lambda: store.set("/turns", b""))
            assert seen == [WatchEvent(DELETED, "/mine")]
            assert took_s < SESSION_TIMEOUT_MS / 1000 + 1.5
            assert await store.exists("/mine") is None

    async def test_hung_process_that_lost_its_session_learns_it_and_reconnects(
        self, store: MetadataStore, tmp_path: Path
    ) -> None:
        seen: list[WatchEvent] = []
        await store.create("/data")
        await store.create("/turns")
        async with store_client(self.client_arguments(tmp_path)) as other:
            await other.tell("create /mine")
            assert await store.exists("/mine", seen.append) == 0
            await other.stop()
            took_s = await eventually(lambda: bool(seen), turn=lambda: store.set("/turns", b""))
            assert took_s < SESSION_TIMEOUT_MS / 1000 + 1.5
            other.send_signal(signal.SIGCONT)
            await other.tell("set /data", "failed SessionExpiredError", "failed StoreUnavailableError")
            await other.tell("create /mine", "failed SessionExpiredError")
            assert (await store.get("/data")).version == 0
            await other.tell("connect")
            await other.tell("create /mine")
            assert await store.exists("/mine") == 0

    async def test_process_whose_loop_hung_until_its_session_expired_learns_it_and_reconnects(
        self, store: MetadataStore, tmp_path: Path
    ) -> None:
        """The process's other threads run, and must not keep its session alive."""
        seen: list[WatchEvent] = []
        await store.create("/data")
        async with store_client(self.client_arguments(tmp_path)) as other:
            await other.tell("create /mine")
            assert await store.exists("/mine", seen.append) == 0
            await other.tell("hang", "hangs")
            await eventually(lambda: bool(seen))
            other.send_signal(signal.SIGUSR1)
            await other.expect("done")
            await other.expect("state expired")
            await other.tell("set /data", "failed SessionExpiredError")
            await other.tell("connect")
            await other.tell("create /mine")
            assert (await store.get("/data")).version == 0

    async def test_process_whose_loop_hangs_for_less_than_its_session_keeps_it(
        self, store: MetadataStore, tmp_path: Path
    ) -> None:
        async with store_client(self.client_arguments(tmp_path, LONG_SESSION_MS)) as other:
            await other.tell("create /mine")
            for _ in range(2):  # together longer than the session
                await other.tell("hang", "hangs")
                began = time.monotonic()
                await eventually(lambda: time.monotonic() - began > LONG_SESSION_MS / 1000 * 0.51)  # noqa: B023
                other.send_signal(signal.SIGUSR1)
                await other.expect("done")
            assert await store.exists("/mine") == 0
            await other.tell("set /mine")

    async def test_hung_process_learns_that_its_session_expired(self, store: MetadataStore, tmp_path: Path) -> None:
        seen: list[WatchEvent] = []
        async with store_client(self.client_arguments(tmp_path)) as other:
            await other.tell("create /mine")
            await store.exists("/mine", seen.append)
            await other.stop()
            await eventually(lambda: bool(seen))
            other.send_signal(signal.SIGCONT)
            await other.expect("state expired")

    async def test_listener_hears_connected_and_nothing_after_close(self, tmp_path: Path) -> None:
        states: list[str] = []
        store = self.open_store(tmp_path)
        store.listen(states.append)
        await store.connect()
        assert states == [CONNECTED]
        assert store.session_id
        await store.close()
        assert states == [CONNECTED]

    async def check_expired(self, store: MetadataStore, states: list[str]) -> None:
        """After an expiry the listener gets EXPIRED, calls are refused, and ``connect`` begins another session."""
        await eventually(lambda: EXPIRED in states)
        assert store.session_id == 0
        with pytest.raises(SessionExpiredError):
            await store.exists("/")
        with pytest.raises(SessionExpiredError):
            await store.create("/refused")
        await store.connect()
        assert states[-1] == CONNECTED
        assert await store.exists("/refused") is None
        await store.create("/again", is_ephemeral=True)
        assert (await store.get("/again")).ephemeral_owner == store.session_id
