"""``__consumer_offsets`` on the broker's own log: the replica manager appends (spec R3.1), the engine reads.

Durable after ``done(0, …)``: as ``acks=-1`` says, on every in-sync replica. Reads while loading run in the thread pool.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from kafkastore._core import EngineError, build_batch
from kafkastore.coordinator.group.offsets_log import OFFSETS_TOPIC
from kafkastore.errors import ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.offsets_log import AppendDone, LoadedRecord
    from kafkastore.coordinator.group.records import Record
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.replica.manager import ReplicaManager

logger = logging.getLogger("kafkastore.coordinator.group")

LOAD_BYTES: Final = 1 << 20  # per read while loading: one turn of a pool thread, some 5,000 records
UNKNOWN_LIMIT: Final = 1 << 62
_CODECS: Final = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}  # offsets.topic.compression.codec


class ReplicatedOffsetsLog:
    """``__consumer_offsets`` on this broker's own log: the replica manager appends, the engine reads."""

    __slots__ = ("broker_config", "compression", "config", "engine", "image", "now_ms", "replica_manager", "tasks")

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
        self.engine = engine
        self.replica_manager = replica_manager
        self.now_ms = now_ms
        self.compression = _CODECS.get(config.offsets_topic_compression_codec, "none")
        self.tasks: set[asyncio.Task[None]] = set()

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
        if result.error_code:
            logger.warning("Append to %s-%d failed: error %d, %s", *key, result.error_code, result.message)
        done(result.error_code, result.base_offset)

    async def load(self, partition: int) -> AsyncIterator[Sequence[LoadedRecord]]:
        engine = self.engine
        try:
            offsets = engine.partition_offsets(OFFSETS_TOPIC, partition)
            position, end = offsets.log_start_offset, offsets.log_end_offset
            while position < end:
                rows, next_position = await asyncio.get_running_loop().run_in_executor(
                    None, engine.read_records, OFFSETS_TOPIC, partition, position, LOAD_BYTES
                )
                yield [(row.offset, row.key, row.value, row.producer_id, row.control) for row in rows]
                if next_position <= position:
                    break
                position = next_position
        except EngineError as error:
            raise KafkastoreError(str(error), error.code) from error
