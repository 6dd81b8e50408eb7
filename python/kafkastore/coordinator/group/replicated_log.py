"""``__consumer_offsets`` on the broker's own log: the replica manager appends (spec R3.1), the engine does the rest.

Durable after ``done(0, …)``: as ``acks=-1`` says, on every in-sync replica. Loading runs in the thread pool, several partitions at
a time.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, assert_never

from kafkastore._core import EngineError, build_batch
from kafkastore.coordinator.group.offsets_log import (
    OFFSETS_TOPIC,
    AskedRemoval,
    ExpiredRemoval,
    Removed,
    TopicRemoval,
)
from kafkastore.errors import ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkastore._core import Engine, GroupLease
    from kafkastore.config import BrokerConfig
    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.offsets_log import AppendDone, LoadedGroups, Removal
    from kafkastore.coordinator.group.records import Record
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.replica.manager import AppendResult, ReplicaManager

logger = logging.getLogger("kafkastore.coordinator.group")

UNKNOWN_LIMIT: Final = 1 << 62
_CODECS: Final = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}  # offsets.topic.compression.codec


class ReplicatedOffsetsLog:
    """See the module."""

    __slots__ = ("broker_config", "compression", "config", "groups", "image", "now_ms", "replica_manager", "tasks")

    def __init__(
        self,
        broker_config: BrokerConfig,
        config: GroupConfig,
        image: MetadataImage,
        engine: Engine,
        replica_manager: ReplicaManager,
        now_ms: Callable[[], int],
    ) -> None:
        self.broker_config = broker_config
        self.config = config
        self.image = image
        self.replica_manager = replica_manager
        self.now_ms = now_ms
        self.compression = _CODECS.get(config.offsets_topic_compression_codec, "none")
        self.tasks: set[asyncio.Task[None]] = set()
        self.groups = engine.groups()
        self.groups.configure(
            config.offset_metadata_max_bytes,
            config.offsets_commit_timeout_ms,
            config.offsets_topic_compression_codec,
        )

    def partition_count(self) -> int:
        topic = self.image.topic(OFFSETS_TOPIC)
        return self.config.offsets_topic_num_partitions if topic is None else len(topic.partitions)

    def max_batch_bytes(self) -> int:
        """``max.message.bytes`` of the topic; unknown beforehand when batches are compressed."""
        topic = self.image.topic(OFFSETS_TOPIC)
        if topic is None or self.compression != "none":
            return UNKNOWN_LIMIT
        own = topic.configs.get("max.message.bytes")
        return int(own if own is not None else self.broker_config.get("message.max.bytes"))

    # ---- records

    def append(self, partition: int, records: Sequence[Record], done: AppendDone) -> None:
        # tasks begin in the order they are made, so that appends reach the engine in the order of the calls
        task = asyncio.get_running_loop().create_task(self._append(partition, records, done))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _append(self, partition: int, records: Sequence[Record], done: AppendDone) -> None:
        key = (OFFSETS_TOPIC, partition)
        try:
            batch = build_batch(records, self.now_ms(), self.compression)
            results = await self.replica_manager.append_records({key: batch}, -1, self.config.offsets_commit_timeout_ms)
            result = results[key]
        except Exception:  # whoever waits for the append would wait for ever
            logger.exception("Append to %s-%d failed", *key)
            done(ErrorCode.UNKNOWN_SERVER_ERROR, -1)
            return
        self._finish(partition, result, done)

    def _finish(self, partition: int, result: AppendResult, done: AppendDone) -> None:
        if result.error_code:
            logger.warning(
                "Append to %s-%d failed: error %d, %s", OFFSETS_TOPIC, partition, result.error_code, result.message
            )
        done(result.error_code, result.base_offset)

    # ---- offsets

    def remove(self, partition: int, removal: Removal) -> Removed:
        is_kept = has_more = False
        try:
            if isinstance(removal, AskedRemoval):
                topics = None if removal.topics is None else [(name, list(each)) for name, each in removal.topics]
                token, has_more = self.groups.delete_offsets(partition, removal.group_id, topics)
            elif isinstance(removal, TopicRemoval):
                token, has_more = self.groups.forget_topic(partition, removal.topic)
            elif isinstance(removal, ExpiredRemoval):
                token, has_more, is_kept = self.groups.expire_offsets(
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
            return Removed(None, is_kept=True, error_code=error.code)
        if not token:
            return Removed(None, is_kept)

        def when_durable(done: AppendDone) -> None:
            self.replica_manager.await_append(token, lambda result: self._finish(partition, result, done))

        return Removed(when_durable, is_kept, has_more)

    # ---- partitions

    def begin(self, partition: int) -> int:
        try:
            return self.groups.begin(partition)
        except EngineError as error:
            raise KafkastoreError(str(error), error.code) from error

    async def load(self, partition: int, number: int) -> LoadedGroups | None:
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(None, self.groups.load, partition, number)
        except EngineError as error:
            raise KafkastoreError(str(error), error.code) from error

    def lease(self, partition: int, number: int, group_id: str) -> GroupLease:
        return self.groups.lease(partition, number, group_id)

    def activate(self, partition: int, number: int) -> None:
        self.groups.activate(partition, number)

    def close(self, partition: int) -> None:
        self.groups.close(partition)

    def stop(self) -> None:
        self.groups.stop()
