"""Reads from the store what concerns this broker's replicas: their topics' configurations, the state of a partition.

Never writes, and decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.config import HELD
from kafkastore.metadata.assignment import decode_assigned
from kafkastore.metadata.image import PartitionState
from kafkastore.metadata.leadership import decode_leadership
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.store import NoNodeError
from kafkastore.metadata.stored_topics import TOPICS, load_config, load_configs
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.metadata.image import MetadataImage
    from kafkastore.metadata.store import MetadataStore

_FEW_TOPICS: Final = 10
"""For more topics than that, all configurations are read at once."""


class StoredState:
    """See the module. ``held`` has the replicas of this broker."""

    def __init__(self, store: MetadataStore, held: MetadataImage) -> None:
        self._store = store
        self._held = held

    async def load_configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """The topics' own configurations, as they stand in the store."""
        if len(names) > _FEW_TOPICS:
            found = await load_configs(self._store, Turn().give_way)
        else:
            found = {name: await load_config(self._store, name) for name in names}
        wanted = found.keys() & names
        return {name: dict(HELD) if (configs := found[name]) is None else configs for name in wanted}

    async def load_partition_count(self, name: str) -> tuple[bytes | None, int] | None:
        """The topic's id and how many partitions it has; None when its node is missing or invalid."""
        try:
            topic_id, assigned = decode_assigned((await self._store.get(f"{TOPICS}/{name}")).data)
        except (NoNodeError, InvalidNodeError):
            return None
        return topic_id, len(assigned)

    async def read_state(self, name: str, number: int) -> PartitionState | None:
        """The state of a partition, as it stands in the store; None when its node is missing or invalid."""
        try:
            node = await self._store.get(f"{TOPICS}/{name}/partitions/{number}/state")
            state = decode_leadership(node.data, node.version)
        except (NoNodeError, InvalidNodeError):  # the controller reports an invalid node
            return None
        known = self._held.partition(name, number)
        replicas = () if known is None else known.replicas
        return PartitionState(state.leader, state.leader_epoch, state.partition_epoch, replicas, state.isr)
