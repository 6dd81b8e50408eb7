"""Coordinators' appends that a test can await."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from kafkastore.replica.manager import AppendResult, ReplicaManager


async def append_records(
    replica_manager: ReplicaManager, entries: Mapping[tuple[str, int], bytes], required_acks: int, timeout_ms: int
) -> dict[tuple[str, int], AppendResult]:
    """Appends one batch to each partition and waits for the results."""
    waiting: dict[tuple[str, int], asyncio.Future[AppendResult]] = {}
    for (topic, partition), batch in entries.items():
        future = waiting[topic, partition] = asyncio.get_running_loop().create_future()
        replica_manager.append(topic, partition, batch, required_acks, timeout_ms, future.set_result)
    return {key: await future for key, future in waiting.items()}
