"""The parts of the broker that handlers use, in one record. ``server/assembly.py`` makes it once; nothing in it is
replaced.

Never: holds parts that no handler needs (the store, the sockets, the broker's membership), or serves the parts of the
broker: each part gets the others that it needs by its constructor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from kafkastore._core import Engine
    from kafkastore.authorization.acls import Acls
    from kafkastore.config import BrokerConfig
    from kafkastore.controller.controller import Controller
    from kafkastore.coordinator.group_coordinator import GroupCoordinator
    from kafkastore.coordinator.producer_ids import ProducerIds
    from kafkastore.coordinator.transaction_coordinator import TransactionCoordinator
    from kafkastore.dynamic_config.broker_configs import DynamicBrokerConfigs
    from kafkastore.dynamic_config.changes import ConfigChanges
    from kafkastore.dynamic_config.delegation_tokens import DelegationTokens
    from kafkastore.dynamic_config.features import Features
    from kafkastore.dynamic_config.named_configs import NamedConfigs
    from kafkastore.dynamic_config.quotas import ClientQuotas
    from kafkastore.dynamic_config.scram_credentials import ScramCredentials
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.metadata.marks import StoreMark
    from kafkastore.replica.assigned import AssignedReplicas
    from kafkastore.replica.log_dir_moves import LogDirMoves
    from kafkastore.replica.manager import ReplicaManager
    from kafkastore.requests.forwarding import Forwarding
    from kafkastore.topic.topics import Topics

T = TypeVar("T")


class Provider(Generic[T]):
    """A part that is made, and its code imported, at the first :meth:`get`."""

    __slots__ = ("_make", "made")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self.made: T | None = None
        """The part; None before the first :meth:`get`."""

    def get(self) -> T:
        if self.made is None:
            self.made = self._make()
        return self.made


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False, match_args=False)
class BrokerServices:
    """See the module."""

    config: BrokerConfig
    cluster_id: str
    node_id: int
    loop: asyncio.AbstractEventLoop
    engine: Engine
    image: MetadataImage
    replica_manager: ReplicaManager
    assigned: AssignedReplicas
    log_dir_moves: LogDirMoves
    controller: Controller
    forwarding: Forwarding
    topics: Topics
    dynamic_configs: DynamicBrokerConfigs
    config_changes: ConfigChanges
    scram_credentials: ScramCredentials
    delegation_tokens: DelegationTokens
    features: Features
    acls: Acls | None
    """None without an authorizer."""
    quotas: ClientQuotas
    named_configs: NamedConfigs
    read_mark: Callable[[], Awaitable[StoreMark | None]]
    """How far the metadata store has come, as far as this is known without writing to it."""
    groups: Provider[GroupCoordinator]
    transactions: Provider[TransactionCoordinator]
    producers: Provider[ProducerIds]

    @property
    def group_coordinator(self) -> GroupCoordinator:
        """Made when the first request asks for it, or when this broker leads a partition of ``__consumer_offsets``."""
        return self.groups.get()

    @property
    def transaction_coordinator(self) -> TransactionCoordinator:
        """Made when the first request asks for it, or when this broker leads a partition of ``__transaction_state``."""
        return self.transactions.get()

    @property
    def producer_ids(self) -> ProducerIds:
        """Made when the first producer asks for an id."""
        return self.producers.get()

    async def run_blocking(self, function: Callable[..., T], *arguments: object) -> T:
        """Runs a blocking call (an Engine method that says so) in the thread pool and awaits its result."""
        return await self.loop.run_in_executor(None, function, *arguments)
