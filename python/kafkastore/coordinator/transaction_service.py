"""Assembles the transaction coordinator of a running broker.

``server/assembly.py`` calls only ``start``, which creates nothing on disk. ``__transaction_state`` is created by the
first FindCoordinator for a transactional id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.coordinator.runtime.running import background
from kafkastore.coordinator.transaction.config import TransactionConfig
from kafkastore.coordinator.transaction_coordinator import TransactionCoordinator
from kafkastore.internal_topics import TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.replica.manager import ReplicaManager


def start(
    broker_config: BrokerConfig,
    engine: Engine,
    replica_manager: ReplicaManager,
    loop: asyncio.AbstractEventLoop,
    now_ms: Callable[[], int],
) -> TransactionCoordinator:
    """Starts the coordinator on the broker's loop; partitions that this broker leads begin to load. ``now_ms`` is the
    wall clock."""
    config = TransactionConfig.from_broker_config(broker_config)
    coordinator = TransactionCoordinator(config, engine.transactions(), now_ms, background(loop))
    coordinator.startup()
    replica_manager.listen(TRANSACTION_STATE_TOPIC, coordinator.on_election, coordinator.on_resignation)
    return coordinator
