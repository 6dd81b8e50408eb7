"""Marks of a metadata store, and the damages for which the SQLite file is refused."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from kafkastore.errors import StartupError
from kafkastore.metadata.backup import BackupError, accept_loss
from kafkastore.metadata.marks import SIDECAR_SUFFIX, SLOT_BYTES, MarkFile, StoreMark, read_mark
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.sqlite_check import find_damage
from kafkastore.metadata.sqlite_transaction import DAMAGED
from kafkastore.metadata.store import Create, StoreUnavailableError
from unit.metadata.store_contract import in_sqlite

STORE = "0" * 32


# ---- the file
def test_mark_is_read_as_it_was_written_and_only_rises(tmp_path: Path) -> None:
    path = str(tmp_path / "mark")
    assert read_mark(path) == (None, False)
    file = MarkFile(path)
    for generation, expected in ((1, 1), (5, 5), (3, 5), (6, 6)):
        file.write(StoreMark(STORE, generation))
        assert read_mark(path) == (StoreMark(STORE, expected), False)
    file.write(StoreMark("1" * 32, 2))  # another store's numbers begin anew
    assert read_mark(path) == (StoreMark("1" * 32, 2), False)
    file.close()


def test_damage_to_a_mark_is_noticed_and_never_makes_it_a_later_one(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    file = MarkFile(str(path))
    for generation in (8, 9):
        file.write(StoreMark(STORE, generation))
    file.close()
    whole = path.read_bytes()
    assert len(whole) == 2 * SLOT_BYTES
    for at in range(len(whole) * 8):
        changed = bytearray(whole)
        changed[at // 8] ^= 1 << at % 8
        path.write_bytes(changed)
        found = read_mark(str(path))
        assert found.mark in (StoreMark(STORE, 8), StoreMark(STORE, 9))
        assert found.is_damaged or found.mark == StoreMark(STORE, 9)  # the flip may be in the padding
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        found = read_mark(str(path))
        assert found.is_damaged or found.mark == StoreMark(STORE, 9)


def test_removed_mark_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    file = MarkFile(str(path))
    assert file.hold()
    file.write(StoreMark(STORE, 1))
    path.unlink()
    file.write(StoreMark(STORE, 2))
    assert read_mark(str(path)).mark == StoreMark(STORE, 2)
    other = MarkFile(str(path))
    assert not other.hold(is_exclusive=True)
    file.close()
    assert other.hold(is_exclusive=True)
    other.close()


# ---- the SQLite file
def unreadable(path: Path) -> Path:
    """Makes ``-wal`` unreadable for SQLite, as if it were another user's; the file itself is whole. The test may run as
    root, so ``-wal`` becomes a link, which SQLite does not follow."""
    wal = path.parent / f"{path.name}-wal"
    wal.rename(path.parent / "aside")
    wal.symlink_to("aside")
    return path


def test_file_that_cannot_be_looked_at_is_not_called_damaged_and_is_never_given_up(tmp_path: Path) -> None:
    path = unreadable(killed(tmp_path))
    before = path.read_bytes(), (path.parent / f"{path.name}-wal").read_bytes()
    with pytest.raises(StartupError, match="cannot be read") as refused:
        SqliteStore(str(path))
    assert "accept-loss" not in str(refused.value)
    with pytest.raises(sqlite3.OperationalError):
        find_damage(str(path))
    with pytest.raises(BackupError, match="cannot be read"):
        accept_loss(str(path), [])
    assert (path.read_bytes(), (path.parent / f"{path.name}-wal").read_bytes()) == before
    (path.parent / "aside").rename(path.parent / f"{path.name}-wal")
    in_sqlite(path, nothing)


def test_check_of_an_unreadable_file_raises_store_unavailable(tmp_path: Path) -> None:
    path = killed(tmp_path)

    async def hide(store: SqliteStore) -> None:
        store.path = str(unreadable(path))
        with pytest.raises(StoreUnavailableError):
            await store.find_damage()

    in_sqlite(tmp_path / "whole" / "metadata.sqlite", hide)


async def nothing(_: SqliteStore) -> None:
    """Does nothing: the store is only opened and closed."""


async def fill(store: SqliteStore) -> None:
    await store.ensure_path("/config/topics")
    content = b'{"version":1,"config":{"retention.ms":"-1"}}'
    await store.multi([Create(f"/config/topics/topic-{number}", content) for number in range(300)])


def killed(tmp_path: Path) -> Path:
    """A store whose process was killed: a part of it is in ``-wal`` only."""
    path, copy = tmp_path / "whole" / "metadata.sqlite", tmp_path / "killed"
    in_sqlite(path, fill)

    async def more(store: SqliteStore) -> None:
        await store.ensure_path("/brokers/topics/t")
        await store._in_writer(lambda _: shutil.copytree(path.parent, copy))  # no heartbeat is written meanwhile

    in_sqlite(path, more)
    return copy / "metadata.sqlite"


def test_path_with_signs_of_a_uri_is_judged_as_every_other(tmp_path: Path) -> None:
    copy = tmp_path / "50% of #1?mode=rw&ä b"
    shutil.copytree(killed(tmp_path).parent, copy)
    assert find_damage(str(copy / "metadata.sqlite")) == []
    os.unlink(copy / "metadata.sqlite-wal")
    with pytest.raises(StartupError, match="accept-loss"):
        SqliteStore(str(copy / "metadata.sqlite"))
    assert sorted(one.name for one in tmp_path.iterdir()) == [copy.name, "killed", "whole"]


def test_start_is_refused_when_any_file_of_the_store_is_gone_or_empty(tmp_path: Path) -> None:
    path = killed(tmp_path)
    for suffix, damage in ((suffix, damage) for suffix in ("", "-wal") for damage in (os.unlink, _empty)):
        copy = tmp_path / f"copy{suffix}-{damage.__name__}"
        shutil.copytree(path.parent, copy)
        damage(str(copy / f"metadata.sqlite{suffix}"))
        before = {one.name: one.read_bytes() for one in copy.iterdir() if not one.name.endswith("-shm")}
        for _ in range(2):
            with pytest.raises(StartupError, match=r"kafkastore metadata restore.*accept-loss"):
                SqliteStore(str(copy / "metadata.sqlite"))
        after = {one.name: one.read_bytes() for one in copy.iterdir() if not one.name.endswith("-shm")}
        if suffix == "-wal" and damage is os.unlink:
            after.pop("metadata.sqlite-wal", None)
        assert after == before, "what is refused stays as it is"


def _empty(path: str) -> None:
    os.truncate(path, 0)


def test_every_flip_is_refused_or_found_or_changes_nothing(tmp_path: Path) -> None:
    """After a flipped bit all nodes are as before, or the start is refused, or the damage is named."""
    path = killed(tmp_path)
    expected = _nodes(path)
    random_ = random.Random(13)
    outcomes = {"refused": 0, "found": 0, "harmless": 0}
    for number in range(60):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(path.parent, copy)
        victim = copy / f"metadata.sqlite{random_.choice(('', '', '-wal'))}"
        content = bytearray(victim.read_bytes())
        content[random_.randrange(len(content))] ^= 1 << random_.randrange(8)
        victim.write_bytes(content)
        outcomes[_outcome(copy / "metadata.sqlite", expected)] += 1
        shutil.rmtree(copy)
    assert outcomes["refused"] > 5
    assert outcomes["found"] > 5


def _outcome(path: Path, expected: dict[str, bytes]) -> str:
    try:
        SqliteStore(str(path))
    except StartupError:
        return "refused"
    if find_damage(str(path)):
        return "found"
    assert _nodes(path) == expected
    return "harmless"


def _nodes(path: Path) -> dict[str, bytes]:
    """The nodes of a copy of the store, opened as a start does it."""

    async def read() -> dict[str, bytes]:
        store = SqliteStore(str(path))
        found = {name: data for name, data, _ in await store.get_tree("/")}
        await store.close()
        return found

    copy = path.parent.with_name(path.parent.name + "-read")
    shutil.copytree(path.parent, copy)
    path = copy / path.name
    try:
        return asyncio.run(read())
    finally:
        shutil.rmtree(copy)


def test_node_that_changes_under_a_running_broker_is_read_as_invalid(tmp_path: Path) -> None:
    """SQLite alone would read the changed configuration as a valid one."""

    async def test(store: SqliteStore) -> None:
        await fill(store)
        with sqlite3.connect(store.path) as direct:
            direct.execute("UPDATE nodes SET data = replace(data, '-1', '60') WHERE name = 'topic-3'")
        direct.close()
        assert (await store.get("/config/topics/topic-3")).data == DAMAGED
        tree = {path: data for path, data, _ in await store.get_tree("/config/topics")}
        assert [path for path, data in tree.items() if data == DAMAGED] == ["/config/topics/topic-3"]
        assert await store.find_damage() == ["node /config/topics/topic-3 is not as it was written"]
        await store.set("/config/topics/topic-3", b"mended")
        assert (await store.get("/config/topics/topic-3")).data == b"mended"
        assert await store.find_damage() == []

    in_sqlite(tmp_path / "metadata.sqlite", test)


def test_older_copy_that_is_put_in_the_place_of_a_store_in_use_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "metadata.sqlite"
    in_sqlite(path, fill)
    shutil.copy(path, tmp_path / "older")

    async def test(store: SqliteStore) -> None:
        await store.ensure_path("/later")
        for suffix in ("-wal", "-shm"):
            os.unlink(store.path + suffix)
        os.rename(tmp_path / "older", store.path)
        with pytest.raises(StoreUnavailableError, match="replaced"):
            await store.connect() if not store.session_id else await store._in_writer(store._open_session)

    in_sqlite(path, test)
    with pytest.raises(StartupError, match="has lost something"):
        SqliteStore(str(path))


def test_damaged_mark_is_logged_and_written_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "metadata.sqlite"
    in_sqlite(path, fill)
    mark = tmp_path / f"metadata.sqlite{SIDECAR_SUFFIX}"
    for damage in (lambda: _empty(str(mark)), mark.unlink):
        damage()
        in_sqlite(path, nothing)
        found = read_mark(str(mark))
        assert found.mark is not None
        assert not found.is_damaged
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == 1
    assert str(mark) in warned[0]
