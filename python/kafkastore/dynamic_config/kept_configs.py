"""The topics' own configurations, kept in each log directory beside their logs, so that they survive the loss of the
metadata store.

    file = line*                  ``kafkastore-topic-configs``; Apache Kafka leaves it alone
    line = checksum " " JSON "\\n"  the last line of a topic counts

A line has its version, the topic, its id, its configuration and the mark (``metadata/marks.py``) of the store when the
line was written; by the mark a start knows whether a store with another configuration is older. A topic that never had
a configuration of its own has no line. A line is added, and survives the end of the process, before a log of a new
topic is made and before a change of configuration is answered; it is synced a little later, together with other lines.
When a line could not be added, as on a full disk, the whole file is written anew, again and again until that succeeds.
A start writes the file anew when more than half of its lines are stale. A file that is damaged, has a line of a version
that is not known, or cannot be read is logged and does not count.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.metadata.marks import StoreMark
from kafkastore.metadata.nodes import topic_id_text
from kafkastore.plain_files import open_plain, sync_path
from kafkastore.system import sync_descriptor
from kafkastore.topic_names import can_be_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.log.manager import LogManager
    from kafkastore.metadata.image import TopicImage
    from kafkastore.metadata.store import MetadataStore

logger = logging.getLogger("kafkastore.dynamic_config.kept_configs")

FILE_NAME: Final = "kafkastore-topic-configs"

VERSION: Final = 1

SYNC_DELAY_S: Final = 0.5

RETRY_S: Final = 5.0
"""Between two attempts to write a file anew that lacks a line."""

SPARE_LINES: Final = 100
"""A file may have this many stale lines before it is written anew."""


class KeptConfig(NamedTuple):
    topic_id: str
    configs: dict[str, str]
    mark: StoreMark


class KeptConfigs:
    """See the module. Runs on the loop, except the methods that say "Blocking"."""

    def __init__(self, log_manager: LogManager, store: MetadataStore) -> None:
        self._log_manager = log_manager
        self._store = store
        self._kept: dict[str, dict[str, KeptConfig]] = {}  # directory -> topic -> what its file says
        self._lines: dict[str, int] = {}
        self._turn = asyncio.Lock()
        self._syncing: asyncio.Task[None] | None = None
        self._unsynced: set[str] = set()
        self._behind: set[str] = set()  # directories whose file lacks a line, or has half of one
        self._failing: set[str] = set()

    async def load(self) -> None:
        """Reads the files of the online directories. Called once the directories are open."""
        loop = asyncio.get_running_loop()
        for directory in self._log_manager.online:
            self._kept[directory], self._lines[directory] = await loop.run_in_executor(None, _read, directory)

    def find(self, topic: str, topic_id: bytes | None) -> KeptConfig | None:
        """The newest configuration of a topic in any directory. None for a topic that has no id yet."""
        if topic_id is None:
            return None
        wanted = topic_id_text(topic_id)
        found = [kept[topic] for kept in self._kept.values() if topic in kept and kept[topic].topic_id == wanted]
        return max(found, key=lambda one: one.mark.generation, default=None)

    async def keep(self, topics: Iterable[TopicImage]) -> None:
        """Adds lines for topics that have logs here and whose configuration differs from the kept one. A directory that
        cannot be written to is logged, once."""
        async with self._turn:
            changed = self._changed(topics)
            if not changed:
                return
            mark = await self._store.stamp()
            content: dict[str, list[bytes]] = {}
            for directory, topic in changed:
                kept = KeptConfig(topic_id_text(topic.topic_id), dict(topic.configs), mark)
                self._kept.setdefault(directory, {})[topic.name] = kept
                self._lines[directory] = self._lines.get(directory, 0) + 1
                content.setdefault(directory, []).append(_line(topic.name, kept))
            await asyncio.get_running_loop().run_in_executor(None, self._append, content)
        if self._syncing is None:
            self._syncing = asyncio.get_running_loop().create_task(self._sync_later())

    async def tidy(self, topics: Mapping[str, TopicImage]) -> None:
        """Writes files anew that have many stale lines; ``topics`` are all topics that exist."""
        ids = {name: topic_id_text(topic.topic_id) for name, topic in topics.items()}
        for directory, kept in self._kept.items():
            current = {name: one for name, one in kept.items() if ids.get(name) == one.topic_id}
            if self._lines.get(directory, 0) > 2 * len(current) + SPARE_LINES and directory in self._log_manager.online:
                await asyncio.get_running_loop().run_in_executor(None, self._replace, directory, current)

    async def stop(self) -> None:
        """Syncs the files: all lines that were added are durable when this returns."""
        if self._syncing is not None:
            self._syncing.cancel()
            await asyncio.wait([self._syncing])
        await asyncio.get_running_loop().run_in_executor(None, self._sync)

    # ---- inside
    def _changed(self, topics: Iterable[TopicImage]) -> list[tuple[str, TopicImage]]:
        found = []
        for topic in topics:
            for directory in self._log_manager.directories_of(topic.name):
                kept = self._kept.get(directory, {}).get(topic.name)
                if kept is None and not topic.configs:
                    continue
                is_known = kept is not None and kept.topic_id == topic_id_text(topic.topic_id)
                before = kept.configs if is_known and kept is not None else {}
                if before != topic.configs and directory in self._log_manager.online:
                    found.append((directory, topic))
        return found

    async def _sync_later(self) -> None:
        await asyncio.sleep(SYNC_DELAY_S)
        while self._behind:
            await self._catch_up()
            await asyncio.get_running_loop().run_in_executor(None, self._sync)
            if self._behind:
                await asyncio.sleep(RETRY_S)
        self._syncing = None
        await asyncio.get_running_loop().run_in_executor(None, self._sync)

    async def _catch_up(self) -> None:
        """Writes the files anew that lack a line. A line may be a topic's newest for years, and without it an older
        line would count."""
        async with self._turn:
            for directory in list(self._behind):
                if directory in self._log_manager.online:
                    kept = dict(self._kept.get(directory, {}))
                    await asyncio.get_running_loop().run_in_executor(None, self._replace, directory, kept)
                else:
                    self._behind.discard(directory)

    def _append(self, content: Mapping[str, list[bytes]]) -> None:
        """Blocking."""
        for directory, lines in content.items():
            path = os.path.join(directory, FILE_NAME)
            try:
                with open(path, "ab", opener=open_plain) as file:
                    file.write(b"".join(lines))
                self._unsynced.add(directory)
            except OSError as error:
                self._behind.add(directory)
                self._report(directory, error)

    def _sync(self) -> None:
        """Blocking."""
        while self._unsynced:
            directory = self._unsynced.pop()
            try:
                sync_path(os.path.join(directory, FILE_NAME))
                sync_path(directory)
            except OSError as error:
                self._report(directory, error)

    def _replace(self, directory: str, kept: dict[str, KeptConfig]) -> None:
        """Blocking."""
        path = os.path.join(directory, FILE_NAME)
        try:
            with open(path + ".tmp", "wb", opener=open_plain) as file:
                file.write(b"".join(_line(name, one) for name, one in kept.items()))
                file.flush()
                sync_descriptor(file.fileno())
            os.replace(path + ".tmp", path)
            self._unsynced.add(directory)
            self._kept[directory], self._lines[directory] = kept, len(kept)
            self._behind.discard(directory)
            self._failing.discard(directory)
        except OSError as error:
            self._report(directory, error)

    def _report(self, directory: str, error: OSError) -> None:
        if directory not in self._failing and not isinstance(error, FileNotFoundError):
            logger.warning("The configurations of topics cannot be kept in %s: %s", directory, error.strerror)
        self._failing.add(directory)


def _line(topic: str, kept: KeptConfig) -> bytes:
    store, generation = kept.mark
    content: dict[str, object] = {"version": VERSION, "topic": topic, "id": kept.topic_id, "config": kept.configs}
    content |= {"store": store, "generation": generation}
    text = json.dumps(content, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _read(directory: str) -> tuple[dict[str, KeptConfig], int]:
    """What the file says, and how many lines it has. Blocking."""
    path = os.path.join(directory, FILE_NAME)
    try:
        with open(path, "rb", opener=open_plain) as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return {}, 0
    except OSError as error:
        logger.warning("%s cannot be read: %s", path, error.strerror)
        return {}, 0
    found: dict[str, KeptConfig] = {}
    damaged = 0
    for line in lines:
        if not line:
            continue
        decoded = _decode(line)
        if decoded is None:
            damaged += 1
        else:
            found[decoded[0]] = decoded[1]
    if damaged or lines[-1]:
        # the damaged line may have been the newest line of any topic
        logger.warning("%s is damaged in %d lines: the configurations in it do not count", path, max(damaged, 1))
        return {}, SPARE_LINES + len(lines)
    return found, len(lines) - 1


def _decode(line: bytes) -> tuple[str, KeptConfig] | None:
    checksum, _, text = line.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        content: dict[str, Any] = json.loads(text)
        name, configs = content["topic"], content["config"]
        if content["version"] != VERSION or not can_be_topic(name) or not isinstance(configs, dict):
            return None
        mark = StoreMark(str(content["store"]), int(content["generation"]))
        return name, KeptConfig(str(content["id"]), {str(key): str(value) for key, value in configs.items()}, mark)
    except (ValueError, KeyError, TypeError):
        return None
