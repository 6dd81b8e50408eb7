"""Puts the group coordinator together for a running broker, and makes its topic when it is first asked for.

``start`` is the one call of ``server/broker.py``; it creates nothing on disk. ``__consumer_offsets`` is made by the
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

    from kafkastore.metadata.image import TopicImage
    from kafkastore.purgatory.timer import Wake
    from kafkastore.server.context import BrokerServices


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


def start(broker: BrokerServices) -> GroupCoordinator:
    """Starts the coordinator on the broker's loop; partitions that this broker leads begin to load."""
    config = GroupConfig.from_broker_config(broker.config)
    tasks: set[asyncio.Task[None]] = set()

    def start_task(coroutine: Coroutine[Any, Any, None]) -> None:
        task = broker.loop.create_task(coroutine)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    log = ReplicatedOffsetsLog(broker, config)
    coordinator = GroupCoordinator(config, LoopClock(broker.loop), log, start_task)
    coordinator.startup()
    broker.replica_manager.listen(OFFSETS_TOPIC, coordinator.on_election, coordinator.on_resignation)
    return coordinator


async def offsets_topic(broker: BrokerServices) -> TopicImage:
    """``__consumer_offsets``, made when it is missing. Raises the KafkastoreError that says why it cannot be."""
    found = broker.image.topic(OFFSETS_TOPIC)
    if found is not None:
        return found
    config: GroupConfig = broker.group_coordinator.config
    return await broker.topics.create_if_absent(
        OFFSETS_TOPIC,
        partitions=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )
