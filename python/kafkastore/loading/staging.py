"""The directories of a load: one for each partition, in the log directory of the partition's leader.

The name is that of ``rust/storage/topic_partition.rs``: it ends with ``-delete``, so the start of a broker removes a
directory that was left. Nothing else of a log directory is touched.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAX_FILE_NAME = 255
META_PROPERTIES = "meta.properties"


def dir_name(topic: str, partition: int, producer_id: int, producer_epoch: int) -> str:
    tail = f"-{partition}.load-{producer_id}-{producer_epoch}-delete"
    return topic[: MAX_FILE_NAME - len(tail)] + tail


def identity_of(log_dir: Path) -> tuple[str | None, str | None]:
    """(cluster id, node id) of a log directory; (None, None) when there is none at this path on this machine."""
    found: dict[str, str] = {}
    try:
        text = (log_dir / META_PROPERTIES).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None, None
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found[key.strip()] = value.strip()
    return found.get("cluster.id"), found.get("node.id", found.get("broker.id"))


def remove(directory: Path) -> None:
    """Removes a load's directory, if it exists. What cannot be removed now goes with the broker's next start."""
    shutil.rmtree(directory, ignore_errors=True)


def move(source: Path, target: Path) -> bool:
    """Takes a load's directory to the log directory of another leader; False when that is on another file system."""
    try:
        os.rename(source, target)
    except OSError:
        return False
    return True


def remove_earlier(log_dir: Path, topic: str, partition: int, producer_id: int, producer_epoch: int) -> None:
    """Removes the directories of earlier attempts of the same load, which have lower producer epochs."""
    for epoch in range(producer_epoch):
        remove(log_dir / dir_name(topic, partition, producer_id, epoch))
