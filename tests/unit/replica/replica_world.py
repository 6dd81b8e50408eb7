"""A member of a cluster that handles its replicas over the stepped engine: real images, owners and placement, no store.

The test is the controller: it calls ``become``, ``stop`` and ``update``, or answers what ``IsrChanges`` asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from stepped import Engine
from world import broker_config

from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.interbroker.orders import NO_NUMBER, StoppedReplica
from kafkastore.log.manager import LogManager
from kafkastore.metadata.image import BrokerImage, MetadataImage, PartitionState
from kafkastore.replica.assigned import AssignedReplicas, TopicStates
from kafkastore.replica.manager import ReplicaManager

ME, OTHER, THIRD = 1, 2, 3
T_ID, NEW_ID = b"\1" * 16, b"\2" * 16
CONTROLLER_EPOCH, BROKER_EPOCH = 5, 100
NONE = ErrorCode.NONE


class Replicas:
    """One broker; see the module."""

    def __init__(self, folder: Path) -> None:
        config = broker_config(folder, log__dirs=f"{folder}/one,{folder}/two")
        self.engine = Engine(ME, "cluster", config.log_dirs, {})
        self.engine.open_log_dirs({}, {})
        self.image, self.held = MetadataImage(), MetadataImage()
        self.logs = LogManager(config, self.engine)  # type: ignore[arg-type]
        loop = asyncio.get_running_loop()
        self.manager = ReplicaManager(ME, self.image, self.held, self.engine, loop)  # type: ignore[arg-type]
        self.stored_configs: dict[str, dict[str, str]] = {}
        self.stored_counts: dict[str, tuple[bytes | None, int]] = {}
        self.is_store_away = False
        self.gate: asyncio.Event | None = None  # while it is not set, reads of the store wait
        self.assigned = AssignedReplicas(
            ME,
            self.image,
            self.held,
            self.engine,  # type: ignore[arg-type]
            self.manager,
            self.logs,
            self,
        )
        self.assigned.broker_epoch = BROKER_EPOCH

    async def load_configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        if self.gate is not None:
            await self.gate.wait()
        if self.is_store_away:
            raise KafkastoreError("the metadata store is away")
        return {name: self.stored_configs[name] for name in names if name in self.stored_configs}

    async def load_partition_count(self, name: str) -> tuple[bytes | None, int] | None:
        return self.stored_counts.get(name)

    # ---- the controller
    async def become(
        self,
        *told: TopicStates,
        controller_epoch: int = CONTROLLER_EPOCH,
        broker_epoch: int = BROKER_EPOCH,
        number: int = NO_NUMBER,
    ) -> tuple[int, dict[tuple[str, int], int]]:
        return await self.assigned.become(OTHER, controller_epoch, broker_epoch, told, number=number)

    async def stop(
        self,
        *stopped: StoppedReplica,
        controller_epoch: int = CONTROLLER_EPOCH,
        broker_epoch: int = BROKER_EPOCH,
        number: int = NO_NUMBER,
    ) -> tuple[int, dict[tuple[str, int], int]]:
        return await self.assigned.stop(controller_epoch, broker_epoch, stopped, number=number)

    async def update(
        self,
        *told: TopicStates,
        controller_epoch: int = CONTROLLER_EPOCH,
        broker_epoch: int = BROKER_EPOCH,
        brokers: Iterable[int] = (ME, OTHER),
        is_full: bool = False,
        number: int = NO_NUMBER,
    ) -> int:
        live = [BrokerImage(node, None, (("PLAINTEXT", f"host-{node}", 9092),)) for node in brokers]
        return await self.assigned.update(
            OTHER, controller_epoch, broker_epoch, live, told, is_full=is_full, number=number
        )

    def lease(self, topic: str = "t", partition: int = 0) -> tuple[int, int, int] | None:
        """(leader, leader epoch, partition epoch) of the engine's lease."""
        lease = self.engine.leases.get((topic, partition))
        return None if lease is None else lease[:3]


def state(leader: int, leader_epoch: int = 0, partition_epoch: int = 0, **fields: Any) -> PartitionState:
    replicas = fields.get("replicas", (ME, OTHER, THIRD))
    return PartitionState(leader, leader_epoch, partition_epoch, replicas, fields.get("isr", replicas))


def told(
    *states: PartitionState, name: str = "t", topic_id: bytes = T_ID, new: frozenset[int] = frozenset()
) -> TopicStates:
    """A topic with these partitions, from 0 on."""
    return TopicStates(name, topic_id, dict(enumerate(states)), new)


def on_replicas(folder: Path, test: Callable[[Replicas], Awaitable[None]]) -> None:
    """Runs a test's body on a broker that has had no request of a controller yet."""

    async def body() -> None:
        replicas = Replicas(folder)
        try:
            await test(replicas)
        finally:
            replicas.engine.close()

    asyncio.run(body())
