"""JoinGroup: which members may join, under which id, and whether a join starts a rebalance.

Cases, as Kafka has them:

- A  no such group: created when the member has no id yet, else UNKNOWN_MEMBER_ID.
- B  the group is full, of members or of their bytes: GROUP_MAX_SIZE_REACHED, which ends a client with a sentence about
     its group. All groups together hold too many unstored bytes: COORDINATOR_LOAD_IN_PROGRESS, after which clients
     retry.
- C  a new dynamic member: from version 4 on it is handed an id and must send JoinGroup again (KIP-394); before version
     4 it is added at once.
- D  a new static member: added, or it replaces the member with the same group.instance.id.
- E  a member with an id: pending (added now), known (updated, or answered with the current generation), unknown or
     fenced.

Invariant: ``respond`` is called exactly once, now or when the join phase ends.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.group.classic.budget import GroupMemory, member_bytes
from kafkastore.coordinator.group.classic.member import (
    UNKNOWN_MEMBER_ID,
    JoinRespond,
    JoinResult,
    Member,
    Protocols,
    new_member_id,
)
from kafkastore.coordinator.group.classic.records import GroupValue, group_key, group_value
from kafkastore.coordinator.group.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from kafkastore.coordinator.runtime.append_errors import response_error
from kafkastore.coordinator.runtime.log_lines import cut
from kafkastore.errors import ErrorCode, error_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.coordinator.group.classic.budget import Budget
    from kafkastore.coordinator.group.classic.group import Group
    from kafkastore.coordinator.group.classic.rebalance import Rebalancer
    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.group_store import GroupStore

logger = logging.getLogger("kafkastore.coordinator.group")


class JoinRequest(NamedTuple):
    group_id: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    requires_known_member_id: bool  # version 4 on
    supports_skipping_assignment: bool  # version 9 on
    reason: str | None = None


class _ReplacedStaticMember(NamedTuple):
    """A static member that came back under another id and waits until the new id is written."""

    member: Member
    old_member_id: str
    before: tuple[Protocols, int, int]
    leader_before: str | None
    supports_skipping_assignment: bool


class Joiner:
    __slots__ = ("_unwritten", "budget", "config", "rebalancer", "store")

    def __init__(self, config: GroupConfig, store: GroupStore[Group], rebalancer: Rebalancer, budget: Budget) -> None:
        self.budget = budget
        self.config = config
        self.store = store
        self.rebalancer = rebalancer
        self._unwritten: dict[Group, list[_ReplacedStaticMember]] = {}
        """For each group whose static members are being written: the static members that came back since."""

    def join(self, request: JoinRequest, respond: JoinRespond) -> None:
        error_code = self._check(request)
        if error_code:
            member_id = request.member_id if _tells_member_id(error_code) else UNKNOWN_MEMBER_ID
            respond(JoinResult(error_code, member_id))
            return
        group = self.store.groups.get(request.group_id)
        is_unknown = request.member_id == UNKNOWN_MEMBER_ID
        if group is None and not is_unknown:  # A
            respond(JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
            return
        error_code = self._check_room(group, request)
        if error_code:  # B
            if group is not None and error_code == ErrorCode.GROUP_MAX_SIZE_REACHED:
                self._remove_refused(group, request.member_id)
            respond(JoinResult(error_code, UNKNOWN_MEMBER_ID))
            return
        if group is None:
            group = self.store.create(request.group_id)
            error_code = self._append_new_group(group)
            if error_code:
                respond(JoinResult(error_code, UNKNOWN_MEMBER_ID))
                return
        if not group.supports_protocols(request.protocol_type, request.protocols):
            respond(JoinResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id))
        elif is_unknown:
            self._join_new(group, request, respond)
        else:
            self._join_known(group, request, respond)

    def _check(self, request: JoinRequest) -> int:
        if not self.store.partitions.is_running:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        config = self.config
        if not config.min_session_timeout_ms <= request.session_timeout_ms <= config.max_session_timeout_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return self.store.check(request.group_id)

    def _append_new_group(self, group: Group) -> int:
        """Appends an empty record of the group: Kafka writes it at the first JoinGroup. Returns the error code when the
        append fails at once; the group is removed then."""
        error_code = int(ErrorCode.NONE)

        def done(append_error: int, _: int) -> None:
            nonlocal error_code
            if append_error and self.store.is_current(group):
                error_code = response_error(append_error)
                logger.warning("Failed to write empty metadata of group %s: %s", group.group_id, error_name(error_code))
                if group.generation_id == 0 and not group.lease.has_offsets():
                    self.store.remove(group, error_code)

        value = GroupValue("", 0, None, None, group.state_timestamp_ms, ())
        self.store.log.append(group.partition, [(group_key(group.group_id), group_value(value))], done)
        return ErrorCode.NONE if self.store.is_current(group) else error_code

    def _has_room(self, group: Group, member_id: str) -> bool:
        if group.state == states.EMPTY:
            return True
        member = group.members.get(member_id)
        if group.state == states.PREPARING_REBALANCE:
            # waiting members are counted: the group may exceed a limit that was lowered; the last to rejoin are refused
            return (member is not None and member.is_awaiting_join) or group.awaiting_join_count < self.config.max_size
        return member is not None or len(group.members) < self.config.max_size

    def _check_room(self, group: Group | None, request: JoinRequest) -> int:
        more = self._bytes_more(group, request)
        holds = GroupMemory(self.budget) if group is None else group.holds
        has_room = group is None or self._has_room(group, request.member_id)
        if not has_room or not holds.fits_group(more):
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        return ErrorCode.NONE if holds.fits_all(more) else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def _bytes_more(self, group: Group | None, request: JoinRequest) -> int:
        """The bytes that the group would hold in addition, with this member as its request describes it."""
        names = (request.member_id, request.group_instance_id, request.client_id, request.client_host)
        size = member_bytes(names, request.protocols)
        if group is None:
            return size
        known_id = request.member_id or group.static_members.get(request.group_instance_id or "", "")
        member = group.members.get(known_id)
        if member is not None:
            return size - member.held_bytes
        return size - member_bytes((known_id,), ()) if known_id in group.pending_members else size

    def _remove_refused(self, group: Group, member_id: str) -> None:
        """The members that stay rebalance, unless they do so already: nobody has the partitions of the refused
        member."""
        member = group.members.get(member_id)
        if member is None:
            group.remove_pending(member_id)
            return
        self.rebalancer.remove_member(group, member)
        if group.state in (states.STABLE, states.COMPLETING_REBALANCE):
            self.rebalancer.rebalance_or_complete(group, f"refusing member {cut(member_id)} for its bytes")

    # ---- C and D

    def _join_new(self, group: Group, request: JoinRequest, respond: JoinRespond) -> None:
        instance_id = request.group_instance_id
        member_id = new_member_id(request.client_id if instance_id is None else instance_id)
        if instance_id is not None:
            old_member_id = group.static_members.get(instance_id)
            if old_member_id is None:
                self._add(group, request, member_id, respond)
            else:
                self._replace_static(group, request, old_member_id, member_id, respond)
        elif request.requires_known_member_id:
            timer = self.rebalancer.pending_member_timer(group, member_id)
            group.add_pending(member_id, timer)
            timer.start(request.session_timeout_ms)
            respond(JoinResult(ErrorCode.MEMBER_ID_REQUIRED, member_id))
        else:
            self._add(group, request, member_id, respond)

    def _add(self, group: Group, request: JoinRequest, member_id: str, respond: JoinRespond) -> None:
        member = Member(
            member_id,
            request.group_instance_id,
            request.client_id,
            request.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocols,
        )
        member.is_new = True
        if group.state == states.PREPARING_REBALANCE and group.previous_state == states.EMPTY:
            group.is_new_member_added = True
        group.add(member, request.protocol_type, respond)
        # A new member cannot send heartbeats yet; this longer timeout removes a new member that gave up.
        group.begin_session(member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self.rebalancer.rebalance_or_complete(
            group, f"adding new member {cut(member_id)}; client reason: {_reason(request)}"
        )

    def _replace_static(
        self, group: Group, request: JoinRequest, old_member_id: str, new_id: str, respond: JoinRespond
    ) -> None:
        old = group.members[old_member_id]
        before = (old.protocols, old.rebalance_timeout_ms, old.session_timeout_ms)
        leader_before = group.leader_id
        member = group.replace_static_member(old_member_id, new_id)
        self._update(group, member, request, respond)
        group.begin_session(member)
        logger.info(
            "Static member %s of group %s: %s replaces %s",
            cut(request.group_instance_id or ""),
            group.group_id,
            cut(new_id),
            cut(old_member_id),
        )
        if group.state == states.COMPLETING_REBALANCE:
            # the leader may already be making an assignment for the old id
            self.rebalancer.prepare(group, f"updating static member {cut(new_id)}; client reason: {_reason(request)}")
        elif group.state != states.STABLE:
            self.rebalancer.maybe_complete(group)
        elif not _is_same_choice(before[0], request.protocols) and group.select_protocol() != group.protocol_name:
            self.rebalancer.rebalance_or_complete(group, f"static member {cut(new_id)} changes the selected protocol")
        else:
            replaced = _ReplacedStaticMember(
                member, old_member_id, before, leader_before, request.supports_skipping_assignment
            )
            unwritten = self._unwritten.get(group)
            if unwritten is None:
                self._persist_static(group, [replaced])
            else:
                unwritten.append(replaced)

    def _persist_static(self, group: Group, replaced: Sequence[_ReplacedStaticMember]) -> None:
        """Writes the new ids of static members of a Stable group whose protocol stays, without a rebalance (KIP-345);
        the members are answered when the record is durable. The record has the whole group, so static members that come
        back meanwhile are written together by the next record: when a thousand restart at once, it is not written a
        thousand times."""
        unwritten = self._unwritten[group] = list[_ReplacedStaticMember]()

        def done(append_error: int, _: int) -> None:
            del self._unwritten[group]
            try:
                for each in reversed(replaced) if append_error else replaced:
                    if append_error:
                        self._revert_static(group, each, response_error(append_error))
                    elif group.state == states.STABLE and each.member.is_awaiting_join:
                        self._answer_static(group, each)
            finally:
                left = [each for each in unwritten if each.member.is_awaiting_join]
                # else a rebalance or the partition's end answers the rest: a group of an earlier load writes nothing
                if left and group.state == states.STABLE and self.store.is_current(group):
                    self._persist_static(group, left)

        assignments = {member.member_id: member.assignment for member in group.members.values()}
        try:
            self.rebalancer.append_metadata(group, assignments, done)
        except BaseException:
            self._unwritten.pop(group, None)
            raise

    def _answer_static(self, group: Group, replaced: _ReplacedStaticMember) -> None:
        member = replaced.member
        result = group.join_result(member.member_id)
        if replaced.supports_skipping_assignment:
            result = result._replace(skip_assignment=group.leader_id == member.member_id)
        else:
            # before version 9 a leader that comes back must not take itself for the leader (KIP-814)
            result = result._replace(leader=replaced.leader_before or "", members=())
        group.complete_join(member, result)
        group.begin_session(member)  # the session may have expired meanwhile

    def _revert_static(self, group: Group, replaced: _ReplacedStaticMember, error_code: int) -> None:
        member, old_member_id, before, leader_before, _ = replaced
        if group.members.get(member.member_id) is not member:
            return  # removed or replaced meanwhile, and answered at that time
        result = JoinResult(
            error_code,
            UNKNOWN_MEMBER_ID,
            group.generation_id,
            group.protocol_type,
            group.protocol_name,
            leader_before or "",
        )
        group.complete_join(member, result)
        group.update_protocols(member, before[0])
        member.rebalance_timeout_ms, member.session_timeout_ms = before[1:]
        group.begin_session(group.replace_static_member(member.member_id, old_member_id))

    # ---- E

    def _join_known(self, group: Group, request: JoinRequest, respond: JoinRespond) -> None:
        member_id = request.member_id
        if member_id in group.pending_members:
            if request.group_instance_id is not None:
                # a pending member is dynamic; as in Kafka, a static join under its id fails without a reason
                respond(JoinResult(ErrorCode.UNKNOWN_SERVER_ERROR, UNKNOWN_MEMBER_ID))
            else:
                self._add(group, request, member_id, respond)
            return
        error_code = group.validate_member(member_id, request.group_instance_id)
        if error_code:
            respond(JoinResult(error_code, member_id))
            return
        member = group.members[member_id]
        is_same = member.protocols == request.protocols
        # Stable: the leader may ask for a rebalance at any time, a follower by new metadata only.
        # CompletingRebalance: the same metadata is a retry of a lost answer.
        is_follower = group.leader_id != member_id
        if is_same and (group.state == states.COMPLETING_REBALANCE or (group.state == states.STABLE and is_follower)):
            respond(group.join_result(member_id))
        else:
            self._update(group, member, request, respond)
            reason = f"member {cut(member_id)} joins in state {group.state}; client reason: {_reason(request)}"
            self.rebalancer.rebalance_or_complete(group, reason)

    def _update(self, group: Group, member: Member, request: JoinRequest, respond: JoinRespond) -> None:
        group.update_protocols(member, request.protocols)
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms
        group.await_join(member, respond)


def _tells_member_id(error_code: int) -> bool:
    """Whether an early refusal with this error code repeats the member id, as Kafka's does."""
    return error_code in (
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.INVALID_SESSION_TIMEOUT,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    )


def _is_same_choice(before: Protocols, after: Protocols) -> bool:
    """Whether both have the same names in the same order, so that the member's vote does not change."""
    return [name for name, _ in before] == [name for name, _ in after]


def _reason(request: JoinRequest) -> str:
    return cut(request.reason) if request.reason else "not provided"
