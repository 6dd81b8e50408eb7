"""What the control plane promises to have on the disk when a call returns, one :class:`Promise` for each place.

SQLite's own commits are not here: SQLite syncs them.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pyarrow as pa

from kafkastore.cli.profiles import write_profile
from kafkastore.cli.security_folder import replace_files
from kafkastore.dynamic_config import kept_configs
from kafkastore.dynamic_config.kept_configs import KeptConfigs
from kafkastore.log import strays
from kafkastore.log.manager import ADOPT_FILE, LogManager
from kafkastore.membership.metadata_marks import MetadataMarks
from kafkastore.metadata import backup
from kafkastore.metadata.image import TopicImage
from kafkastore.metadata.marks import DIRECTORY_FILE, SIDECAR_SUFFIX, MarkFile, StoreMark
from kafkastore.metadata.nodes import topic_id_text
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.scanning.parquet_files import FileOptions, commit, write_piece

TOPIC_ID = bytes(range(16))
MARK = StoreMark("s" * 32, 7)
STORE = "metadata.sqlite"
STALE_LINES = 2
STRAY = f"a-0.{'0123456789abcdef' * 2}-stray"


@dataclass(frozen=True)
class Promise:
    """``keep`` makes the promise, in a folder in which ``prepare`` left what was on the disk before. ``names``: globs
    of what must be as it is when ``keep`` returns, also after a power loss."""

    name: str
    prepare: Callable[[Path], None]
    keep: Callable[[Path], None]
    names: tuple[str, ...]

    def found(self, folder: Path) -> dict[str, bytes | None]:
        """The promised files with their content; None for a directory."""
        paths = {path for name in self.names for path in folder.glob(name)}
        return {str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes() for path in sorted(paths)}


def _nothing(_: Path) -> None:
    """The folder is empty."""


# ---- the metadata store
def _make_store(folder: Path) -> None:
    async def fill() -> None:
        store = SqliteStore(str(folder / STORE))
        await store.connect()
        await store.ensure_path("/config/topics/t")
        await store.close()

    asyncio.run(fill())


def _make_store_and_backup(folder: Path) -> None:
    _make_store(folder)
    backup.back_up(str(folder / STORE), str(folder / "backup"))


def _back_up(folder: Path) -> None:
    backup.back_up(str(folder / STORE), str(folder / "backup"))


def _restore(folder: Path) -> None:
    backup.restore(str(folder / "backup"), str(folder / STORE), [str(folder)])


def _make_damaged_store(folder: Path) -> None:
    _make_store(folder)
    with closing(sqlite3.connect(folder / STORE, isolation_level=None)) as direct:
        direct.execute("UPDATE nodes SET data = x'00' WHERE name = 't'")
    _sync_mark_of(folder / DIRECTORY_FILE)


def _accept_loss(folder: Path) -> None:
    assert "was damaged and is gone" in " ".join(backup.accept_loss(str(folder / STORE), [str(folder)]))


def _begin_to_accept_loss(folder: Path) -> None:
    """The power is lost after the damaged store was copied, before anything is deleted."""
    with patch.object(backup, "damaged_nodes", side_effect=SystemExit), suppress(SystemExit):
        backup.accept_loss(str(folder / STORE), [str(folder)])


def _open_store(folder: Path) -> None:
    """Only opens it: a commit's mark may be some seconds old on the disk."""

    async def body() -> None:
        await SqliteStore(str(folder / STORE)).close()

    asyncio.run(body())


def _sync_mark(folder: Path) -> None:
    _sync_mark_of(folder / "mark")


def _sync_mark_of(path: Path) -> None:
    with closing(MarkFile(str(path))) as file:
        file.write(MARK)
        file.sync()


def _start_marks(folder: Path) -> None:
    async def mark() -> StoreMark:
        return MARK

    async def body() -> None:
        config: Any = SimpleNamespace(log_dirs=[str(folder)])
        store: Any = SimpleNamespace(mark=mark)
        marks = MetadataMarks(config, store)
        log_manager: Any = SimpleNamespace(online=[str(folder)])
        await marks.start(log_manager)
        await marks.stop()

    asyncio.run(body())


# ---- logs that were set aside
def _set_aside(folder: Path) -> None:
    log = folder / STRAY
    log.mkdir()
    (log / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id_text(TOPIC_ID)}\n")


def _adopt(folder: Path) -> None:
    strays.adopt("a", [str(folder)])


def _delete_stray(folder: Path) -> None:
    strays.delete(str(folder / STRAY), [str(folder)])


# ---- configurations beside the logs
async def _stamp() -> StoreMark:
    return MARK


def _placed(folder: Path) -> LogManager:
    manager: Any = SimpleNamespace(online=[str(folder)], directories_of=lambda _: {str(folder)})
    return cast("LogManager", manager)


def _with_configs(folder: Path, body: Callable[[KeptConfigs], Awaitable[None]]) -> None:
    async def run() -> None:
        store: Any = SimpleNamespace(stamp=_stamp)
        kept = KeptConfigs(_placed(folder), store)
        await kept.load()
        await body(kept)
        await kept.stop()

    asyncio.run(run())


def _topic(retention_ms: int) -> TopicImage:
    return TopicImage("t", TOPIC_ID, [], {"retention.ms": str(retention_ms)})


def _keep_configs(folder: Path) -> None:
    _with_configs(folder, lambda kept: kept.keep([_topic(5)]))


def _make_stale_configs(folder: Path) -> None:
    async def body(kept: KeptConfigs) -> None:
        for number in range(STALE_LINES + 1):
            await kept.keep([_topic(number)])

    _with_configs(folder, body)


def _write_configs_anew(folder: Path) -> None:
    with patch.object(kept_configs, "SPARE_LINES", 0):
        _with_configs(folder, lambda kept: kept.tidy({"t": _topic(STALE_LINES)}))


# ---- exported files
def _export(folder: Path) -> None:
    rows = pa.table({"offset": [0, 1]})
    scan = SimpleNamespace(lost=[], __arrow_c_stream__=rows.__arrow_c_stream__)
    share = SimpleNamespace(opened=lambda: scan)
    piece: Any = SimpleNamespace(partition=0, start_offset=0, end_offset=2, share=share)
    options = FileOptions("none", 1 << 20)
    partial, _, _ = write_piece(piece, folder, "t", None, options, lambda _: None)
    commit(partial)


# ---- certificates
def _make_certificates(folder: Path) -> None:
    (folder / "ca.pem").write_text("old")
    (folder / "users").mkdir()
    (folder / "users/certificate.pem").write_text("old")


def _renew_certificates(folder: Path) -> None:
    replace_files({folder / "ca.pem": "new", folder / "users/certificate.pem": "new"})


def _make_profile(folder: Path) -> None:
    with patch.dict("os.environ", XDG_CONFIG_HOME=str(folder)):
        write_profile("a", {"bootstrap.servers": "old:1"})


def _change_profile(folder: Path) -> None:
    with patch.dict("os.environ", XDG_CONFIG_HOME=str(folder)):
        write_profile("a", {"bootstrap.servers": "new:1"})


PROMISES = [
    Promise("profile that is changed", _make_profile, _change_profile, ("kafkastore/profiles/*",)),
    Promise("renewed certificates", _make_certificates, _renew_certificates, ("*.pem", "users/*.pem")),
    Promise("mark that is synced", _nothing, _sync_mark, ("mark",)),
    Promise("marks in the log directories", _nothing, _start_marks, (DIRECTORY_FILE,)),
    Promise("adopted log", _set_aside, _adopt, ("a-0*", "a-0*/*", ADOPT_FILE)),
    Promise("deleted log", _set_aside, _delete_stray, ("a-0*",)),
    Promise("configurations beside the logs", _nothing, _keep_configs, (kept_configs.FILE_NAME,)),
    Promise(
        "configurations that are written anew", _make_stale_configs, _write_configs_anew, (kept_configs.FILE_NAME,)
    ),
    Promise("exported file", _nothing, _export, ("*.parquet",)),
    Promise("backup of the store", _make_store, _back_up, ("backup*",)),
    Promise("restored store", _make_store_and_backup, _restore, (STORE, STORE + SIDECAR_SUFFIX)),
    Promise(
        "accepted loss",
        _make_damaged_store,
        _accept_loss,
        (f"{STORE}.replaced-*", STORE + SIDECAR_SUFFIX, DIRECTORY_FILE),
    ),
    Promise(
        "damaged store before anything of it is deleted",
        _make_damaged_store,
        _begin_to_accept_loss,
        (f"{STORE}.replaced-*",),
    ),
    Promise("mark of an opened store", _nothing, _open_store, (STORE + SIDECAR_SUFFIX,)),
]
