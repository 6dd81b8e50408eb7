"""Carries out a plan: begins the moves, and reports their progress until the cluster has done them.

The cluster keeps the moves under way, not this module: a command that was killed can be run again, finds the partitions
that move, and plans the rest anew.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.admin.admin_client import AdminError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from kafkastore.admin.cluster_client import ClusterClient, ClusterView

    Key = tuple[str, int]

POLL_S = 0.5
IDLE_POLLS = 20
"""After this many polls in which no partition moves, partitions that are not at their targets are given up."""

PARTITIONS_AT_ONCE = 500
"""The most partitions in one AlterPartitionReassignments request."""


class MoveProgress(NamedTuple):
    """The progress of a plan; the bytes are those of the replicas that are copied."""

    moved_bytes: int
    total_bytes: int
    left: int
    """Partitions that are not at their targets yet."""
    waits_for: tuple[int, ...]
    """Brokers that are to get replicas and are not alive."""


class Mover:
    """See the module. ``before`` is the cluster when the plan was made; ``targets`` are the replicas of the partitions
    that the plan changes."""

    def __init__(self, client: ClusterClient, before: ClusterView, targets: Mapping[Key, Sequence[int]]) -> None:
        self.client = client
        moving = {key: one.target for key, one in before.partitions.items() if one.is_moving}
        self._pending = {key: tuple(target) for key, target in targets.items() if moving.get(key) != tuple(target)}
        self.targets = {**moving, **{key: tuple(target) for key, target in targets.items()}}
        self._sizes = before.sizes()
        self.met = set(before.brokers)
        """The brokers that were alive at some time; those not alive in ``before`` were passed to ``on_met``."""
        self.added: dict[Key, set[int]] = {}
        """The brokers that get a replica of each partition."""
        for key, target in self.targets.items():
            current = before.partitions[key]
            self.added[key] = set(target) - (set(current.replicas) - set(current.adding))

    @property
    def total_bytes(self) -> int:
        return sum(self._sizes.get(key, 0) * len(added) for key, added in self.added.items())

    async def run(
        self, report: Callable[[MoveProgress], None], on_met: Callable[[int], Awaitable[None]] | None = None
    ) -> None:
        """Returns when every partition is at its target. Raises AdminError when a move was refused, or when no
        partition moves any more; moves that have begun go on. ``on_met`` is called with each broker that was not alive
        before, and again at the next poll when the broker could not be reached (AdminError)."""
        idle_polls = 0
        while True:
            await self._begin()
            view = await self.client.view()
            await self._meet(view, on_met)
            progress = self.progress(view)
            report(progress)
            if not progress.left and not self._pending:
                return
            is_idle = not self._pending and not any(one.is_moving for one in view.partitions.values())
            idle_polls = idle_polls + 1 if is_idle else 0
            if idle_polls > IDLE_POLLS:
                raise AdminError(
                    f"{progress.left} partition(s) do not move any more: somebody cancelled or replaced that"
                )
            await asyncio.sleep(POLL_S)

    async def _meet(self, view: ClusterView, on_met: Callable[[int], Awaitable[None]] | None) -> None:
        for node in view.brokers.keys() - self.met:
            with suppress(AdminError):
                if on_met is not None:
                    await on_met(node)
                self.met.add(node)

    def progress(self, view: ClusterView) -> MoveProgress:
        moved, left, waits = 0, 0, set()
        for key, target in self.targets.items():
            now = view.partitions.get(key)
            if now is None:  # deleted meanwhile
                moved += self._sizes.get(key, 0) * len(self.added[key])
                continue
            is_done = not now.is_moving and now.replicas == target
            left += not is_done
            for node in self.added[key]:
                size = self._sizes.get(key, 0)
                is_there = is_done or (node in now.isr and node in now.replicas)
                moved += size if is_there else min(view.held.get(node, {}).get(key, 0), size)
                if not is_done and node not in view.brokers:
                    waits.add(node)
        return MoveProgress(moved, self.total_bytes, left, tuple(sorted(waits)))

    async def _begin(self) -> None:
        some = {key: self._pending.pop(key) for key in list(self._pending)[:PARTITIONS_AT_ONCE]}
        if not some:
            return
        refused = await self.client.reassign(some)
        if refused:
            (topic, number), reason = next(iter(refused.items()))
            raise AdminError(
                f"{topic}-{number} was refused ({reason}); what had begun goes on: run the command again, or "
                "kafkastore cluster cancel"
            )
