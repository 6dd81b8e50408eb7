"""``__consumer_offsets`` on the broker's own log: ``InternalLog`` appends group records, the engine handles offsets.

Loading runs in the thread pool, several partitions at a time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, assert_never

from kafkastore._core import EngineError
from kafkastore.coordinator.group.offsets_log import (
    OffsetDeletion,
    OffsetExpiration,
    TombstoneBatch,
    TopicOffsetDeletion,
)
from kafkastore.coordinator.runtime.internal_log import InternalLog
from kafkastore.errors import KafkastoreError
from kafkastore.internal_topics import OFFSETS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkastore._core import Engine, GroupLease
    from kafkastore.config import BrokerConfig
    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.offsets_log import LoadedGroups, Removal
    from kafkastore.coordinator.runtime.internal_log import AppendDone, Record
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.replica.manager import ReplicaManager

_CODECS: Final = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}  # offsets.topic.compression.codec


class ReplicatedOffsetsLog:
    """See the module."""

    __slots__ = ("_groups", "_log")

    def __init__(
        self,
        broker_config: BrokerConfig,
        config: GroupConfig,
        image: MetadataImage,
        engine: Engine,
        replica_manager: ReplicaManager,
        now_ms: Callable[[], int],
    ) -> None:
        codec = config.offsets_topic_compression_codec
        timeout_ms = config.offsets_commit_timeout_ms
        self._log = InternalLog(
            OFFSETS_TOPIC, broker_config, image, replica_manager, now_ms, timeout_ms, _CODECS.get(codec, "none")
        )
        self._groups = engine.groups()
        self._groups.configure(config.offset_metadata_max_bytes, timeout_ms, codec)

    def partition_count(self) -> int:
        return self._log.partition_count()

    def is_known(self) -> bool:
        return self._log.is_known()

    def max_batch_bytes(self) -> int:
        return self._log.max_batch_bytes()

    def append(self, partition: int, records: Sequence[Record], done: AppendDone) -> None:
        self._log.append(partition, records, done)

    # ---- offsets

    def remove(self, partition: int, removal: Removal) -> TombstoneBatch:
        groups = self._groups
        try:
            if isinstance(removal, OffsetDeletion):
                topics = None if removal.topics is None else [(name, list(each)) for name, each in removal.topics]
                removed = groups.delete_offsets(partition, removal.group_id, topics)
            elif isinstance(removal, TopicOffsetDeletion):
                removed = groups.forget_topic(partition, removal.topic)
            elif isinstance(removal, OffsetExpiration):
                removed = groups.expire_offsets(
                    partition,
                    removal.group_id,
                    set(removal.subscribed),
                    removal.now_ms,
                    removal.retention_ms,
                    removal.since_ms,
                )
            else:
                assert_never(removal)
        except EngineError as error:
            return TombstoneBatch(None, is_kept=True, error_code=error.code)
        token = removed.token
        if token is None:
            return TombstoneBatch(None, removed.is_kept)

        def when_durable(done: AppendDone) -> None:
            self._log.await_append(token, partition, done)

        return TombstoneBatch(when_durable, removed.is_kept, removed.has_more)

    # ---- partitions

    def begin(self, partition: int) -> int:
        try:
            return self._groups.begin(partition)
        except EngineError as error:
            raise KafkastoreError(str(error), error.code) from error

    async def load(self, partition: int, number: int) -> LoadedGroups | None:
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(None, self._groups.load, partition, number)
        except EngineError as error:
            raise KafkastoreError(str(error), error.code) from error

    def lease(self, partition: int, number: int, group_id: str) -> GroupLease:
        return self._groups.lease(partition, number, group_id)

    def activate(self, partition: int, number: int) -> None:
        self._groups.activate(partition, number)

    def close(self, partition: int) -> None:
        self._groups.close(partition)

    def stop(self) -> None:
        self._groups.stop()
