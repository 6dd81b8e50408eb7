"""Random clients against the coordinator: join, sync, heartbeat, commit, leave, crash; time, slow and failing appends,
restarts.

Invariants, checked after every step: a group with members has one leader among them; generations rise by one; every
request is answered exactly once (``Call`` refuses a second answer, ``teardown`` a missing one); a member that sends its
heartbeats and joins is never lost; the offsets that are fetched are those that a restarted broker would return.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.group.classic.budget import Budget
from kafkastore.coordinator.group.classic.group import Group
from kafkastore.coordinator.group.group_store import Shard
from kafkastore.errors import ErrorCode
from unit.coordinator.group_world import Call, World, indexes_are_right, run_at_once
from unit.coordinator.memory_groups import OffsetRow

CLIENTS = 5
SESSION_MS = 10_000
REBALANCE_MS = 30_000


class Client:
    """A consumer as a client library drives it: one request at a time, joining again whenever an answer asks for it."""

    def __init__(self, number: int, instance_id: str | None) -> None:
        self.number = number
        self.instance_id = instance_id
        self.member_id = ""
        self.joined: Any = None
        self.waiting: Call | None = None
        self.kind = ""
        self.is_alive = True

    def forget(self) -> None:
        self.member_id, self.joined = "", None


def last_offsets(world: World) -> dict[tuple[str, int], int]:
    """The naive model: the last value of each key in the log."""
    offsets: dict[tuple[str, int], int] = {}
    for key, value in world.log.partitions.get(world.partition_of("g"), []):
        if isinstance(key, OffsetRow):
            offsets.pop((key.topic, key.partition), None)
            if value is not None:
                offsets[key.topic, key.partition] = value.offset
    return offsets


class Groups(RuleBasedStateMachine):
    clients = Bundle("clients")

    @initialize(delay_ms=st.sampled_from([0, 3000]), target=clients)
    def start(self, delay_ms: int) -> Any:
        self.world = World(initial_rebalance_delay_ms=delay_ms)
        self.all = [Client(number, f"instance-{number}" if number % 2 else None) for number in range(CLIENTS)]
        self.calls: list[Call] = []
        self.generation: int | None = 0  # None when any generation may come
        self.committed = 0
        return multiple(*self.all)

    # ---- what clients do

    @rule(client=clients, is_changed=st.booleans())
    def join(self, client: Client, is_changed: bool) -> None:
        if client.waiting is not None or not client.is_alive:
            return
        protocols = (("range", b"\1" if is_changed else b""), ("roundrobin", b""))
        self._ask(
            client,
            "join",
            self.world.join(
                client.member_id,
                group_instance_id=client.instance_id,
                protocols=protocols,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=REBALANCE_MS,
            ),
        )

    @rule(client=clients)
    def sync(self, client: Client) -> None:
        if client.waiting is not None or client.joined is None or not client.is_alive:
            return
        assignments = {member.member_id: str(client.joined.generation_id).encode() for member in client.joined.members}
        call = self.world.sync(client.joined, assignments, group_instance_id=client.instance_id)
        self._ask(client, "sync", call)

    @rule(client=clients)
    def heartbeat(self, client: Client) -> None:
        if client.waiting is None and client.joined is not None and client.is_alive:
            self._obey(client, self.world.heartbeat(client.joined, instance_id=client.instance_id))

    @rule(client=clients)
    def commit(self, client: Client) -> None:
        if client.waiting is None and client.joined is not None and client.is_alive:
            self.committed += 1
            call = self.world.commit(
                {("t", client.number): self.committed}, client.joined, instance_id=client.instance_id
            )
            self.calls.append(call)

    @rule(client=clients)
    def leave(self, client: Client) -> None:
        if client.waiting is None and client.member_id:
            self.world.leave(client.member_id)
            client.forget()

    @rule(client=clients)
    def crash(self, client: Client) -> None:
        client.is_alive = False

    @rule(client=clients)
    def give_up(self, client: Client) -> None:
        """The client's request timed out: it will send it again under the same member id, over another connection."""
        client.waiting = None

    @rule(client=clients)
    def come_back(self, client: Client) -> None:
        """Restarts the consumer's process: it knows its instance id, not its member id, and reads no old answer."""
        client.is_alive, client.waiting = True, None
        client.forget()

    # ---- events of the broker

    @rule(milliseconds=st.sampled_from([1, 500, 3000, 9000, 30_000]))
    def time_passes(self, milliseconds: int) -> None:
        """Living clients heartbeat in time, as their libraries do."""
        for _ in range(0, milliseconds, 3000):
            for client in self.all:
                self.heartbeat(client)
            self.world.clock.advance(min(milliseconds, 3000))
            self._collect()

    @rule()
    def appends_get_slow(self) -> None:
        self.world.log.is_held = True

    @rule()
    def appends_end(self) -> None:
        self.world.log.release()

    @rule(error_code=st.sampled_from([0, 0, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR]))
    def appends_end_with(self, error_code: int) -> None:
        self.world.log.fail_with = error_code

    @rule()
    def partition_moves_away_and_back(self) -> None:
        self.world.log.release()
        partition = self.world.partition_of("g")
        self.world.coordinator.on_resignation(partition)
        self.world.load(partition)
        self.generation = None  # a generation whose assignment was not written is forgotten with its broker

    @rule()
    def offsets_and_groups_expire(self) -> None:
        run_at_once(self.world.coordinator.remover.expire(), Call())

    @rule()
    def topic_is_deleted(self) -> None:
        run_at_once(self.world.coordinator.remover.forget_topics(["t"]), Call())

    @rule()
    def group_is_deleted(self) -> None:
        self.calls.append(self.world.delete_groups("g"))

    # ---- how clients take answers

    def _ask(self, client: Client, kind: str, call: Call) -> None:
        self.calls.append(call)
        client.waiting, client.kind = call, kind
        self._collect()

    def _collect(self) -> None:
        for client in self.all:
            if client.waiting is None or not client.waiting.is_answered:
                continue
            result, client.waiting = client.waiting.result, None
            if not client.is_alive:
                continue
            if client.kind == "join" and result.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                client.member_id = result.member_id
                client.joined = result if result.error_code == ErrorCode.NONE else None
            else:
                self._obey(client, result.error_code)

    def _obey(self, client: Client, error_code: int) -> None:
        if error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            client.forget()
        elif error_code == ErrorCode.ILLEGAL_GENERATION:
            client.joined = None

    # ---- invariants

    @invariant()
    def group_is_sound(self) -> None:
        if not hasattr(self, "world"):
            return
        self._collect()
        group = self.world.coordinator.store.groups.get("g")
        if group is None:
            self.generation = 0
            return
        assert (group.leader_id in group.members) == bool(group.members)
        assert group.awaiting_join_count == sum(member.is_awaiting_join for member in group.members.values())
        named = {member.group_instance_id: key for key, member in group.members.items() if member.is_static}
        assert named == group.static_members
        if self.generation is not None:
            assert self.generation <= group.generation_id <= self.generation + 2
        self.generation = group.generation_id
        if group.state == states.EMPTY:
            assert not group.members
        elif group.state != states.PREPARING_REBALANCE:  # there a handed-out member id may be pending
            assert group.members
        if group.state == states.PREPARING_REBALANCE:
            assert group.join_timer is not None
            assert group.join_timer.is_running  # otherwise no member would ever be answered
            assert not any(member.sync_respond for member in group.members.values())
        if group.state == states.STABLE:
            assert not any(member.sync_respond for member in group.members.values())
        if group.state == states.COMPLETING_REBALANCE and group.pending_sync_members:
            assert group.sync_timer is not None
            assert group.sync_timer.is_running
        for member in group.members.values():
            assert group.lease.has_session(member.member_id) or member.has_satisfied_heartbeat
            assert group.protocol_counts["range"] == len(group.members)

    @invariant()
    def indexes_and_counts_are_right(self) -> None:
        if hasattr(self, "world"):
            indexes_are_right(self.world)

    @invariant()
    def members_with_waiting_requests_are_known(self) -> None:
        if not hasattr(self, "world"):
            return
        group = self.world.coordinator.store.groups.get("g")
        for client in self.all:
            if client.waiting is not None and not client.waiting.is_answered:
                assert group is not None
                waiting = [member.join_respond for member in group.members.values()]
                waiting += [member.sync_respond for member in group.members.values()]
                assert client.waiting in waiting, "lost: nobody would ever answer it"

    @invariant()
    def offsets_are_those_of_the_log(self) -> None:
        if hasattr(self, "world") and not self.world.log.waiting:
            assert self.world.fetched() == self.world.restarted().fetched() == last_offsets(self.world)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.world.log.fail_with = 0
        self.world.log.release()
        self.world.clock.advance(30 * 60_000)
        assert all(call.is_answered for call in self.calls)
        group = self.world.coordinator.store.groups.get("g")
        assert group is None or group.state == states.EMPTY  # all sessions have expired


@pytest.mark.parametrize("before", states.STATES)
@pytest.mark.parametrize("after", states.STATES)
def test_only_the_moves_of_the_table_are_possible(before: str, after: str) -> None:
    groups = World().groups
    group = Group(Budget(1, 1), "g", Shard(0, 0), groups.lease(0, 0, "g"), 0)
    group.state = before
    if before in states.VALID_PREVIOUS_STATES[after]:
        group.transition_to(after, 1)
        assert (group.previous_state, group.state) == (before, after)
    else:
        with pytest.raises(AssertionError):
            group.transition_to(after, 1)


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_a_group_of_living_members_settles_and_keeps_them_all() -> None:
    """No member is lost: after any faults, clients that send their heartbeats and joins end up in one stable group."""
    for seed in range(40):
        machine = Groups()
        machine.start(delay_ms=0)
        _storm(machine, seed)
        machine.world.log.fail_with = 0
        machine.world.log.release()
        for client in machine.all:
            machine.come_back(client)
        for _ in range(300):
            for client in machine.all:
                _do_duty(machine, client)
            machine.time_passes(3000)
            machine.group_is_sound()
            if _is_settled(machine):
                break
        assert _is_settled(machine), seed
        members = set(machine.world.group().members)
        for _ in range(2):
            for client in machine.all:
                machine.commit(client)
            machine.offsets_are_those_of_the_log()
        machine.time_passes(30_000)
        assert set(machine.world.group().members) == members == {client.member_id for client in machine.all}
        machine.teardown()


def _storm(machine: Groups, seed: int) -> None:
    import random

    chance = random.Random(seed)
    for _ in range(150):
        client = chance.choice(machine.all)
        step = chance.choice(
            [
                "join",
                "join",
                "sync",
                "sync",
                "heartbeat",
                "commit",
                "leave",
                "crash",
                "give_up",
                "come_back",
                "time",
                "slow",
                "end",
            ]
        )
        if step == "join":
            machine.join(client, chance.random() < 0.2)
        elif step == "time":
            machine.time_passes(chance.choice([1, 3000, 9000]))
        elif step in ("slow", "end"):
            machine.world.log.release() if step == "end" else machine.appends_get_slow()
        else:
            getattr(machine, step)(client)
        machine.group_is_sound()
        machine.members_with_waiting_requests_are_known()
        machine.offsets_are_those_of_the_log()


def _do_duty(machine: Groups, client: Client) -> None:
    if client.waiting is not None:
        return
    if client.joined is None:
        machine.join(client, False)
        if client.waiting is None and client.joined is None:
            machine.join(client, False)
        return
    answer = machine.world.heartbeat(client.joined, instance_id=client.instance_id)
    machine._obey(client, answer)
    if answer == ErrorCode.REBALANCE_IN_PROGRESS:
        machine.join(client, False)
    elif answer == ErrorCode.NONE:
        machine.sync(client)


def _is_settled(machine: Groups) -> bool:
    group = machine.world.coordinator.store.groups.get("g")
    return (
        group is not None
        and group.state == states.STABLE
        and len(group.members) == CLIENTS
        and all(
            client.joined is not None and client.joined.generation_id == group.generation_id for client in machine.all
        )
    )
