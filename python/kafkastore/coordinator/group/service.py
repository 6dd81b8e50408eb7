"""Puts the group coordinator together for a running broker, and makes its topic when it is first asked for.

``start`` is the one call of ``server/assembly.py``; it creates nothing on disk. ``__consumer_offsets`` is made by the
first FindCoordinator for a group.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kafkastore.coordinator.group.config import GroupConfig
from kafkastore.coordinator.group.coordinator import GroupCoordinator
from kafkastore.coordinator.group.offsets_log import OFFSETS_TOPIC
from kafkastore.coordinator.group.replicated_log import ReplicatedOffsetsLog

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.image import MetadataImage, TopicImage
    from kafkastore.purgatory.timer import Wake
    from kafkastore.replica.manager import ReplicaManager
    from kafkastore.topic.topics import Topics


class LoopClock:
    """The clock of a running broker."""

    __slots__ = ("loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return int(self.loop.time() * 1000)

    def call_at(self, deadline_ms: int, callback: Callable[[], None]) -> Wake:
        # half a millisecond later, so that ``monotonic_ms`` has reached the deadline whatever the rounding
        return self.loop.call_at(deadline_ms / 1000 + 0.0005, callback)


def start(
    broker_config: BrokerConfig,
    image: MetadataImage,
    engine: Engine,
    replica_manager: ReplicaManager,
    loop: asyncio.AbstractEventLoop,
    now_ms: Callable[[], int],
) -> GroupCoordinator:
    """Starts the coordinator on the broker's loop; partitions that this broker leads begin to load. ``now_ms`` is the wall clock, which
    records are stamped with."""
    config = GroupConfig.from_broker_config(broker_config)
    tasks: set[asyncio.Task[None]] = set()

    def start_task(coroutine: Coroutine[Any, Any, None]) -> None:
        task = loop.create_task(coroutine)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    log = ReplicatedOffsetsLog(broker_config, config, image, engine, replica_manager, now_ms)
    coordinator = GroupCoordinator(config, LoopClock(loop), log, start_task)
    coordinator.startup()
    replica_manager.listen(OFFSETS_TOPIC, coordinator.on_election, coordinator.on_resignation)
    return coordinator


async def make_offsets_topic(config: GroupConfig, topics: Topics) -> TopicImage:
    """``__consumer_offsets``, made when it is missing. Raises the KafkastoreError that says why it cannot be."""
    return await topics.create_if_absent(
        OFFSETS_TOPIC,
        partitions=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )
