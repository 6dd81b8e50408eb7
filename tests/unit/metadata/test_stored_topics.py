"""Topics are read from the store in one place, which checks them, and are not read again while nothing has changed."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from kafkastore.metadata.assignment import Assigned
from kafkastore.metadata.leadership import Leadership
from kafkastore.metadata.nodes import encode_config
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import Create, Delete, SetData
from kafkastore.metadata.stored_topics import CONFIGS, TOPICS, UNREADABLE, StoredTopic, StoredTopics, load_topic

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from kafkastore.metadata.store import Operation

STATES: dict[int, Leadership | None] = {
    0: Leadership(1, 4, (1, 2), controller_epoch=7),
    1: Leadership(2, 0, (2,), (1,)),
}
TOPIC = StoredTopic("t", b"t" * 16, [Assigned((1, 2)), Assigned((2, 1))], STATES, {"retention.ms": "7"})
STATE = f"{TOPICS}/t/partitions/0/state"


class CountingStore(SqliteStore):
    """Records which trees are read; it knows whether a tree has changed unless ``is_blind``."""

    is_blind = False

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.trees: list[str] = []

    async def get_tree(self, path: str) -> list[tuple[str, bytes, int]]:
        self.trees.append(path)
        return await super().get_tree(path)

    async def last_change(self, *paths: str) -> int | None:
        return None if self.is_blind else await super().last_change(*paths)


def play(folder: Path, test: Callable[[CountingStore], Awaitable[None]]) -> None:
    async def body() -> None:
        store = CountingStore(str(folder / "metadata.sqlite"))
        await store.connect()
        for path in (TOPICS, CONFIGS):
            await store.ensure_path(path)
        await store.multi(TOPIC.nodes(7))
        await test(store)
        await store.close()

    asyncio.run(body())


def test_topic_is_read_as_it_was_written(tmp_path: Path) -> None:
    async def test(store: CountingStore) -> None:
        written = TOPIC._replace(states={0: STATES[0], 1: Leadership(2, 0, (2,), (1,), controller_epoch=7)})
        assert (await StoredTopics(store).load()).topics == {"t": written}
        assert (await load_topic(store, "t")).topics == {"t": written}
        assert not (await load_topic(store, "u")).topics

    play(tmp_path, test)


@pytest.mark.parametrize(
    "changes",
    [
        [SetData(STATE, b"{}")],
        [SetData(f"{CONFIGS}/t", encode_config({}))],
        [Create(f"{TOPICS}/t/partitions/2")],
        [Delete(STATE)],
        StoredTopic("u", b"u" * 16, [Assigned((1,))], {}, {}).nodes(0),
    ],
)
def test_topics_are_read_again_only_after_a_change(tmp_path: Path, changes: list[Operation]) -> None:
    async def test(store: CountingStore) -> None:
        stored = StoredTopics(store, is_kept=True)
        first = await stored.load()
        await store.create("/elsewhere")
        assert await stored.load() is first
        assert await stored.highest_epoch() == 7
        assert store.trees == [TOPICS, CONFIGS]
        other = SqliteStore(store.path)
        await other.connect()
        await other.multi(changes)
        await other.close()
        assert await stored.load() is not first
        assert store.trees == [TOPICS, CONFIGS] * 2

    play(tmp_path, test)


def test_highest_epoch_is_seen_where_the_topic_is_invalid(tmp_path: Path) -> None:
    async def test(store: CountingStore) -> None:
        stored = StoredTopics(store, is_kept=True)
        for path in (f"{TOPICS}/t", STATE):
            await store.set(path, b"{")
            assert await stored.highest_epoch() == 7
            assert (await stored.load()).highest_epoch == 7

    play(tmp_path, test)


def test_store_without_last_change_is_read_again(tmp_path: Path) -> None:
    async def test(store: CountingStore) -> None:
        store.is_blind = True
        stored = StoredTopics(store, is_kept=True)
        assert await stored.load() == await stored.load()
        assert await stored.highest_epoch() == 7
        assert store.trees == [TOPICS, CONFIGS, TOPICS, CONFIGS, TOPICS]

    play(tmp_path, test)


def test_nothing_is_kept_after_the_start(tmp_path: Path) -> None:
    async def test(store: CountingStore) -> None:
        stored = StoredTopics(store, is_kept=True)
        first = await stored.load()
        stored.forget()
        assert await stored.load() is not first
        assert await stored.load() is not await stored.load()

    play(tmp_path, test)


def test_each_node_that_is_invalid_is_named_and_the_others_stand(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(store: CountingStore) -> None:
        states = [f"{TOPICS}/t/partitions/{number}/state" for number in (0, 1)]
        await store.multi([SetData(path, b"{") for path in (*states, f"{CONFIGS}/t")])
        names = ("a b", "t/partitions/00", "t/partitions/00/state", "t/partitions/2")
        await store.multi([Create(f"{TOPICS}/{name}", b"{}") for name in names])
        loaded = await StoredTopics(store).load()
        assert loaded.topics == {"t": TOPIC._replace(states={0: UNREADABLE, 1: UNREADABLE}, configs={})}
        assert loaded.invalid == {"a b"}
        lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
        assert sorted(line.partition(" is invalid")[0] for line in lines) == sorted(
            [*states, f"{CONFIGS}/t", f"{TOPICS}/a b", f"{TOPICS}/t/partitions/00/state"]
        )

    play(tmp_path, test)
