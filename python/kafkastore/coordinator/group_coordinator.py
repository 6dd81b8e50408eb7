"""The group coordinator: the one object that the handlers and the replica manager know.

Place: ``handlers → GroupCoordinator → (join, sync, membership, removal, listing) → OffsetsLog``; elections of
``__consumer_offsets`` come through the runtime. Everything runs on one loop and nothing here is locked. Time comes from
the given clock. The parts work with callbacks and steps and need no loop; only the ``async`` methods here do, and
``group_service``, which runs background coroutines.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kafkastore.coordinator.group.classic.budget import Budget
from kafkastore.coordinator.group.classic.group import Group
from kafkastore.coordinator.group.classic.join import Joiner
from kafkastore.coordinator.group.classic.listing import describe_group, list_groups
from kafkastore.coordinator.group.classic.loading import Loader
from kafkastore.coordinator.group.classic.membership import Membership
from kafkastore.coordinator.group.classic.rebalance import Rebalancer
from kafkastore.coordinator.group.classic.sync import Syncer
from kafkastore.coordinator.group.group_store import GroupStore
from kafkastore.coordinator.group.removal import Remover
from kafkastore.coordinator.runtime.elections import Elections
from kafkastore.coordinator.runtime.log_lines import cut
from kafkastore.coordinator.runtime.partitions import Partitions
from kafkastore.coordinator.runtime.periodic import Periodic
from kafkastore.coordinator.runtime.running import AnswerQueue, in_turns
from kafkastore.errors import ErrorCode
from kafkastore.internal_topics import OFFSETS_TOPIC
from kafkastore.purgatory.timer import Timers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence

    from kafkastore._core import ExpiredSession
    from kafkastore.coordinator.group.classic.join import JoinRequest
    from kafkastore.coordinator.group.classic.listing import DescribedGroup, ListedGroup
    from kafkastore.coordinator.group.classic.member import JoinRespond, SyncRespond
    from kafkastore.coordinator.group.classic.membership import LeaveResult, LeavingMember
    from kafkastore.coordinator.group.classic.sync import SyncRequest
    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.offsets_log import OffsetsLog
    from kafkastore.coordinator.group.removal import PartitionErrors
    from kafkastore.coordinator.runtime.steps import Steps
    from kafkastore.purgatory.timer import Clock

T = TypeVar("T")

logger = logging.getLogger("kafkastore.coordinator.group")


class GroupCoordinator:
    def __init__(
        self,
        config: GroupConfig,
        clock: Clock,
        log: OffsetsLog,
        start: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """``start`` runs a coroutine in the background, until it ends or the coordinator is shut down."""
        self.config = config
        self.budget = Budget(config.group_max_bytes, config.unstored_max_bytes)
        self.timers = Timers(clock)
        self.partitions = Partitions(OFFSETS_TOPIC)
        self.store: GroupStore[Group] = GroupStore(self.partitions, clock, log, partial(Group, self.budget))
        self.rebalancer = Rebalancer(config, self.store, self.timers)
        self.joiner = Joiner(config, self.store, self.rebalancer, self.budget)
        self.syncer = Syncer(self.store, self.rebalancer)
        self.membership = Membership(self.store, self.rebalancer)
        self.remover = Remover(config, self.store)
        self.loader = Loader(config, self.store, self.rebalancer)
        self.elections = Elections(self.partitions, self.loader, self.run_steps, start)
        self._expiry = Periodic(
            "Expiry of offsets",
            config.offsets_retention_check_interval_ms,
            self.remover.expire,
            self.timers,
            self.run_steps,
            start,
        )
        self._answers = AnswerQueue()
        self._start = start

    # ---- life

    def startup(self) -> None:
        """Serves requests from now on; partitions are added by ``on_election``."""
        self.partitions.is_running = True
        self._expiry.begin()

    def shutdown(self) -> None:
        """Ends the service: new requests get COORDINATOR_NOT_AVAILABLE, and waiting requests NOT_COORDINATOR, in turns.
        The broker waits for the handlers of these requests before it ends."""
        self.elections.give_up_all()
        self.partitions.is_running = False
        self._expiry.stop()
        self.store.log.stop()
        self.timers.close()

    def on_election(self, partition: int, _leader_epoch: int = 0) -> None:
        """This broker leads the partition of ``__consumer_offsets``: loads it, then serves its groups."""
        self.elections.on_election(partition)

    def on_resignation(self, partition: int) -> None:
        """This broker no longer leads the partition."""
        self.elections.on_resignation(partition)

    def on_topics_deleted(self, topics: Iterable[str]) -> None:
        self._start(self.run_steps(self.remover.forget_topics(list(topics))))

    def on_groups_created(self, partition: int, group_ids: Iterable[str]) -> None:
        """The data plane took the first commits of these groups: creates the groups, without members."""
        for group_id in group_ids:
            if self.partitions.is_active(partition) and group_id not in self.store.groups:
                logger.info("Creating the simple group %s by its first offset commit", cut(group_id))
                self.store.create(group_id)

    def on_sessions_expired(self, sessions: Sequence[ExpiredSession]) -> None:
        """The sessions of these members have expired in the data plane: removes them from their groups."""
        self._start(self.run_steps(self._end_sessions(sessions)))

    def _end_sessions(self, sessions: Sequence[ExpiredSession]) -> Steps[None]:
        for session in sessions:
            group = self.store.groups.get(session.group_id)
            if group is not None and (group.shard.partition, group.shard.number) == (session.partition, session.number):
                self.rebalancer.end_session(group, session.member_id)
            yield None

    async def run_steps(self, steps: Steps[T]) -> T:
        return await in_turns(steps)

    # ---- membership

    def join_group(self, request: JoinRequest, respond: JoinRespond) -> None:
        """``respond`` is called once, at the end of the join phase at the latest; see ``join``."""
        self._answers.of(partial(self.joiner.join, request), respond)

    def sync_group(self, request: SyncRequest, respond: SyncRespond) -> None:
        """``respond`` is called once, when the leader's assignment is durable at the latest; see ``sync``."""
        self._answers.of(partial(self.syncer.sync, request), respond)

    def leave_group(self, group_id: str, members: Sequence[LeavingMember]) -> LeaveResult:
        return self.membership.leave(group_id, members)

    async def delete_offsets(
        self, group_id: str, topics: Sequence[tuple[str, Sequence[int]]]
    ) -> tuple[int, PartitionErrors]:
        return await self.run_steps(self.remover.delete_offsets(group_id, topics))

    # ---- administration

    async def list_groups(
        self, states_filter: Collection[str], types_filter: Collection[str]
    ) -> tuple[int, list[ListedGroup]]:
        """Returns (error code, groups). While a partition loads, at the call or after the list is made, the answer is
        an error, as in Kafka: the list would not be complete."""
        if not self.partitions.is_running:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, []
        if self.partitions.is_loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, []
        found = await self.run_steps(list_groups(self.store, states_filter, types_filter))
        if self.partitions.is_loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, []
        return ErrorCode.NONE, found

    def describe_group(self, group_id: str) -> DescribedGroup:
        return describe_group(self.store, group_id)

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, int]:
        return await self.run_steps(self.remover.delete_groups(group_ids))
