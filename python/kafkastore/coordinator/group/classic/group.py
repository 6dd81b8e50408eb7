"""A classic group: its state and its members. Decides nothing by itself; no I/O, no clock.

Place: only ``rebalance``, ``join``, ``sync`` and ``membership`` change it. Its lease, by which the data plane answers
heartbeats and commits, follows each change in the same step. Invariants: at least one protocol is supported by all
members; exactly one leader while there are members; ``awaiting_join_count`` is the number of members whose JoinGroup
waits; ``static_members`` maps each group.instance.id of ``members`` and no other; the generation rises by one with each
completed rebalance; ``membership_changes`` rises whenever a member joins, leaves or changes its metadata; ``holds``
counts the bytes of members and pending members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.group.classic.budget import GroupMemory, member_bytes
from kafkastore.coordinator.group.classic.member import JoinedMember, JoinResult, Member, SyncResult
from kafkastore.coordinator.group.classic.records import NO_TIMESTAMP, group_key
from kafkastore.coordinator.group.classic.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_among
from kafkastore.coordinator.runtime.partitioning import java_string_hash
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafkastore.coordinator.group.classic.budget import Budget
    from kafkastore.coordinator.group.classic.member import JoinRespond, Protocols
    from kafkastore.coordinator.group.group_store import Shard
    from kafkastore.coordinator.group.offsets_log import GroupLease
    from kafkastore.coordinator.runtime.steps import Steps
    from kafkastore.purgatory.timer import Timer


class Group:
    __slots__ = (
        "awaiting_join_count",
        "generation_id",
        "group_id",
        "holds",
        "is_new_member_added",
        "join_timer",
        "leader_id",
        "lease",
        "members",
        "membership_changes",
        "pending_members",
        "pending_sync_members",
        "previous_state",
        "protocol_counts",
        "protocol_name",
        "protocol_type",
        "shard",
        "state",
        "state_timestamp_ms",
        "static_members",
        "sync_timer",
    )

    def __init__(self, budget: Budget, group_id: str, shard: Shard[Group], lease: GroupLease, now_ms: int) -> None:
        self.group_id = group_id
        self.lease = lease
        self.shard = shard
        self.holds = GroupMemory(budget)
        self.state = states.EMPTY
        self.previous_state = states.DEAD
        self.state_timestamp_ms = now_ms  # -1: unknown (records of old Kafka versions)
        self.protocol_type: str | None = None  # None: a simple group, which has offsets and never had members
        self.protocol_name: str | None = None
        self.generation_id = 0
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}  # group.instance.id -> member id
        self.protocol_counts: dict[str, int] = {}  # protocol name -> how many members support it
        self.pending_members: dict[str, Timer] = {}  # ids handed out (MEMBER_ID_REQUIRED) that have not joined yet
        self.pending_sync_members: set[str] = set()
        self.awaiting_join_count = 0
        self.membership_changes = 0
        self.is_new_member_added = False  # during the initial delay, which is then prolonged
        self.join_timer: Timer | None = None
        self.sync_timer: Timer | None = None

    # ---- state

    def transition_to(self, state: str, now_ms: int) -> None:
        assert self.state in states.VALID_PREVIOUS_STATES[state], f"{self.group_id}: {self.state} to {state}"
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = now_ms
        self.shard.change_state(self, self.previous_state)
        if state != states.DEAD:
            self.publish()

    def publish(self) -> None:
        """Sets the state and the generation in the lease, for the data plane."""
        self.lease.set_state(states.STATES.index(self.state), self.generation_id)

    @property
    def partition(self) -> int:
        """The partition of ``__consumer_offsets`` that keeps the group."""
        return self.shard.partition

    @property
    def can_rebalance(self) -> bool:
        return self.state in states.VALID_PREVIOUS_STATES[states.PREPARING_REBALANCE]

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def end(self, error_code: int, now_ms: int) -> None:
        """Makes the group Dead: answers waiting requests with ``error_code``, stops the timers, releases the lease."""
        self.transition_to(states.DEAD, now_ms)
        for timer in (self.join_timer, self.sync_timer, *self.pending_members.values()):
            if timer is not None:
                timer.cancel()
        self.pending_members.clear()
        for member in self.members.values():
            self.complete_join(member, JoinResult(error_code, member.member_id))
            member.complete_sync(SyncResult(error_code))
        self.lease.release()
        self.holds.release()

    # ---- deletion and expiry

    @property
    def is_empty(self) -> bool:
        """Whether the group has no member."""
        return self.state == states.EMPTY

    @property
    def is_unused(self) -> bool:
        """Whether the group has no member and no pending member (an id that was handed out)."""
        return self.state == states.EMPTY and not self.pending_members

    @property
    def knows_subscriptions(self) -> bool:
        """Whether the topics that its members subscribe to are known."""
        return self.state == states.EMPTY or self.uses_consumer_protocol

    @property
    def is_settled(self) -> bool:
        """Whether the group's offsets may expire: it is Empty, or Stable with known subscriptions."""
        return self.state == states.EMPTY or (self.state == states.STABLE and self.uses_consumer_protocol)

    @property
    def empty_since_ms(self) -> int | None:
        """When the group became Empty (wall clock); None when it has members, never had a member, or when its record
        has no timestamp."""
        is_known = self.protocol_type is not None and self.state_timestamp_ms != NO_TIMESTAMP
        return self.state_timestamp_ms if is_known and self.state == states.EMPTY else None

    def subscribed_among(self, topics: Collection[str]) -> Steps[frozenset[str] | None]:
        """Returns which of ``topics`` its members subscribe to; None when a member's metadata is no subscription."""
        return (yield from subscribed_among(self, topics))

    def record_keys(self) -> list[bytes]:
        """Keys of the group's own records, which get a tombstone when the group goes."""
        return [group_key(self.group_id)]

    # ---- members

    def add(self, member: Member, protocol_type: str, respond: JoinRespond | None) -> None:
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members
            self.static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self.lease.add_member(member.member_id, member.group_instance_id)
        self.membership_changes += 1
        self.holds.change(member.held_bytes)
        self._count_protocols(member, 1)
        if respond is not None:
            self.await_join(member, respond)
        self.remove_pending(member.member_id)

    def remove(self, member_id: str) -> None:
        """Removes a member or a pending member, whose waiting JoinGroup must have been answered."""
        member = self.members.pop(member_id, None)
        if member is not None:
            assert not member.is_awaiting_join
            member.complete_sync(SyncResult(ErrorCode.UNKNOWN_MEMBER_ID))
            self.lease.remove_member(member_id, member.group_instance_id)
            self.membership_changes += 1
            self.holds.change(-member.held_bytes)
            self._count_protocols(member, -1)
            if member.group_instance_id is not None:
                del self.static_members[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.remove_pending(member_id)
        self.pending_sync_members.discard(member_id)

    def add_pending(self, member_id: str, timer: Timer) -> None:
        """Notes an id that is handed out; its bytes count until the member joins or the timer expires."""
        self.pending_members[member_id] = timer
        self.holds.change(member_bytes((member_id,), ()))

    def begin_session(self, member: Member, timeout_ms: int | None = None) -> None:
        """Starts the member's session, which expires after ``timeout_ms`` (None: the member's session timeout) without
        a heartbeat or commit."""
        self.lease.start_session(member.member_id, member.session_timeout_ms if timeout_ms is None else timeout_ms)

    def remove_pending(self, member_id: str) -> bool:
        timer = self.pending_members.pop(member_id, None)
        if timer is not None:
            timer.cancel()
            self.holds.change(-member_bytes((member_id,), ()))
        return timer is not None

    def replace_static_member(self, old_member_id: str, new_member_id: str) -> Member:
        """Puts the same instance under a new member id; requests that wait under the old id are answered
        FENCED_INSTANCE_ID."""
        old = self.members[old_member_id]
        instance_id = old.group_instance_id
        assert instance_id is not None
        self.complete_join(old, JoinResult(ErrorCode.FENCED_INSTANCE_ID, old_member_id))
        old.complete_sync(SyncResult(ErrorCode.FENCED_INSTANCE_ID))
        self.lease.replace_member(old_member_id, new_member_id, instance_id)
        new = Member(
            new_member_id,
            instance_id,
            old.client_id,
            old.client_host,
            old.rebalance_timeout_ms,
            old.session_timeout_ms,
            old.protocols,
        )
        new.assignment = old.assignment
        del self.members[old_member_id]
        self.members[new_member_id] = new
        self.membership_changes += 1
        self.holds.change(new.held_bytes - old.held_bytes)
        if old_member_id in self.pending_sync_members:
            self.pending_sync_members.discard(old_member_id)
            self.pending_sync_members.add(new_member_id)
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        self.static_members[instance_id] = new_member_id
        return new

    def validate_member(self, member_id: str, group_instance_id: str | None) -> int:
        if group_instance_id is not None:
            known = self.static_members.get(group_instance_id)
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    # ---- joining

    @property
    def has_all_members_joined(self) -> bool:
        return self.awaiting_join_count == len(self.members) and not self.pending_members

    def await_join(self, member: Member, respond: JoinRespond) -> None:
        self.complete_join(member, JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
        member.join_respond = respond
        self.awaiting_join_count += 1

    def complete_join(self, member: Member, result: JoinResult) -> bool:
        """Answers the member's waiting JoinGroup, if there is one."""
        respond, member.join_respond = member.join_respond, None
        if respond is None:
            return False
        self.awaiting_join_count -= 1
        respond(result)
        return True

    def elect_joined_leader(self) -> bool:
        """Keeps the leader if it has rejoined, else takes the first member that has. Returns False when no member has
        rejoined."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].is_awaiting_join:
            return True
        for member in self.members.values():
            if member.is_awaiting_join:
                self.leader_id = member.member_id
                return True
        return False

    def next_generation(self, now_ms: int) -> None:
        self.generation_id += 1
        self.pending_sync_members.clear()
        if self.members:
            self.protocol_name = self.select_protocol()
            self.transition_to(states.COMPLETING_REBALANCE, now_ms)
        else:
            self.protocol_name = None
            self.transition_to(states.EMPTY, now_ms)

    def joined_members(self) -> tuple[JoinedMember, ...]:
        return tuple(
            JoinedMember(member.member_id, member.group_instance_id, member.metadata(self.protocol_name))
            for member in self.members.values()
        )

    def join_result(self, member_id: str) -> JoinResult:
        """The answer to a JoinGroup of ``member_id`` with the current generation; only the leader gets the members."""
        is_leader = self.leader_id == member_id
        return JoinResult(
            ErrorCode.NONE,
            member_id,
            self.generation_id,
            self.protocol_type,
            self.protocol_name,
            self.leader_id or "",
            members=self.joined_members() if is_leader else (),
        )

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # ---- protocols

    def supports_protocols(self, protocol_type: str, protocols: Protocols) -> bool:
        if self.state == states.EMPTY:
            return bool(protocol_type and protocols)
        if self.protocol_type != protocol_type:
            return False
        size = len(self.members)
        return any(self.protocol_counts.get(name, 0) == size for name, _ in protocols)

    def select_protocol(self) -> str:
        """The candidate with most first choices; a tie goes to the candidate that Java's HashMap yields first, as in
        Kafka."""
        candidates = self._candidate_protocols()
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return min(votes, key=lambda name: (-votes[name], hash_map_bucket(name)))

    def update_protocols(self, member: Member, protocols: Protocols) -> None:
        self._count_protocols(member, -1)
        before = member.held_bytes
        member.set_protocols(protocols)
        self.membership_changes += 1
        self.holds.change(member.held_bytes - before)
        self._count_protocols(member, 1)

    def _count_protocols(self, member: Member, step: int) -> None:
        for name in {name for name, _ in member.protocols}:
            count = self.protocol_counts.get(name, 0) + step
            if count:
                self.protocol_counts[name] = count
            else:
                del self.protocol_counts[name]

    def _candidate_protocols(self) -> set[str]:
        """The names that every member supports."""
        size = len(self.members)
        return {name for name, count in self.protocol_counts.items() if count == size}


def hash_map_bucket(text: str) -> int:
    """The bucket of a key in a Java HashMap of 16 buckets, the order in which Kafka meets candidates of a tied vote."""
    hash_code = java_string_hash(text) & 0xFFFFFFFF
    return (hash_code ^ (hash_code >> 16)) & 15
