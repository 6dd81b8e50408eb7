"""Which log directories this broker has used, so that a directory whose disk is not mounted is not taken for a new one.

A directory in use has ``meta.properties``. Without it, a directory is *missing* in two cases:

A  This broker is new in the metadata store and another log directory has the file. This is Kafka's own rule: the store
   may be on the disk that is missing. The start is refused, before a store is created in a file.
B  The store knows the directory from an earlier start: ``/kafkastore/log_dirs/N`` lists, as JSON, the paths that broker
   N has opened. The directory is offline, like one whose disk fails, and nothing is written in it.

Any other directory is new. A replaced disk becomes a new directory by an empty ``meta.properties``, which the engine
completes. Paths are never forgotten: a directory that has left ``log.dirs`` may come back.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.errors import StartupError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.store import MetadataStore

_REASON = (
    "no meta.properties in it; mount its disk, or create an empty meta.properties there to use it as a new directory"
)


def refuse_missing(config: BrokerConfig) -> None:
    """Case A where the metadata store is a file; runs before the store is opened. Raises StartupError."""
    if config.get("zookeeper.connect") is None and not os.path.exists(config.metadata_path):
        _refuse_missing(config)


def _refuse_missing(config: BrokerConfig) -> None:
    missing = [directory for directory in config.log_dirs if not _is_in_use(directory)]
    if missing and len(missing) < len(config.log_dirs):
        raise StartupError(f"log.dirs={missing[0]} is beside directories that are in use, but there is {_REASON}")


async def missing(store: MetadataStore, config: BrokerConfig) -> dict[str, str]:
    """Case B: directory -> why it is offline. Case A where the metadata store is ZooKeeper: raises StartupError."""
    known = await _recorded_dirs(store, config)
    if not known and config.get("zookeeper.connect") is not None:
        _refuse_missing(config)
    return {
        directory: f"it was in use before, but there is {_REASON}"
        for directory in config.log_dirs
        if directory in known and not _is_in_use(directory)
    }


async def remember(store: MetadataStore, config: BrokerConfig, opened: Iterable[str]) -> None:
    """Adds the directories that have been opened; writes nothing when all are known."""
    known = await _recorded_dirs(store, config)
    if not known.issuperset(opened):
        content = json.dumps(sorted(known.union(opened))).encode()
        if await store.exists(_path(config)) is None:
            await store.create(_path(config), content)
        else:
            await store.set(_path(config), content)


async def _recorded_dirs(store: MetadataStore, config: BrokerConfig) -> set[str]:
    if await store.exists(_path(config)) is None:
        return set()
    data = (await store.get(_path(config))).data
    with suppress(ValueError, RecursionError):
        found = json.loads(data)
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            return set(found)
    raise StartupError(
        f"{_path(config)} of the metadata store is invalid, so nobody can say which of log.dirs were in use:"
        f" {data[:80]!r}; write the list of those that were there, as JSON"
    )


def _path(config: BrokerConfig) -> str:
    return f"/kafkastore/log_dirs/{config.node_id}"


def _is_in_use(directory: str) -> bool:
    try:
        os.lstat(os.path.join(directory, "meta.properties"))  # a link that leads nowhere is named by the engine
    except FileNotFoundError:
        return False
    except (OSError, ValueError):  # the store, or the engine, names the directory and the reason
        return True
    return True
