"""Backups of the SQLite metadata store: what is in one, and what a restore that is killed leaves."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from glob import glob
from pathlib import Path

import pytest

from kafkastore.metadata.backup import back_up, restore
from kafkastore.metadata.marks import MarkFile
from kafkastore.metadata.sqlite import SqliteStore
from unit.metadata.store_contract import in_sqlite


def has_node(path: str, node: str) -> bool:
    """Whether the store has the node. Raises StartupError when a start would be refused."""
    found = []

    async def look(store: SqliteStore) -> None:
        found.append(await store.exists(node) is not None)

    in_sqlite(path, look)
    return found[0]


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The path of a store with the node /later, which its backup, the file ``backup`` beside it, does not have."""
    path = str(tmp_path / "metadata.sqlite")

    async def fill(store: SqliteStore) -> None:
        await store.ensure_path("/earlier")
        back_up(path, f"{tmp_path}/backup")
        await store.ensure_path("/later")

    in_sqlite(path, fill)
    return path


def backup_of(store: str) -> str:
    return os.path.join(os.path.dirname(store), "backup")


def test_backup_of_a_store_in_use_has_neither_sessions_nor_what_they_own(tmp_path: Path) -> None:
    path, backup = str(tmp_path / "metadata.sqlite"), str(tmp_path / "backup")

    async def fill(store: SqliteStore) -> None:
        await store.ensure_path("/brokers/ids")
        await store.create("/brokers/ids/1", b"", is_ephemeral=True)
        back_up(path, backup)

    in_sqlite(path, fill)
    with closing(sqlite3.connect(backup)) as direct:
        assert direct.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
        assert direct.execute("SELECT name FROM nodes WHERE parent LIKE '/brokers%' ORDER BY name").fetchall() == [
            ("ids",)
        ]


def test_store_that_a_killed_restore_has_set_aside_starts_again_when_it_is_put_back(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def rename_until_killed(old: str, new: str) -> None:
        if new == store:
            raise SystemExit
        rename(old, new)

    monkeypatch.setattr(os, "rename", rename_until_killed)
    with pytest.raises(SystemExit):
        restore(backup_of(store), store, [])
    monkeypatch.undo()
    aside = glob(f"{store}.replaced-*")
    assert aside
    for path in aside:
        os.rename(path, re.sub(r"\.replaced-[^-]*", "", path))
    assert has_node(store, "/later")


def test_restored_store_starts_when_the_restore_is_killed_before_its_mark_is_written(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise SystemExit

    monkeypatch.setattr(MarkFile, "write", die)
    with pytest.raises(SystemExit):
        restore(backup_of(store), store, [])
    monkeypatch.undo()
    assert has_node(store, "/earlier")
    assert not has_node(store, "/later")
