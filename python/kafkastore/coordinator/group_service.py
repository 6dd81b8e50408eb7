"""Assembles the group coordinator of a running broker.

``server/assembly.py`` calls only ``start``, which creates nothing on disk. ``__consumer_offsets`` is created by the
first FindCoordinator for a group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.coordinator.group.config import GroupConfig
from kafkastore.coordinator.group.replicated_log import ReplicatedOffsetsLog
from kafkastore.coordinator.group_coordinator import GroupCoordinator
from kafkastore.coordinator.runtime.clock import LoopClock
from kafkastore.coordinator.runtime.running import background
from kafkastore.internal_topics import OFFSETS_TOPIC

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.replica.manager import ReplicaManager


def start(
    broker_config: BrokerConfig,
    image: MetadataImage,
    engine: Engine,
    replica_manager: ReplicaManager,
    loop: asyncio.AbstractEventLoop,
    now_ms: Callable[[], int],
) -> GroupCoordinator:
    """Starts the coordinator on the broker's loop; partitions that this broker leads begin to load. ``now_ms`` is the
    wall clock, for the timestamps of records and the age of offsets."""
    config = GroupConfig.from_broker_config(broker_config)
    log = ReplicatedOffsetsLog(broker_config, config, image, engine, replica_manager, now_ms)
    coordinator = GroupCoordinator(config, LoopClock(loop, now_ms), log, background(loop))
    coordinator.startup()
    replica_manager.listen(OFFSETS_TOPIC, coordinator.on_election, coordinator.on_resignation)
    return coordinator
