"""The life of a generation: prepare, wait for the members, complete, wait for the assignment.

Place: ``join``, ``sync`` and ``membership`` call it; it calls the log and the timers. Everything runs on one loop.
Cases of the end of the join phase:

- A  the group is waiting its initial delay: only the timer ends it, later if members keep coming (KIP-134).
- B  all known members have joined and no member is pending: the phase ends at once.
- C  the rebalance timeout passes: dynamic members that did not rejoin are removed, static members stay.
- D  no member rejoined and only static members are left: the phase goes on for another timeout.

Invariants: each JoinGroup that waits is answered once, when the phase ends or its member is removed. A timer does
nothing for a group that is not current: ``Loader`` ends the groups of a partition that was given up, and answers their
waiting requests.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.group.classic.member import UNKNOWN_MEMBER_ID, JoinResult, SyncResult
from kafkastore.coordinator.group.classic.records import GroupValue, MemberValue, group_key, group_value
from kafkastore.coordinator.runtime.append_errors import response_error
from kafkastore.coordinator.runtime.log_lines import cut, some
from kafkastore.errors import ErrorCode, error_name

if TYPE_CHECKING:
    from kafkastore.coordinator.group.classic.group import Group
    from kafkastore.coordinator.group.classic.member import Member
    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.runtime.internal_log import AppendDone
    from kafkastore.purgatory.timer import Timer, Timers

logger = logging.getLogger("kafkastore.coordinator.group")

MIN_RETRY_MS: Final = 100  # of case D, so that a rebalance timeout of 0 does not spin


class Rebalancer:
    __slots__ = ("clock", "config", "log", "store", "timers")

    def __init__(self, config: GroupConfig, store: GroupStore[Group], timers: Timers) -> None:
        self.config = config
        self.store = store
        self.timers = timers
        self.clock = store.clock
        self.log = store.log

    # ---- beginning

    def rebalance_or_complete(self, group: Group, reason: str) -> None:
        if group.can_rebalance:
            self.prepare(group, reason)
        else:
            self.maybe_complete(group)

    def prepare(self, group: Group, reason: str) -> None:
        """Enters PreparingRebalance; ends the phase at once when all members have joined (case B)."""
        if group.state == states.COMPLETING_REBALANCE:
            self.reset_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync_members.clear()
        if group.sync_timer is not None:
            group.sync_timer.cancel()
        is_initial = group.state == states.EMPTY
        group.transition_to(states.PREPARING_REBALANCE, self.clock.now_ms())
        logger.info(
            "Preparing to rebalance group %s with old generation %d (%s)", group.group_id, group.generation_id, reason
        )
        if is_initial:
            delay_ms = self.config.initial_rebalance_delay_ms
            self._start_initial_delay(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        elif group.has_all_members_joined or group.rebalance_timeout_ms <= 0:
            self.complete(group)  # at once: the next request to the data plane finds the phase ended
        else:
            self._start_join_timer(group, group.rebalance_timeout_ms)

    def maybe_complete(self, group: Group) -> None:
        """Case B, unless case A holds."""
        if (
            group.state == states.PREPARING_REBALANCE
            and group.previous_state != states.EMPTY
            and group.has_all_members_joined
        ):
            self.complete(group)

    def _start_join_timer(self, group: Group, delay_ms: int) -> None:
        if group.join_timer is not None:
            group.join_timer.cancel()
        group.join_timer = self.timers.timer(lambda: self._complete_late(group))
        group.join_timer.start(delay_ms)

    def _complete_late(self, group: Group) -> None:
        if self.store.is_current(group):
            self.complete(group)

    def _start_initial_delay(self, group: Group, delay_ms: int, remaining_ms: int) -> None:
        def expire() -> None:
            if not self.store.is_current(group):
                return
            if group.is_new_member_added and remaining_ms > 0:
                group.is_new_member_added = False
                next_delay_ms = min(self.config.initial_rebalance_delay_ms, remaining_ms)
                self._start_initial_delay(group, next_delay_ms, max(remaining_ms - delay_ms, 0))
            else:
                self.complete(group)

        if group.join_timer is not None:
            group.join_timer.cancel()
        group.join_timer = self.timers.timer(expire)
        group.join_timer.start(delay_ms)

    # ---- ending

    def complete(self, group: Group) -> None:
        """Cases B and C: the next generation begins."""
        if group.join_timer is not None:
            group.join_timer.cancel()
        if group.state != states.PREPARING_REBALANCE:
            return
        late = [member for member in group.members.values() if not member.is_awaiting_join and not member.is_static]
        for member in late:
            group.remove(member.member_id)
        if late:
            ids = some(member.member_id for member in late)
            logger.info("Group %s removed dynamic members who have not joined: %s", group.group_id, ids)
        if not group.elect_joined_leader() and group.members:
            logger.error("Group %s could not complete its rebalance because no member rejoined", group.group_id)
            self._start_join_timer(group, max(group.rebalance_timeout_ms, MIN_RETRY_MS))  # D
            return
        group.next_generation(self.clock.now_ms())
        if group.state == states.EMPTY:
            logger.info("Group %s with generation %d is now empty", group.group_id, group.generation_id)
            self.append_metadata(group, {}, lambda code, _: self._warn(group, code))
        else:
            self._tell_members(group)

    def _tell_members(self, group: Group) -> None:
        count = len(group.members)
        logger.info("Stabilized group %s generation %d with %d members", group.group_id, group.generation_id, count)
        generation_id = group.generation_id
        group.pending_sync_members.update(group.members)
        group.sync_timer = self.timers.timer(lambda: self._expire_pending_sync(group, generation_id))
        group.sync_timer.start(group.rebalance_timeout_ms)
        for member in list(group.members.values()):
            group.complete_join(member, group.join_result(member.member_id))
            member.is_new = False
            group.begin_session(member)

    def _expire_pending_sync(self, group: Group, generation_id: int) -> None:
        if generation_id != group.generation_id or not group.pending_sync_members or not self.store.is_current(group):
            return
        if group.state not in (states.COMPLETING_REBALANCE, states.STABLE):
            return
        late = list(group.pending_sync_members)
        for member_id in late:
            member = group.members[member_id]
            group.complete_join(member, JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID))
            group.remove(member_id)
        self.prepare(group, f"removing {some(late)} who sent no SyncGroup in time")

    # ---- the assignment

    def reset_assignment(self, group: Group, error_code: int) -> None:
        """Clears the assignments and answers every waiting SyncGroup with the error."""
        for member in group.members.values():
            member.assignment = b""
            if member.complete_sync(SyncResult(error_code)):
                group.begin_session(member)

    def set_assignment(self, group: Group, assignments: dict[str, bytes]) -> None:
        """Makes the group Stable, sets the assignments, and answers every waiting SyncGroup with its member's own."""
        group.transition_to(states.STABLE, self.clock.now_ms())
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if member.complete_sync(SyncResult(0, group.protocol_type, group.protocol_name, member.assignment)):
                group.begin_session(member)

    def append_metadata(self, group: Group, assignments: dict[str, bytes], done: AppendDone) -> None:
        """Appends one group metadata record, with these assignments. The record is durable (acks -1) when ``done`` is
        called with NONE. A record that is too large for a batch is refused before it is encoded: it may be a hundred
        times the limit."""
        members = group.members.values()
        protocol_name = group.protocol_name
        size = sum(
            len(member.metadata(protocol_name)) + len(assignments.get(member.member_id, b"")) for member in members
        )
        if size > self.log.max_batch_bytes():
            logger.warning(
                "The metadata and assignments of group %s take %d bytes; max.message.bytes of __consumer_offsets lets "
                "%d pass",
                group.group_id,
                size,
                self.log.max_batch_bytes(),
            )
            done(ErrorCode.RECORD_LIST_TOO_LARGE, -1)
            return
        rows = tuple(
            MemberValue(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.session_timeout_ms,
                member.metadata(protocol_name),
                assignments.get(member.member_id, b""),
            )
            for member in members
        )
        value = GroupValue(
            group.protocol_type or "",
            group.generation_id,
            protocol_name,
            group.leader_id,
            group.state_timestamp_ms,
            rows,
        )
        data = group_value(value)

        def appended(append_error: int, base_offset: int) -> None:
            if not append_error:
                group.holds.back(len(data), len(rows))
            done(append_error, base_offset)

        self.log.append(group.partition, [(group_key(group.group_id), data)], appended)

    def _warn(self, group: Group, append_error: int) -> None:
        if append_error:
            logger.warning(
                "Failed to write empty metadata of group %s: %s",
                group.group_id,
                error_name(response_error(append_error)),
            )

    # ---- members that are removed

    def pending_member_timer(self, group: Group, member_id: str) -> Timer:
        return self.timers.timer(lambda: self._expire_pending_member(group, member_id))

    def end_session(self, group: Group, member_id: str) -> None:
        """Handles the expiry of a member's session in the data plane; the member may have a new session meanwhile."""
        member = group.members.get(member_id)
        if member is None or member.has_satisfied_heartbeat or group.lease.has_session(member_id):
            return
        logger.info("Member %s in group %s has failed, removing it", cut(member_id), group.group_id)
        self.remove_member(group, member)
        if group.state in (states.STABLE, states.COMPLETING_REBALANCE):
            self.rebalance_or_complete(group, f"removing member {cut(member_id)} on heartbeat expiration")
        elif group.state == states.PREPARING_REBALANCE and group.has_all_members_joined:
            self.complete(group)

    def _expire_pending_member(self, group: Group, member_id: str) -> None:
        if not self.store.is_current(group) or not group.remove_pending(member_id):
            return
        logger.info("Pending member %s in group %s did not join in time", cut(member_id), group.group_id)
        if group.state == states.PREPARING_REBALANCE and group.has_all_members_joined:
            self.complete(group)

    def remove_member(self, group: Group, member: Member) -> None:
        """Removes the member; its waiting JoinGroup is answered UNKNOWN_MEMBER_ID, so that a live client joins anew."""
        group.complete_join(member, JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)
