"""The SQLite store when its file cannot be used: locked, full, gone, replaced, of another version (H28)."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from kafkastore.errors import ErrorCode, StartupError
from kafkastore.metadata import sqlite_check, sqlite_file
from kafkastore.metadata.processes import process_identity
from kafkastore.metadata.sqlite import BUSY_RETRY_S, SqliteStore
from kafkastore.metadata.sqlite_file import SqliteFile
from kafkastore.metadata.store import (
    CONNECTED,
    DATA_CHANGED,
    EXPIRED,
    SUSPENDED,
    Check,
    SessionExpiredError,
    StoreUnavailableError,
    WatchEvent,
)
from peer import small_disk as disks
from unit.metadata.store_client import store_client
from unit.metadata.store_contract import connected, eventually

SMALL_BYTES = 1 << 20
CALL_TIMEOUT_MS = 300

LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
"""

SCHEMA_1 = """
CREATE TABLE IF NOT EXISTS nodes (
    parent TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, version INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0, owner INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (parent, name)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ephemerals ON nodes (owner) WHERE owner <> 0;
CREATE TABLE IF NOT EXISTS sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, process TEXT NOT NULL, heartbeat_ms INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL);
INSERT OR IGNORE INTO nodes (parent, name, data) VALUES ('', '', x'');
PRAGMA user_version = 1;
"""
"""The schema of kafkastore 0.1."""

SCHEMA_2 = """
CREATE TABLE nodes (
    parent TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, version INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0, owner INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL DEFAULT 1,
    changed INTEGER NOT NULL DEFAULT 1, children_changed INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (parent, name)) WITHOUT ROWID;
CREATE INDEX ephemerals ON nodes (owner) WHERE owner <> 0;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, process TEXT NOT NULL, heartbeat_ms INTEGER NOT NULL, timeout_ms INTEGER NOT NULL);
CREATE TABLE changes (last INTEGER NOT NULL);
INSERT INTO nodes (parent, name, data) VALUES ('', '', x'');
INSERT INTO changes VALUES (41);
PRAGMA user_version = 2;
"""


@asynccontextmanager
async def opened(
    folder: Path, *, call_timeout_ms: int = CALL_TIMEOUT_MS
) -> AsyncIterator[tuple[SqliteStore, list[str]]]:
    """A connected store with short timeouts of calls and session, and its states."""
    store = SqliteStore(str(folder / "metadata.sqlite"), session_timeout_ms=1500, call_timeout_ms=call_timeout_ms)
    states: list[str] = []
    store.listen(states.append)
    async with connected(store):
        yield store, states


async def still(store: SqliteStore) -> None:
    """Ends the tasks of the store, and waits for what they have left in the writer's thread."""
    await store._stop_tasks()
    await store._in_writer(lambda _: None)


def lock(path: str) -> subprocess.Popen[bytes]:
    """A process that holds the file's write lock until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", LOCK, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"locked\n"
    return process


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for SMALL_BYTES."""
    with disks.mounted(tmp_path / "small", SMALL_BYTES) as folder:
        yield folder


@pytest.fixture
def waits_ms(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long SQLite may wait for a lock, for each opened file and each call: unlike the time that passes, the same on
    a busy machine."""
    found: list[int] = []
    connection, connect = SqliteFile.connection, sqlite_file._connect

    def noting(file: SqliteFile, timeout_s: float = 0.0) -> sqlite3.Connection:
        opened = connection(file, timeout_s)
        found.append(opened.execute("PRAGMA busy_timeout").fetchone()[0])
        return opened

    def noting_connect(path: str, timeout_s: float) -> sqlite3.Connection:
        found.append(int(timeout_s * 1000))
        return connect(path, timeout_s)

    monkeypatch.setattr(SqliteFile, "connection", noting)
    monkeypatch.setattr(sqlite_file, "_connect", noting_connect)
    return found


# ---- locked
async def test_file_locked_by_another_process_beyond_the_limit_is_unavailable_and_then_recovers(
    tmp_path: Path, waits_ms: list[int]
) -> None:
    async with opened(tmp_path) as (store, states):
        await store.create("/a", b"0")
        await store.create("/mine", is_ephemeral=True)
        with lock(store.path) as holder:
            waits_ms.clear()
            start = time.monotonic()
            with pytest.raises(StoreUnavailableError, match="locked") as raised:
                await store.set("/a", b"1")
            assert raised.value.code == ErrorCode.REQUEST_TIMED_OUT
            assert time.monotonic() - start >= CALL_TIMEOUT_MS / 1000
            assert max(waits_ms) <= CALL_TIMEOUT_MS
            assert (await store.get("/a")).data == b"0"  # reads go on
            await eventually(lambda: states == [CONNECTED, SUSPENDED])
            holder.kill()
        await eventually(lambda: states == [CONNECTED, SUSPENDED, CONNECTED])
        assert await store.set("/a", b"1") == 1
        assert await store.exists("/mine") == 0


async def test_calls_behind_one_that_waits_for_a_lock_keep_their_own_limit(tmp_path: Path, waits_ms: list[int]) -> None:
    async with opened(tmp_path) as (store, _):
        await still(store)  # heartbeats would wait, too
        with lock(store.path) as holder:
            waits_ms.clear()
            results = await asyncio.gather(*(store.create(f"/{one}") for one in "abcdef"), return_exceptions=True)
            assert [type(result) for result in results] == [StoreUnavailableError] * 6
            assert sum(waits_ms) < 2 * CALL_TIMEOUT_MS, "not each of the six waits as long as the first"
            holder.kill()


async def test_lock_longer_than_the_session_timeout_ends_no_session_of_the_living(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, states), store_client(["sqlite", store.path, "1500"]) as other:
        await other.tell("create /theirs")
        await store.create("/mine", is_ephemeral=True)
        with lock(store.path) as holder:
            start = time.monotonic()
            await eventually(lambda: time.monotonic() - start > 2.5)
            holder.kill()
        await eventually(lambda: states[-1] == CONNECTED)
        assert EXPIRED not in states
        await other.tell("set /theirs")
        assert await store.exists("/mine") == 0


async def test_process_that_was_late_itself_ends_no_other_session_until_a_timeout_later(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        await still(store)
        await store.create("/a")
        with sqlite3.connect(store.path) as direct:  # after a lock of two seconds, with another process that lives
            direct.execute(
                "INSERT INTO sessions SELECT 7, ?, heartbeat_ms, timeout_ms FROM sessions",
                (process_identity(os.getppid()),),
            )
            direct.execute("UPDATE sessions SET heartbeat_ms = ?", (time.monotonic_ns() // 1_000_000 - 2000,))
        await store._in_writer(store._renew, store.session_id)
        await store._look_around()
        assert direct.execute("SELECT count(*) FROM sessions").fetchone() == (2,)
        store._judges_from_ms -= 1500
        await store._look_around()
        assert direct.execute("SELECT id FROM sessions").fetchall() == [(store.session_id,)]
        direct.close()


async def test_write_that_was_not_begun_within_its_limit_is_not_done_later(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        is_asked = threading.Event()

        def sync(_: float) -> None:
            """An fsync that takes longer than the limit of the write that was asked for meanwhile."""
            assert is_asked.wait(30)
            time.sleep(CALL_TIMEOUT_MS / 1000 + 0.05)

        disk = asyncio.create_task(store._in_writer(sync))
        late = asyncio.create_task(store.create("/late"))
        await asyncio.sleep(0)
        is_asked.set()
        with pytest.raises(StoreUnavailableError, match="earlier writes"):
            await late
        await disk
        assert await store.exists("/late") is None


async def test_refusal_of_a_cancelled_write_is_no_lost_exception(tmp_path: Path) -> None:
    """The caller was cancelled while the writer handled its call."""
    async with opened(tmp_path) as (store, _):
        lost: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context))
        asked = asyncio.ensure_future(store.create("/no/parent"))
        await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await store.create("/a")  # the writer has finished the write before
        del asked
        gc.collect()
        await asyncio.sleep(0)
        assert lost == []


async def test_reads_of_a_file_that_is_locked_altogether_wait_without_the_loop(
    tmp_path: Path, waits_ms: list[int]
) -> None:
    async with opened(tmp_path) as (store, _):
        await store.create("/a", b"0")
        await still(store)  # its tasks would read, too
        aside = store.path + ".copy"
        with sqlite3.connect(store.path) as direct:
            direct.execute("VACUUM INTO ?", (aside,))
        direct.close()
        with sqlite3.connect(aside, isolation_level=None) as direct:  # not in WAL mode, so readers are locked out too
            direct.execute("BEGIN EXCLUSIVE")
            for suffix in ("-wal", "-shm"):
                os.unlink(store.path + suffix)
            os.rename(aside, store.path)
            turns = 0

            async def turn() -> None:
                nonlocal turns
                while True:
                    await asyncio.sleep(BUSY_RETRY_S)
                    turns += 1

            turning = asyncio.create_task(turn())
            waits_ms.clear()
            start = time.monotonic()
            with pytest.raises(StoreUnavailableError, match="locked"):
                await store.get("/a")
            assert time.monotonic() - start >= CALL_TIMEOUT_MS / 1000
            turning.cancel()
            assert set(waits_ms) == {0}, "SQLite waits for nothing on the loop"
            assert 1 < len(waits_ms) <= CALL_TIMEOUT_MS / 1000 / BUSY_RETRY_S + 2
            assert turns > 1
            direct.execute("ROLLBACK")
        direct.close()
        assert (await store.get("/a")).data == b"0"


# ---- full
async def test_full_disk_is_unavailable_and_recovers_when_there_is_room(small_disk: Path) -> None:
    async with opened(small_disk) as (store, states):
        await store.create("/a", b"0")
        await store.create("/mine", is_ephemeral=True)
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        with pytest.raises(StoreUnavailableError, match="full"):
            await store.set("/a", b"x" * 500_000)
        await eventually(lambda: states == [CONNECTED, SUSPENDED])
        written = await store.get("/a")
        ballast.unlink()
        await eventually(lambda: states == [CONNECTED, SUSPENDED, CONNECTED])
        assert await store.set("/a", b"1", written.version) == written.version + 1
        assert await store.exists("/mine") == 0


# ---- gone, replaced
async def test_file_moved_away_is_unavailable_and_back_again_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, states):
        await store.create("/a", b"0")
        await store.create("/mine", is_ephemeral=True)
        os.rename(store.path, store.path + ".away")
        with pytest.raises(StoreUnavailableError, match="not there any more"):
            await store.get("/a")
        with pytest.raises(StoreUnavailableError, match="not there any more"):
            await store.set("/a", b"1")
        await eventually(lambda: states == [CONNECTED, SUSPENDED])
        assert "metadata.sqlite" not in os.listdir(tmp_path)  # never created anew
        os.rename(store.path + ".away", store.path)
        await eventually(lambda: states == [CONNECTED, SUSPENDED, CONNECTED])
        assert await store.set("/a", b"1", 0) == 1
        assert await store.exists("/mine") == 0


async def test_file_replaced_by_another_ends_the_session_and_is_not_written_to(tmp_path: Path) -> None:
    async with connected(SqliteStore(str(tmp_path / "other" / "metadata.sqlite"))) as other:
        await other.create("/only-there", b"kept")
    async with opened(tmp_path) as (store, states):
        await store.create("/a", b"0")
        shutil.copy(tmp_path / "other" / "metadata.sqlite", tmp_path / "new")
        for suffix in ("", "-wal", "-shm"):  # moved, not copied: the heart may beat meanwhile
            os.rename(store.path + suffix, tmp_path / f"ours{suffix}")
        os.rename(tmp_path / "new", store.path)
        await eventually(lambda: states[-1] == EXPIRED)
        with pytest.raises(SessionExpiredError):
            await store.create("/b")
        with pytest.raises(StoreUnavailableError, match="was replaced by another"):
            await store.connect()
        with sqlite3.connect(store.path) as direct:
            assert direct.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert direct.execute("SELECT data FROM nodes WHERE name = 'only-there'").fetchone() == (b"kept",)
            assert direct.execute("SELECT count(*) FROM sessions").fetchone() == (0,)
        direct.close()
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(store.path + suffix)
        for suffix in ("", "-wal", "-shm"):
            os.rename(tmp_path / f"ours{suffix}", store.path + suffix)
        await store.connect()
        assert (await store.get("/a")).data == b"0"


async def test_file_overwritten_with_something_else_is_unavailable(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, states):
        os.rename(store.path, store.path + ".away")
        (tmp_path / "metadata.sqlite").write_bytes(b"not a database " * 100)
        with pytest.raises(StoreUnavailableError, match="not a database"):
            await store.exists("/")
        await eventually(lambda: states == [CONNECTED, SUSPENDED])
        os.replace(store.path + ".away", store.path)
        await eventually(lambda: states == [CONNECTED, SUSPENDED, CONNECTED])


async def test_watch_outlives_a_suspension_and_fires_for_what_happened_meanwhile(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, states):
        heard: list[object] = []
        store.listen(heard.append)
        await store.create("/a")
        await store.get("/a", heard.append)
        os.rename(store.path, store.path + ".away")
        await eventually(lambda: states[-1] == SUSPENDED)
        os.rename(store.path + ".away", store.path)
        with sqlite3.connect(store.path) as direct:
            direct.execute("UPDATE changes SET last = last + 1")
            direct.execute("UPDATE nodes SET version = 1, changed = (SELECT last FROM changes) WHERE name = 'a'")
        direct.close()
        await eventually(lambda: states[-1] == CONNECTED)
        assert heard == [SUSPENDED, WatchEvent(DATA_CHANGED, "/a"), CONNECTED]


# ---- sessions
async def test_session_that_another_process_ended_expires_and_writes_no_more(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, states):
        seen: list[WatchEvent] = []
        await store.create("/a")
        await store.create("/mine", is_ephemeral=True)
        await store.get("/a", seen.append)
        with sqlite3.connect(store.path) as direct:
            direct.execute("DELETE FROM sessions")
        direct.close()
        with pytest.raises(SessionExpiredError):
            await store.set("/a", b"1")
        assert states == [CONNECTED, EXPIRED]
        assert store.session_id == 0
        await store.connect()
        assert states == [CONNECTED, EXPIRED, CONNECTED]
        assert (await store.get("/a")).version == 0
        await store.set("/a", b"1")
        assert seen == []  # the watch was lost with the session


async def test_session_is_ended_within_a_second_of_its_process_death_without_any_call(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _), store_client(["sqlite", store.path, "60000"]) as other:
        await other.tell("create /theirs")
        seen: list[WatchEvent] = []
        await store.exists("/theirs", seen.append)
        other.send_signal(signal.SIGKILL)
        assert await eventually(lambda: bool(seen)) < 1.5


CONTAINER = ["unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]


async def test_sessions_of_two_containers_live_and_end_with_their_processes(tmp_path: Path) -> None:
    """Each has a PID namespace of its own, where the other's process ids mean nothing, or another process."""
    async with opened(tmp_path) as (store, states):
        async with store_client(["sqlite", store.path, "60000"], CONTAINER) as other:
            await other.tell("create /theirs")
            await store.create("/mine", is_ephemeral=True)
            await asyncio.sleep(1.2)  # each has looked twice for sessions that are over
            assert await store.exists("/theirs") is not None
            await other.tell("set /mine")
            seen: list[WatchEvent] = []
            await store.exists("/theirs", seen.append)
            other.send_signal(signal.SIGKILL)
            assert await eventually(lambda: bool(seen)) < 1.5
        assert states == [CONNECTED]


async def test_store_that_another_host_has_open_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, _):
        with sqlite3.connect(store.path) as direct:
            direct.execute("UPDATE sessions SET process = '17@another-boot', heartbeat_ms = 0")
        direct.close()
        second = SqliteStore(store.path)
        with pytest.raises(StartupError, match="is in use by process 17 of another host; the brokers of several hosts"):
            await second.connect()
        await second.close()
        await store.close()
        third = SqliteStore(store.path)  # before its last start, that host was this one
        await third.connect()
        await third.close()


# ---- versions
def old_file(path: Path, process: str) -> None:
    with sqlite3.connect(path) as direct:
        direct.executescript(SCHEMA_1)
        direct.execute("INSERT INTO nodes (parent, name, data, version, sequence) VALUES ('/', 'a', x'31', 3, 7)")
        direct.execute("INSERT INTO nodes (parent, name, data, owner) VALUES ('/', 'left', x'', 1)")
        direct.execute(
            "INSERT INTO sessions (process, heartbeat_ms, timeout_ms) VALUES (?, ?, 18000)", (process, 2**40)
        )
    direct.close()


async def test_file_of_version_1_is_brought_up_to_date(tmp_path: Path) -> None:
    old_file(tmp_path / "metadata.sqlite", "999999999:1")
    async with opened(tmp_path) as (store, _):
        node = await store.get("/a")
        assert (node.data, node.version) == (b"1", 3)
        assert await store.exists("/left") is None
        assert await store.create("/a/n-", is_sequential=True) == "/a/n-0000000007"
        assert (await store.get("/a/n-0000000007")).created > node.created > 0
        assert (await store.get_children("/")) == ["a"]


async def test_file_of_version_2_gets_an_identity_and_checksums(tmp_path: Path) -> None:
    path = tmp_path / "metadata.sqlite"
    with sqlite3.connect(path) as direct:
        direct.executescript(SCHEMA_2)
        direct.execute("INSERT INTO nodes (parent, name, data) VALUES ('/', 'a', ?)", (b"kept",))
    direct.close()
    async with opened(tmp_path) as (store, _):
        assert (await store.get("/a")).data == b"kept"
        assert len((await store.mark()).store) == 32
        assert await store.find_damage() == []


def test_file_of_version_1_that_is_in_use_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "metadata.sqlite"
    old_file(path, process_identity(os.getpid()) or "")
    with pytest.raises(StartupError, match=f"in use by process {os.getpid()} of an older version"):
        SqliteStore(str(path))
    with sqlite3.connect(path) as direct:
        assert direct.execute("PRAGMA user_version").fetchone() == (1,)
        assert direct.execute("SELECT count(*) FROM nodes").fetchone() == (3,)
    direct.close()


def test_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "metadata.sqlite"
    with sqlite3.connect(path) as direct:
        direct.execute("PRAGMA user_version = 4")
    direct.close()
    with pytest.raises(StartupError, match="newer version"):
        SqliteStore(str(path))


async def test_process_that_leaves_takes_no_file_from_those_that_stay(tmp_path: Path) -> None:
    """The last process to close the database removes ``-wal`` and ``-shm``. A process that stays must keep its locks,
    or it would go on alone with removed files (a process loses its POSIX locks when it closes any descriptor of the
    file)."""
    path = str(tmp_path / "metadata.sqlite")
    store = SqliteStore(path)
    await store.connect()
    await store.create("/a")
    before = os.stat(f"{path}-wal").st_ino
    async with store_client(("sqlite", path, "18000")) as leaving:
        await leaving.tell("set /a")
        await leaving.tell("close")
    assert os.stat(f"{path}-wal").st_ino == before
    async with store_client(("sqlite", path, "18000")) as coming:
        await coming.tell("set /a")
        await store.poll()
        assert (await store.get("/a")).version == 2
        await store.set("/a", b"", 2)
    await store.close()


async def test_failure_of_a_call_that_was_cancelled_meanwhile_is_not_an_error_of_the_loop(tmp_path: Path) -> None:
    """A controller that resigns cancels its write, which fails the check of its successor's epoch."""
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    async with opened(tmp_path) as (store, _):
        writing = asyncio.create_task(store.multi([Check("/", 99)]))
        await asyncio.sleep(0)  # the write has begun
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
    gc.collect()
    assert told == []


def test_file_that_another_process_makes_between_two_looks_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metadata.sqlite"
    real, looks = sqlite_check._size, 0

    def size(of: str) -> int:
        nonlocal looks
        looks += 1
        if looks == 2:
            path.write_bytes(b"made")
            path.with_name(f"{path.name}-wal").write_bytes(b"made")
        return real(of)

    monkeypatch.setattr(sqlite_check, "_size", size)
    sqlite_check.refuse_damaged(str(path), "kafkastore.metadata.path=x")
    assert looks == 2


def test_mark_that_may_not_be_read_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metadata.sqlite"
    Path(f"{path}-mark").write_bytes(b"of another user")
    monkeypatch.setattr(sqlite_check.os, "access", lambda *_: False)
    with pytest.raises(StartupError, match=r"-mark cannot be opened: Permission denied; let the user"):
        sqlite_check.refuse_damaged(str(path), "kafkastore.metadata.path=x")


@pytest.mark.parametrize("is_made", [False, True])
def test_mark_of_a_first_start_that_broke_off_is_no_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, is_made: bool
) -> None:
    path = tmp_path / "metadata.sqlite"
    Path(f"{path}-mark").write_bytes(b"")  # the disk was full
    if is_made:
        asyncio.run(made(path))
        Path(f"{path}-mark").write_bytes(b"")
    sqlite_check.refuse_damaged(str(path), "kafkastore.metadata.path=x")
    assert ("is damaged" in caplog.text) == is_made


async def made(path: Path) -> None:
    store = SqliteStore(str(path))
    await store.connect()
    await store.close()
