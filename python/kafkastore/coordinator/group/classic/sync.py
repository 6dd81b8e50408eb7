"""SyncGroup: the leader sends the assignment, and each member gets its part.

Invariant: ``respond`` is called exactly once: at once with an error or in Stable, else when the leader's assignment is
durable (acks -1) or the generation is given up.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.group.classic.member import SyncRespond, SyncResult
from kafkastore.coordinator.runtime.append_errors import response_error
from kafkastore.errors import ErrorCode, error_name

if TYPE_CHECKING:
    from kafkastore.coordinator.group.classic.group import Group
    from kafkastore.coordinator.group.classic.rebalance import Rebalancer
    from kafkastore.coordinator.group.group_store import GroupStore

logger = logging.getLogger("kafkastore.coordinator.group")


class SyncRequest(NamedTuple):
    group_id: str
    member_id: str
    group_instance_id: str | None
    generation_id: int
    protocol_type: str | None  # version 5 on
    protocol_name: str | None
    assignments: tuple[tuple[str, bytes], ...]  # (member id, assignment); only the leader's request counts


class Syncer:
    __slots__ = ("rebalancer", "store")

    def __init__(self, store: GroupStore[Group], rebalancer: Rebalancer) -> None:
        self.store = store
        self.rebalancer = rebalancer

    def sync(self, request: SyncRequest, respond: SyncRespond) -> None:
        group = self.store.groups.get(request.group_id)
        error_code = self._check(group, request)
        if error_code or group is None:
            respond(SyncResult(error_code))
            return
        member = group.members[request.member_id]
        group.pending_sync_members.discard(request.member_id)
        if not group.pending_sync_members and group.sync_timer is not None:
            group.sync_timer.cancel()
        if group.state == states.STABLE:
            respond(SyncResult(ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment))
            return
        member.await_sync(respond)
        if group.leader_id == request.member_id:
            self._store_assignment(group, request)

    def _check(self, group: Group | None, request: SyncRequest) -> int:
        if not self.store.partitions.is_running:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        error_code = self.store.check(request.group_id)
        if error_code:
            return error_code
        if group is None or group.state == states.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error_code = group.validate_member(request.member_id, request.group_instance_id)
        if error_code:
            return error_code
        if request.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol_name):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state == states.PREPARING_REBALANCE else ErrorCode.NONE

    def _store_assignment(self, group: Group, request: SyncRequest) -> None:
        assignments = dict(request.assignments)
        missing = [member_id for member_id in group.members if member_id not in assignments]
        if missing:
            logger.warning(
                "Group %s generation %d: empty assignments for %d members",
                group.group_id,
                group.generation_id,
                len(missing),
            )

        def done(append_error: int, _: int) -> None:
            # a member may have joined during the write: then the generation was given up, its SyncGroups are answered
            # the partition may have moved: then the group was ended, its SyncGroups are answered
            is_current = self.store.is_current(group) and group.generation_id == request.generation_id
            if group.state != states.COMPLETING_REBALANCE or not is_current:
                return
            if append_error:
                error_code = response_error(append_error)
                self.rebalancer.reset_assignment(group, error_code)
                self.rebalancer.rebalance_or_complete(group, f"{error_name(error_code)} when storing the assignment")
            else:
                self.rebalancer.set_assignment(group, assignments)

        self.rebalancer.append_metadata(group, assignments, done)


def _differs(requested: str | None, known: str | None) -> bool:
    return requested is not None and known is not None and requested != known
