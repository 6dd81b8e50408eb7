"""What is in log directories of Apache Kafka: whose they are, how Kafka kept its metadata, which topics they have and
in which formats. Read-only; no lock is taken."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore._core import BatchHeaders, ScanError
from kafkastore.admin.admin_client import AdminError
from kafkastore.config.broker import METADATA_FILE
from kafkastore.config.properties import parse_properties
from kafkastore.internal_topics import SHARE_STATE_TOPIC
from kafkastore.metadata.kafka_metadata import read_metadata
from kafkastore.metadata.kafka_metadata_log import DIRECTORY
from kafkastore.plain_files import open_plain
from kafkastore.scanning.topics import topics
from kafkastore.system import is_byte_locked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.metadata.kafka_metadata import KafkasMetadata
    from kafkastore.scanning.topics import Topic, TopicPartition

META: Final = "meta.properties"
CLEAN: Final = ".kafka_cleanshutdown"
LOCK: Final = ".lock"
LOCKS: Final = "/proc/locks"
REMOTE_TOPIC: Final = "__remote_log_metadata"
REMOTE_KEY: Final = "remote.storage.enable"
METADATA_TOPIC: Final = "__cluster_metadata"
KRAFT, ZOOKEEPER = "KRaft", "ZooKeeper"


class Meta(NamedTuple):
    """What ``meta.properties`` of a directory says; None where it does not."""

    version: str
    cluster_id: str | None
    node_id: str | None
    directory_id: str | None


class Directory(NamedTuple):
    """Log directories of one broker, ``metas`` in their order, None for one that has none. ``formats`` and ``codecs``
    are those of the first and the last segment of each partition: how many batches. ``was_served_here``: a broker of
    ours has its metadata there."""

    log_dirs: list[str]
    metas: list[Meta | None]
    mode: str
    metadata: KafkasMetadata
    topics: list[Topic]
    formats: Counter[str]
    codecs: Counter[str]
    is_running: bool
    is_clean: bool
    was_served_here: bool

    @property
    def known(self) -> list[Meta]:
        return [one for one in self.metas if one is not None]

    @property
    def own_topics(self) -> list[Topic]:
        """Those of applications."""
        return [one for one in self.topics if not one.is_internal and not one.name.startswith("__")]

    @property
    def tiered(self) -> list[str]:
        """Topics of which records are in remote storage."""
        configs = self.metadata.topic_configs()
        return sorted(name for name, found in configs.items() if found.get(REMOTE_KEY) == "true")

    @property
    def has_remote_metadata(self) -> bool:
        return any(one.name == REMOTE_TOPIC for one in self.topics)

    @property
    def has_share_groups(self) -> bool:
        return any(one.name == SHARE_STATE_TOPIC and one.size_bytes for one in self.topics)


def read_directory(log_dirs: Sequence[str], metadata_dirs: Sequence[str] = ()) -> Directory:
    """Raises AdminError of one sentence."""
    try:
        found = [one for one in topics(log_dirs) if one.name != METADATA_TOPIC]
    except (OSError, ValueError) as error:
        raise AdminError(str(error)) from None
    places = list(dict.fromkeys([*metadata_dirs, *log_dirs]))
    is_kraft = any(os.path.isdir(os.path.join(place, DIRECTORY)) for place in places)
    metas = [_meta(one) for one in log_dirs]
    formats, codecs = _sampled(found)
    return Directory(
        list(log_dirs),
        metas,
        KRAFT if is_kraft or any(one is not None and one.version == "1" for one in metas) else ZOOKEEPER,
        read_metadata(places),
        found,
        formats,
        codecs,
        any(map(_is_locked, log_dirs)),
        all(os.path.exists(os.path.join(one, CLEAN)) for one in log_dirs),
        any(os.path.exists(os.path.join(one, METADATA_FILE)) for one in log_dirs),
    )


def _meta(log_dir: str) -> Meta | None:
    try:
        with open(os.path.join(log_dir, META), encoding="utf-8", opener=open_plain) as file:
            found = parse_properties(file.read())
    except (OSError, ValueError):
        return None
    node = found.get("node.id", found.get("broker.id"))
    return Meta(found.get("version", "0"), found.get("cluster.id"), node, found.get("directory.id"))


def _is_locked(log_dir: str) -> bool:
    """Whether a process holds the lock of the directory; taking it could disturb a broker that starts."""
    if sys.platform == "darwin":
        with suppress(OSError), open(os.path.join(log_dir, LOCK), "rb", opener=open_plain) as file:
            return is_byte_locked(file.fileno(), 0)
        return False
    try:
        found = os.stat(os.path.join(log_dir, LOCK))
        with open(LOCKS, encoding="ascii") as file:
            held = [line.split()[5] for line in file if line.split()[1] == "POSIX"]
    except (OSError, IndexError):
        return False
    return f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}" in held


def _sampled(found: Sequence[Topic]) -> tuple[Counter[str], Counter[str]]:
    """What cannot be read is left out: it is for who verifies the files."""
    formats: Counter[str] = Counter()
    codecs: Counter[str] = Counter()
    for path in (path for topic in found for one in topic.partitions for path in _ends(one)):
        try:
            batches = [one for one in BatchHeaders(path).next_chunk() if not one.is_control]
        except (OSError, ScanError):
            continue
        formats.update(f"v{one.magic}" for one in batches)
        codecs.update(one.codec for one in batches)
    return formats, codecs


def _ends(partition: TopicPartition) -> list[str]:
    """The first and the last segment."""
    with os.scandir(partition.path) as entries:
        logs = sorted(one.path for one in entries if one.name.endswith(".log"))
    return list(dict.fromkeys([*logs[:1], *logs[-1:]]))
