"""A member of a cluster of one over the stepped engine, and the test's own connection to the store, as another broker
has."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from stepped import Engine
from world import running_broker

from kafkastore.metadata.assignment import ReplicaAssignment
from kafkastore.metadata.leadership import Leadership
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import Create
from kafkastore.metadata.stored_topics import StoredTopic
from kafkastore.server.broker import Broker

REGISTRATION = "/brokers/ids/1"


def store_path(folder: Path) -> str:
    return str(folder / "metadata.sqlite")


@asynccontextmanager
async def other_store(folder: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(store_path(folder))
    await store.connect()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def running_member(
    folder: Path, prepare: Callable[[Engine], None] | None = None, **properties: str
) -> AsyncIterator[Broker]:
    """Node 1, running and the controller of its cluster."""
    given = {"kafkastore__metadata__path": store_path(folder), **properties}
    async with running_broker(folder, prepare, **given) as broker:
        yield broker


async def put_topic(
    store: SqliteStore,
    name: str,
    replicas: tuple[int, ...] = (1,),
    leadership: Leadership | None = None,
    *,
    config: bytes | None = None,
) -> StoredTopic:
    """Writes a topic with one partition as a controller does; ``config`` is the content of the node of its
    configuration."""
    for path in ("/brokers/topics", "/config/topics"):
        await store.ensure_path(path)
    state = leadership or Leadership(replicas[0], 0, replicas)
    topic = StoredTopic(name, name.encode().ljust(16, b"-"), [ReplicaAssignment(replicas)], {0: state}, {})
    configured, *others = topic.nodes(1)
    await store.multi([configured if config is None else Create(f"/config/topics/{name}", config), *others])
    return topic


def watch_registrations(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A list that gets the content of node 1's registrations as they are created: the controller changes the node at
    once."""
    seen: list[dict[str, Any]] = []
    create = SqliteStore.create

    async def recording(self: SqliteStore, path: str, data: bytes = b"", **options: bool) -> str:
        made = await create(self, path, data, **options)
        if path == REGISTRATION:
            seen.append(json.loads(data))
        return made

    monkeypatch.setattr(SqliteStore, "create", recording)
    return seen


async def expire_session(folder: Path, broker: Broker) -> None:
    """Ends the session as if the broker had slept longer than that: its nodes go, then the broker learns of it."""
    await end_session(folder, broker.store.session_id)


async def end_session(folder: Path, session_id: int) -> None:
    with sqlite3.connect(store_path(folder)) as direct:
        direct.execute("UPDATE sessions SET process = '999999999:1' WHERE id = ?", (session_id,))
    direct.close()
    async with other_store(folder) as other:  # a store that connects removes the nodes of sessions that are over
        assert await other.exists(REGISTRATION) is None
