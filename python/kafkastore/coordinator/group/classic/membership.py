"""LeaveGroup. The data plane answers the heartbeats of the members that stay, by the group's lease."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.group.classic.member import UNKNOWN_MEMBER_ID
from kafkastore.coordinator.runtime.log_lines import cut, some
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.coordinator.group.classic.group import Group
    from kafkastore.coordinator.group.classic.rebalance import Rebalancer
    from kafkastore.coordinator.group.group_store import GroupStore

logger = logging.getLogger("kafkastore.coordinator.group")


MAX_LEAVING: Final = 256


class LeavingMember(NamedTuple):
    """Named by member id, or by group.instance.id alone (an administrator's removal, KIP-345)."""

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None


class LeaveResult(NamedTuple):
    error_code: int
    member_errors: tuple[int, ...] = ()  # one for each member that was named, in order


class Membership:
    __slots__ = ("rebalancer", "store")

    def __init__(self, store: GroupStore[Group], rebalancer: Rebalancer) -> None:
        self.store = store
        self.rebalancer = rebalancer

    def leave(self, group_id: str, members: Sequence[LeavingMember]) -> LeaveResult:
        """Removes the members in one step: a caller splits a longer list into calls of ``MAX_LEAVING`` members."""
        if not self.store.partitions.is_running:
            return LeaveResult(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not group_id:
            return LeaveResult(ErrorCode.INVALID_GROUP_ID)
        error_code = self.store.check(group_id)
        if error_code:
            return LeaveResult(error_code)
        group = self.store.groups.get(group_id)
        if group is None:
            return LeaveResult(ErrorCode.NONE, (ErrorCode.UNKNOWN_MEMBER_ID,) * len(members))
        left: list[LeavingMember] = []
        errors = tuple(self._leave_one(group, leaving, left) for leaving in members)
        if left:
            logger.info(
                "Members have left group %s: %s; client reason: %s",
                group.group_id,
                some(leaving.member_id for leaving in left),
                cut(left[0].reason) if left[0].reason else "not provided",
            )
        if ErrorCode.NONE in errors:
            if group.state in (states.STABLE, states.COMPLETING_REBALANCE):
                self.rebalancer.rebalance_or_complete(group, "explicit LeaveGroup request")
            else:
                self.rebalancer.maybe_complete(group)
        return LeaveResult(ErrorCode.NONE, errors)

    def _leave_one(self, group: Group, leaving: LeavingMember, left: list[LeavingMember]) -> int:
        member_id: str | None = leaving.member_id
        if member_id == UNKNOWN_MEMBER_ID:
            member_id = group.static_members.get(leaving.group_instance_id or "")
            if leaving.group_instance_id is None or member_id is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        elif group.remove_pending(leaving.member_id):
            return ErrorCode.NONE
        else:
            error_code = group.validate_member(leaving.member_id, leaving.group_instance_id)
            if error_code:
                return error_code
        assert member_id is not None
        left.append(leaving._replace(member_id=member_id))
        self.rebalancer.remove_member(group, group.members[member_id])
        return ErrorCode.NONE
