"""The store's contract on SQLite, and the SQLite store's own rules: sessions of dead processes, refusals."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest

from kafkastore.errors import StartupError
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import SessionExpiredError
from unit.metadata.store_contract import StoreContract


class TestSqliteStore(StoreContract):
    def address(self, folder: Path) -> tuple[str, str]:
        return "sqlite", str(folder / "metadata.sqlite")


async def test_ephemeral_nodes_of_a_killed_process_are_gone_at_the_next_connect(tmp_path: Path) -> None:
    path = str(tmp_path / "metadata.sqlite")
    first = SqliteStore(path)
    await first.connect()
    await first.create("/left", is_ephemeral=True)
    with sqlite3.connect(path) as direct:  # as if another process, dead by now, had opened the session
        direct.execute("UPDATE sessions SET process = '999999999:1'")
    direct.close()
    second = SqliteStore(path)
    await second.connect()
    assert await second.exists("/left") is None
    with pytest.raises(SessionExpiredError):
        await first.create("/again", is_ephemeral=True)
    await second.close()
    await first.close()


async def test_session_of_a_process_that_hangs_expires(tmp_path: Path) -> None:
    path = str(tmp_path / "metadata.sqlite")
    first = SqliteStore(path)
    await first.connect()
    await first._stop_tasks()  # the process hangs
    await first.create("/left", is_ephemeral=True)  # runs after the writer's pending work
    with sqlite3.connect(path) as direct:
        direct.execute("UPDATE sessions SET heartbeat_ms = heartbeat_ms - 19000")
    direct.close()
    second = SqliteStore(path)
    await second.connect()
    assert await second.exists("/left") is None
    await second.close()
    await first.close()


async def test_commits_are_synced_and_in_wal_mode(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "metadata.sqlite"))
    await store.connect()
    assert store._writer is not None
    connection = store._writer.connection()
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    await store.close()


@pytest.mark.parametrize("content", [b"not a database, not at all, no " * 100])
def test_file_that_is_no_store_refuses_with_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "metadata.sqlite"
    path.write_bytes(content)
    with pytest.raises(StartupError, match=str(path)):
        SqliteStore(str(path))
    assert path.read_bytes() == content


SUFFIXES = ("", "-wal", "-shm", "-mark", "-sessions")


def test_the_file_and_the_directories_made_for_it_are_their_owners_only(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"

    async def body() -> None:
        store = SqliteStore(str(folder / "metadata.sqlite"))
        await store.connect()
        modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
        assert modes == dict.fromkeys([f"metadata.sqlite{suffix}" for suffix in SUFFIXES], 0o600)
        assert [one.stat().st_mode & 0o777 for one in (folder, folder.parent)] == [0o700] * 2
        await store.close()

    before = os.umask(0)
    try:
        asyncio.run(body())
    finally:
        os.umask(before)
