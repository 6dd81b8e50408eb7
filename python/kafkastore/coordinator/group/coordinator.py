"""The group coordinator: the one object that the handlers and the replica manager know.

Place: ``handlers → GroupCoordinator → (join, sync, membership, offsets, removal, listing) → OffsetsLog``.
Everything runs on one loop and nothing here is locked. Time comes from the clock that is given. The parts work with
callbacks and need no loop; only the ``async`` methods here and loading do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kafkastore.coordinator.group.group_store import GroupStore
from kafkastore.coordinator.group.join import Joiner
from kafkastore.coordinator.group.listing import describe_group, list_groups
from kafkastore.coordinator.group.loading import Loader
from kafkastore.coordinator.group.membership import Membership
from kafkastore.coordinator.group.offsets import Offsets
from kafkastore.coordinator.group.rebalance import Rebalancer
from kafkastore.coordinator.group.removal import Remover
from kafkastore.coordinator.group.sync import Syncer
from kafkastore.errors import ErrorCode
from kafkastore.purgatory.timer import Timers

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Iterable, Sequence

    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.join import JoinRequest
    from kafkastore.coordinator.group.listing import DescribedGroup, ListedGroup
    from kafkastore.coordinator.group.member import JoinResult, SyncResult
    from kafkastore.coordinator.group.membership import LeaveResult, LeavingMember
    from kafkastore.coordinator.group.offsets import CommitRequest, FetchResult, PartitionErrors
    from kafkastore.coordinator.group.offsets_log import OffsetsLog
    from kafkastore.coordinator.group.sync import SyncRequest
    from kafkastore.purgatory.timer import Clock

T = TypeVar("T")


class GroupCoordinator:
    def __init__(self, config: GroupConfig, clock: Clock, log: OffsetsLog) -> None:
        self.config = config
        self.timers = Timers(clock)
        self.store = GroupStore(clock, log)
        self.rebalancer = Rebalancer(config, self.store, self.timers)
        self.joiner = Joiner(config, self.store, self.rebalancer)
        self.syncer = Syncer(self.store, self.rebalancer)
        self.membership = Membership(self.store, self.rebalancer)
        self.offsets = Offsets(config, self.store)
        self.remover = Remover(config, self.store)
        self.loader = Loader(config, self.store, self.rebalancer)
        self._expiry = self.timers.timer(self._expire)
        self._loads: set[asyncio.Task[None]] = set()

    # ---- life

    def startup(self) -> None:
        """Serves from now on; partitions come by ``on_election``."""
        self.store.is_running = True
        self._expiry.start(self.config.offsets_retention_check_interval_ms)

    def shutdown(self) -> None:
        """Answers whoever waits with NOT_COORDINATOR, and serves no more (COORDINATOR_NOT_AVAILABLE)."""
        for partition in list(self.store.partitions):
            self.on_resignation(partition)
        for task in self._loads:
            task.cancel()
        self.store.is_running = False
        self.timers.close()

    def on_election(self, partition: int, _leader_epoch: int = 0) -> None:
        """This broker leads the partition of ``__consumer_offsets``: loads it, then serves its groups."""
        import asyncio

        epoch = self.loader.begin(partition)
        task = asyncio.get_running_loop().create_task(self.loader.load(partition, epoch))
        self._loads.add(task)
        task.add_done_callback(self._loads.discard)

    def on_resignation(self, partition: int) -> None:
        """This broker leads the partition no more."""
        self.loader.resign(partition)

    def on_topics_deleted(self, topics: Iterable[str]) -> None:
        self.remover.forget_topics(topics)

    def _expire(self) -> None:
        self.remover.expire()
        self._expiry.start(self.config.offsets_retention_check_interval_ms)

    # ---- membership

    async def join_group(self, request: JoinRequest) -> JoinResult:
        """Waits for the end of the join phase; see ``join``."""
        return await _answer(lambda respond: self.joiner.join(request, respond))

    async def sync_group(self, request: SyncRequest) -> SyncResult:
        """Waits for the leader's assignment; see ``sync``."""
        return await _answer(lambda respond: self.syncer.sync(request, respond))

    def heartbeat(self, group_id: str, member_id: str, group_instance_id: str | None, generation_id: int) -> int:
        """An error code."""
        return self.membership.heartbeat(group_id, member_id, group_instance_id, generation_id)

    def leave_group(self, group_id: str, members: Sequence[LeavingMember]) -> LeaveResult:
        return self.membership.leave(group_id, members)

    # ---- offsets

    async def commit_offsets(self, request: CommitRequest) -> PartitionErrors:
        """Durable when it returns with NONE."""
        return await _answer(lambda respond: self.offsets.commit(request, respond))

    def fetch_offsets(
        self,
        group_id: str,
        topics: Iterable[tuple[str, bytes | None, Sequence[int]]] | None,
        require_stable: bool = False,
    ) -> FetchResult:
        """(name, topic id if known, partitions) for each topic wanted, or None for all; see ``Offsets.fetch``."""
        return self.offsets.fetch(group_id, topics, require_stable)

    async def delete_offsets(
        self, group_id: str, topics: Sequence[tuple[str, Sequence[int]]]
    ) -> tuple[int, PartitionErrors]:
        return await _answer(lambda respond: self.offsets.delete(group_id, topics, lambda *result: respond(result)))

    # ---- administration

    def list_groups(
        self, states_filter: Collection[str], types_filter: Collection[str]
    ) -> tuple[int, list[ListedGroup]]:
        """(error code, groups). Partitions that still load are an error, as in Kafka: the list would not be whole."""
        if not self.store.is_running:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        if self.store.is_loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, []
        return ErrorCode.NONE, list_groups(self.store, states_filter, types_filter)

    def describe_group(self, group_id: str) -> DescribedGroup:
        return describe_group(self.store, group_id)

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, int]:
        return await _answer(lambda respond: self.remover.delete_groups(group_ids, respond))


async def _answer(call: Callable[[Callable[[T], Any]], None]) -> T:
    """Runs a call that answers by callback; makes a future only if it has not answered by its return."""
    results: list[T] = []
    future: asyncio.Future[T] | None = None

    def respond(result: T) -> None:
        if future is None:
            results.append(result)
        elif not future.done():  # a cancelled handler wants no answer
            future.set_result(result)

    call(respond)
    if results:
        return results[0]
    import asyncio

    future = asyncio.get_running_loop().create_future()
    return await future
