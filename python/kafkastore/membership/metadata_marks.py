"""Whether the metadata store is the one that the log directories were used with, and not older. This is judged at a
start, before anything in the store is believed. While the broker runs, the mark of the store is written to every log
directory (``metadata/marks.py``).

A  A directory has the mark of a store, and there is no store, or another one: the start is refused.
B  A directory has a later mark than the store: the start is refused.
C  The store is damaged inside (``MetadataStore.find_damage``): the start is refused.
D  A directory has no mark: it is new, or Apache Kafka's, or its loss was accepted (``kafkastore metadata
   accept-loss``). It gets a mark. Topics in it that the store does not know lose no records by a default
   (``reconcile.py``).

A store in a file has a mark of its own beside it, which is judged when the file is opened (``sqlite_check.py``). This
module repairs nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from kafkastore.errors import KafkastoreError, StartupError
from kafkastore.metadata.marks import DIRECTORY_FILE, MarkFile, StoreMark, read_mark
from kafkastore.metadata.sqlite_check import WAYS_OUT, check_mark, refuse_no_file
from kafkastore.metadata.store import SessionExpiredError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.config import BrokerConfig
    from kafkastore.log.manager import LogManager
    from kafkastore.metadata.store import MetadataStore

logger = logging.getLogger("kafkastore.membership.metadata_marks")

INTERVAL_S: Final = 2.0
"""How far the mark in a log directory may be behind the store."""


def refuse_missing_store(config: BrokerConfig) -> None:
    """Case A of a store in a file, before opening it would create a new file. Raises StartupError."""
    path = config.metadata_path
    if config.get("zookeeper.connect") is not None or _has_content(path):
        return
    refuse_no_file(path, config.metadata_setting)
    for directory in config.log_dirs:
        found = read_mark(os.path.join(directory, DIRECTORY_FILE))
        if found.mark is not None or found.is_damaged:
            what = "is empty" if os.path.exists(path) else "is not there"
            raise StartupError(
                f"{config.metadata_setting}: {path} {what}, but log.dirs={directory} was used with it; {WAYS_OUT}"
            )


class MetadataMarks:
    """See the module. Runs on the loop."""

    def __init__(self, config: BrokerConfig, store: MetadataStore) -> None:
        self._config = config
        self._store = store
        self._log_manager: LogManager | None = None
        self._taken: StoreMark | None = None
        self._failing: set[str] = set()
        self._checking: asyncio.Task[list[str]] | None = None
        self._task: asyncio.Task[None] | None = None

    # ---- judging
    async def judge(self) -> None:
        """Cases A and B. Called before the store has a session, since a session may change the store, and again with a
        session, since not every store can be read without one. Raises StartupError."""
        try:
            found = await self._store.read_mark()
        except SessionExpiredError:
            return
        for directory in self._config.log_dirs:
            path = os.path.join(directory, DIRECTORY_FILE)
            seen = read_mark(path)
            if seen.is_damaged:
                logger.warning("%s is damaged: how far the metadata store had come may be known less well", path)
            if seen.mark is not None:
                self._check(found, seen.mark, path)

    async def check_again(self) -> None:
        """Cases A and B again, when a running broker has a new session. Raises StartupError."""
        if self._taken is not None:
            self._check(await self._store.read_mark(), self._taken, "this broker")

    def _check(self, found: StoreMark | None, seen: StoreMark, where: str) -> None:
        if found is None:
            raise StartupError(
                f"{self._name()} is new, but {where} has seen the metadata store {seen.store}; {WAYS_OUT}"
            )
        check_mark(found, seen, self._name(), where)

    def _name(self) -> str:
        servers = self._config.get("zookeeper.connect")
        if servers is not None:
            return f"zookeeper.connect={servers}: the metadata there"
        return f"{self._config.metadata_setting}: {self._config.metadata_path}"

    def begin_check(self) -> None:
        """Begins case C while the log directories are opened and no other thread reads the store: the check reads the
        whole store, and two threads that do so at once take the interpreter from each other at every row."""
        self._checking = asyncio.get_running_loop().create_task(self._store.find_damage())

    async def finish_check(self) -> None:
        """Waits for case C, and begins it when :meth:`begin_check` was not called. Raises StartupError."""
        if self._checking is None:
            self.begin_check()
        assert self._checking is not None
        damage = await self._checking
        if damage:
            raise StartupError(f"{self._name()} is damaged ({'; '.join(damage)}); {WAYS_OUT}")

    # ---- taking down
    async def start(self, log_manager: LogManager) -> None:
        """Writes the mark to the log directories now, and again whenever it has changed."""
        self._log_manager = log_manager
        await self._take_down(is_synced=True)
        self._task = asyncio.get_running_loop().create_task(self._keep_taking_down())

    async def stop(self) -> None:
        """Writes the last mark and ends; called before the store is closed, perhaps without :meth:`start`."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            with suppress(KafkastoreError):  # the store is unavailable: the other brokers may go on without this one
                await self._take_down(is_synced=True)
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.wait([self._checking])

    async def _keep_taking_down(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_S)
            try:
                await self._take_down()
            except KafkastoreError:  # the store is unavailable; the calls that need it report that
                continue
            except Exception:  # a bug here must not end the broker
                logger.exception("The mark of the metadata store could not be taken down")

    async def _take_down(self, *, is_synced: bool = False) -> None:
        assert self._log_manager is not None
        mark = await self._store.mark()
        if mark != self._taken or is_synced:
            directories = list(self._log_manager.online)
            await asyncio.get_running_loop().run_in_executor(None, self._write, directories, mark, is_synced)
            self._taken = mark

    def _write(self, directories: Sequence[str], mark: StoreMark, is_synced: bool) -> None:
        """Blocking. A directory that cannot be written to is logged once: the next start only checks less."""
        for directory in directories:
            try:
                with closing(MarkFile(os.path.join(directory, DIRECTORY_FILE))) as file:
                    file.write(mark)
                    if is_synced:
                        file.sync()
            except OSError as error:
                if directory not in self._failing and not isinstance(error, FileNotFoundError):
                    logger.warning("%s in %s cannot be written: %s", DIRECTORY_FILE, directory, error.strerror)
                self._failing.add(directory)
            else:
                self._failing.discard(directory)


def _has_content(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False
    except (OSError, ValueError):  # opening the store reports the file and the reason
        return True
