"""An internal topic as the log of a coordinator's state.

Place: coordinators append here; ``ReplicaManager`` appends to the partition. A batch is appended before
``append`` returns, so appends to one partition stand in the log, and end, in the order of the calls. Durable after
``done(0, …)``: on every in-sync replica, as ``acks=-1`` says. Never: reads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from kafkastore._core import build_batch
from kafkastore.errors import ErrorCode, error_name
from kafkastore.internal_topics import INTERNAL_TOPICS

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.replica.manager import AppendResult, ReplicaManager

logger = logging.getLogger("kafkastore.coordinator.runtime")

Record = tuple[bytes, bytes | None]
"""Key and value; a value of None makes a tombstone."""

AppendDone = Callable[[int, int], None]
"""(error code of the log, offset of the first record or -1). Called exactly once, on the loop, maybe before ``append``
returns."""

UNKNOWN_LIMIT: Final = 1 << 62


class InternalLog:
    """See the module. Runs on the loop."""

    __slots__ = ("_codec", "_config", "_image", "_now_ms", "_replica_manager", "_timeout_ms", "topic")

    def __init__(
        self,
        topic: str,
        config: BrokerConfig,
        image: MetadataImage,
        replica_manager: ReplicaManager,
        now_ms: Callable[[], int],
        timeout_ms: int,
        codec: str,
    ) -> None:
        """``now_ms``: the wall clock for the timestamps of records. ``timeout_ms``: how long an append waits for the
        in-sync replicas. ``codec``: Kafka's name of the codec, ``none`` included."""
        self.topic = topic
        self._config = config
        self._image = image
        self._replica_manager = replica_manager
        self._now_ms = now_ms
        self._timeout_ms = timeout_ms
        self._codec = codec

    def is_known(self) -> bool:
        """Whether the topic is among those that this broker knows."""
        return self._image.topic(self.topic) is not None

    def partition_count(self) -> int:
        """Among how many partitions keys are placed; while the topic does not exist, as many as it would be created
        with."""
        topic = self._image.topic(self.topic)
        if topic is None:
            return self._config.get_int(f"{INTERNAL_TOPICS[self.topic].key_prefix}.num.partitions")
        return self._image.keys_over(topic)

    def max_batch_bytes(self) -> int:
        """A batch whose keys and values have more bytes than this cannot be appended; a smaller batch may fail too.
        This is ``max.message.bytes`` of the topic; when batches are compressed the limit is not known beforehand."""
        topic = self._image.topic(self.topic)
        if topic is None or self._codec != "none":
            return UNKNOWN_LIMIT
        own = topic.configs.get("max.message.bytes")
        return int(own if own is not None else self._config.get("message.max.bytes"))

    def append(self, partition: int, records: Sequence[Record], done: AppendDone) -> None:
        """Appends one batch."""
        try:
            batch = build_batch(records, self._now_ms(), self._codec)
        except Exception:  # the caller has waiting requests, which only ``done`` answers
            logger.exception("Append to %s-%d failed", self.topic, partition)
            done(ErrorCode.UNKNOWN_SERVER_ERROR, -1)
            return
        finish = self._finish(partition, done)
        self._replica_manager.append(self.topic, partition, batch, -1, self._timeout_ms, finish)

    def await_append(self, token: int, partition: int, done: AppendDone) -> None:
        """Calls ``done`` at the end of an append that the data plane has begun in this step of the loop."""
        self._replica_manager.await_append(token, self._finish(partition, done))

    def _finish(self, partition: int, done: AppendDone) -> Callable[[AppendResult], None]:
        def finish(result: AppendResult) -> None:
            if result.error_code:
                logger.warning(
                    "Append to %s-%d failed: %s, %s",
                    self.topic,
                    partition,
                    error_name(result.error_code),
                    result.message,
                )
            done(result.error_code, result.base_offset)

        return finish
