"""Reassignments and elections requested by a node of the store, as Kafka's tools up to 2.x do."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING

import pytest

from kafkastore.errors import ErrorCode
from kafkastore.metadata.admin_nodes import (
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    decode_reassignments,
    encode_reassignments,
)
from kafkastore.metadata.assignment import Assigned
from kafkastore.metadata.store import NoNodeError, SetData
from unit.controller.test_reassignment import Mover, play_moves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from unit.controller.controller_world import World

Key = tuple[str, int]


async def write(world: World, path: str, data: bytes) -> None:
    await world.store.ensure_path("/admin")
    await world.store.create(path, data)


async def ask(world: World, asked: Mapping[Key, Sequence[int]]) -> None:
    await write(world, REASSIGN_PARTITIONS, encode_reassignments(asked))


async def entries(world: World) -> dict[Key, tuple[int, ...]] | None:
    """The reassignments in the node; None without a node."""
    try:
        node = await world.store.get(REASSIGN_PARTITIONS)
    except NoNodeError:
        return None
    return decode_reassignments(node.data)[0]


async def until_entries(world: World, expected: Mapping[Key, Sequence[int]] | None) -> None:
    async def is_so() -> bool:
        return await entries(world) == expected

    await world.eventually(is_so)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings of kafkastore, but for those about a broker that is still starting on a busy machine: asyncio warns
    of calls that an earlier test cancelled."""
    ours = [
        record
        for record in caplog.records
        if record.name.startswith("kafkastore") and record.name != "kafkastore.controller.channels"
    ]
    return [record.getMessage() for record in ours if record.levelno >= logging.WARNING]


def test_partitions_in_the_node_move_and_the_node_goes_at_the_end(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3), (2, 3))
        await ask(world, {("t", 0): (4, 2), ("t", 1): (3, 2)})
        await mover.until(Assigned((4, 2, 3), (4,), (3,)))
        await mover.until(Assigned((3, 2)), 1)  # a move that only changes the order is complete at once
        await until_entries(world, {("t", 0): (4, 2)})
        await mover.catch_up(2, 3, 4)
        await mover.until(Assigned((4, 2)))
        await until_entries(world, None)
        await ask(world, {("t", 0): (2, 3)})  # the next reassignment can begin
        await mover.until(Assigned((2, 3, 4), (3,), (4,)))

    play_moves(tmp_path, test)


def test_entries_that_cannot_be_done_are_named_once_and_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        wrong = {("t", 1): (2,), ("nobody", 0): (2,), ("t", 0): (4, 2)}
        data = json.loads(encode_reassignments(wrong))
        data["partitions"] += [{"topic": "t", "partition": "x"}, {"topic": "t", "partition": 2, "replicas": [9, 9]}]
        await write(world, REASSIGN_PARTITIONS, json.dumps(data).encode())
        await mover.until(Assigned((4, 2, 3), (4,), (3,)))
        await until_entries(world, {("t", 0): (4, 2)})
        await world.quiet()
        (line,) = warnings(caplog)
        for part in ("nobody-0", "t-1", "t-2", '"partition": "x"'):
            assert part in line

    play_moves(tmp_path, test)


def test_line_about_many_faults_stays_short(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await ask(world, {("nobody", number): (2,) for number in range(15)})
        await until_entries(world, None)
        (line,) = warnings(caplog)
        assert line.count("nobody-") == 10
        assert line.endswith("; and 5 more")

    play_moves(tmp_path, test)


@pytest.mark.parametrize("target", [(), (4, 4), (4, 9)])
def test_target_that_cannot_be_is_refused_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, target: Sequence[int]
) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await ask(world, {("t", 0): target})
        await until_entries(world, None)
        assert await mover.assigned() == Assigned((2, 3))
        assert len(warnings(caplog)) == 1
        assert "t-0: " in warnings(caplog)[0]

    play_moves(tmp_path, test)


@pytest.mark.parametrize("path", [REASSIGN_PARTITIONS, PREFERRED_REPLICA_ELECTION])
@pytest.mark.parametrize("data", [b"", b"{", b"[" * 50_000, b'{"version":7}'])
def test_invalid_content_is_named_and_taken_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str, data: bytes
) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await write(world, path, data)

        async def is_gone() -> bool:
            return await world.store.exists(path) is None

        await world.eventually(is_gone)
        assert len(warnings(caplog)) == 1
        assert path in warnings(caplog)[0]
        assert await mover.ask((4, 2)) == ErrorCode.NONE

    play_moves(tmp_path, test)


def test_node_that_is_deleted_or_invalidated_ends_nothing(tmp_path: Path) -> None:  # as Kafka's controller
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3), (2, 3))
        await ask(world, {("t", 0): (4, 2), ("t", 1): (5, 2)})
        await mover.until(Assigned((5, 2, 3), (5,), (3,)), 1)
        await world.store.set(REASSIGN_PARTITIONS, b"never mind")
        await until_entries(world, None)
        await world.quiet()
        assert set(await mover.under_way()) == {("t", 0), ("t", 1)}
        await mover.catch_up(2, 3, 4)
        await mover.until(Assigned((4, 2)))

    play_moves(tmp_path, test)


def test_move_that_the_protocol_cancels_or_replaces_leaves_the_node(tmp_path: Path) -> None:  # KIP-455
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3), (2, 3), (2, 3))
        await ask(world, {("t", number): (4, 2) for number in range(3)})
        await mover.until(Assigned((4, 2, 3), (4,), (3,)), 2)
        assert await mover.ask(None) == ErrorCode.NONE
        assert await entries(world) == {("t", 1): (4, 2), ("t", 2): (4, 2)}  # before any broker is notified
        assert await mover.ask((5, 2), 1) == ErrorCode.NONE
        assert await mover.ask((9, 2), 2) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert await entries(world) == {("t", 2): (4, 2)}
        assert await mover.ask(None, 2) == ErrorCode.NONE
        assert await entries(world) is None

    play_moves(tmp_path, test)


def test_next_controller_takes_the_node_over(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3), (2, 3), (2, 3))
        await ask(world, {("t", 0): (4, 2), ("t", 1): (4, 2)})
        await mover.until(Assigned((4, 2, 3), (4,), (3,)), 1)
        await world.brokers[4].kill()  # a target that was alive when the move was requested
        await world.brokers[1].kill()
        await world.active()
        await world.quiet()
        assert await entries(world) == {("t", 0): (4, 2), ("t", 1): (4, 2)}
        await world.add(4)
        await world.eventually(lambda: ("t", 0) in world.brokers[4].told)
        await mover.catch_up(2, 3, 4)
        await mover.until(Assigned((4, 2)))
        await until_entries(world, {("t", 1): (4, 2)})

    play_moves(tmp_path, test)


def test_entry_that_was_complete_when_the_controller_died_is_dropped(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await world.brokers[1].kill()
        await ask(world, {("t", 0): (2, 3)})
        await until_entries(world, None)

    play_moves(tmp_path, test)


def test_topic_that_is_deleted_leaves_the_node(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await ask(world, {("t", 0): (4, 2)})
        await mover.until(Assigned((4, 2, 3), (4,), (3,)))
        await (await world.active()).delete_topic("t")
        await until_entries(world, None)

    play_moves(tmp_path, test)


def test_topic_whose_deletion_takes_long_leaves_the_node_at_once(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await ask(world, {("t", 0): (4, 2)})
        await mover.until(Assigned((4, 2, 3), (4,), (3,)))
        world.brokers[3].refuses_deletion = True
        await (await world.active()).delete_topic("t")
        await until_entries(world, None)
        assert await world.store.exists("/brokers/topics/t") is not None

    play_moves(tmp_path, test)


def test_change_of_the_node_while_it_moves_is_taken(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await ask(world, {("t", 0): (4, 2)})
        await mover.until(Assigned((4, 2, 3), (4,), (3,)))
        changed = SetData(REASSIGN_PARTITIONS, encode_reassignments({("t", 0): (5, 2)}))
        await asyncio.gather(world.store.multi([changed]), mover.catch_up(2, 3))
        await mover.until(Assigned((5, 2, 3), (5,), (3,)))  # broker 4's replica is deleted
        assert await entries(world) == {("t", 0): (5, 2)}

    play_moves(tmp_path, test)


def test_preferred_leaders_are_elected_and_the_node_goes(  # preferred-replica-election of Kafka 2.x
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3), (3, 2))
        await world.brokers[2].kill()
        await world.led("t", 3)
        await world.add(2)
        await world.eventually(lambda: ("t", 0) in world.brokers[2].told)
        await mover.catch_up(3, 2)
        asked = [{"topic": "t", "partition": number} for number in (0, 1, 7)]
        await write(world, PREFERRED_REPLICA_ELECTION, json.dumps({"version": 1, "partitions": asked}).encode())
        await world.led("t", 2)

        async def is_gone() -> bool:
            return await world.store.exists(PREFERRED_REPLICA_ELECTION) is None

        await world.eventually(is_gone)
        assert [line for line in warnings(caplog) if "t-7: there is no such partition" in line]
        assert "t-1" not in "".join(warnings(caplog))

    play_moves(tmp_path, test)
