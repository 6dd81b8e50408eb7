"""The coordinator of a started broker over the compiled data plane: its topic, its log, its clock, its sessions, its
restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from world import broker_config, run, until

from fixtures.offsets.wire_client import WireClient
from kafkastore.coordinator.group.classic.join import JoinRequest
from kafkastore.coordinator.group.classic.loading import Loader
from kafkastore.coordinator.group.classic.member import JoinResult
from kafkastore.coordinator.group.classic.sync import SyncRequest
from kafkastore.coordinator.group.removal import Remover
from kafkastore.coordinator.group_coordinator import GroupCoordinator
from kafkastore.coordinator.runtime.clock import LoopClock
from kafkastore.errors import ErrorCode
from kafkastore.internal_topics import OFFSETS_TOPIC
from kafkastore.server.broker import Broker
from kafkastore.server.surroundings import now_ms
from peer.broker_process import free_port

CONFIG = {
    "offsets__topic__num__partitions": "3",
    "offsets__topic__replication__factor": "1",
    "group__initial__rebalance__delay__ms": "0",
    "group__min__session__timeout__ms": "1",
}
LIMIT_S = 30


def join_request(member_id: str = "", group_id: str = "g", session_timeout_ms: int = 10_000) -> JoinRequest:
    return JoinRequest(
        group_id, member_id, None, "c", "/h", "consumer", (("range", b""),), session_timeout_ms, 10_000, False, True
    )


class Client:
    """A client with its own connection, which blocks in a thread."""

    def __init__(self, port: int) -> None:
        self.wire = WireClient(port, timeout_s=LIMIT_S)

    async def ask(self, api: str, version: int, **fields: Any) -> Any:
        return await asyncio.to_thread(self.wire.ask, api, version, **fields)

    async def commit(self, offsets: dict[tuple[str, int], int], group_id: str = "g") -> int:
        """Commits offsets; returns the greatest error code of the partitions."""
        topics = [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": index,
                        "committed_offset": offset,
                        "committed_leader_epoch": -1,
                        "committed_metadata": "",
                    }
                ],
            }
            for (topic, index), offset in offsets.items()
        ]
        named = {"group_id": group_id, "member_id": "", "group_instance_id": None}
        answer = await self.ask("offset_commit", 8, generation_id_or_member_epoch=-1, topics=topics, **named)
        return max(row.error_code for topic in answer.topics for row in topic.partitions)

    async def fetched(self, group_id: str = "g") -> dict[tuple[str, int], int] | int:
        """The group's committed offsets, or an error code."""
        answer = await self.ask("offset_fetch", 7, group_id=group_id, topics=None, require_stable=False)
        if answer.error_code:
            return int(answer.error_code)
        return {
            (topic.name, row.partition_index): row.committed_offset
            for topic in answer.topics
            for row in topic.partitions
        }

    async def beat(self, joined: JoinResult, group_id: str = "g") -> int:
        named = {"group_id": group_id, "member_id": joined.member_id, "group_instance_id": None}
        answer = await self.ask("heartbeat", 4, generation_id=joined.generation_id, **named)
        return int(answer.error_code)


async def loaded(coordinator: GroupCoordinator) -> None:
    await until(lambda: coordinator.partitions.states and not coordinator.partitions.is_loading)


@asynccontextmanager
async def listening(folder: Path, **properties: str) -> AsyncIterator[tuple[Broker, int]]:
    """A running broker with threads and sockets, and the port it listens on; the broker is stopped at the end."""
    port = free_port()
    broker = Broker(broker_config(folder, listeners=f"PLAINTEXT://127.0.0.1:{port}", **properties))
    await broker.start()
    try:
        yield broker, port
    finally:
        await broker.stop()


@asynccontextmanager
async def coordinating(folder: Path, **properties: str) -> AsyncIterator[tuple[Any, GroupCoordinator, Client]]:
    """A broker whose ``__consumer_offsets`` is loaded, and which has topics t and u."""
    async with listening(folder, **{**CONFIG, **properties}) as (broker, port):
        services = broker.services
        client = Client(port)
        try:
            for name in ("t", "u"):
                if services.image.topic(name) is None:
                    await services.topics.create(name)
            await services.topics.create_internal(OFFSETS_TOPIC)
            await loaded(services.group_coordinator)
            yield services, services.group_coordinator, client
        finally:
            client.wire.close()


async def answered(call: Callable[[Any, Callable[[Any], None]], None], request: Any) -> Any:
    future = asyncio.get_running_loop().create_future()
    call(request, future.set_result)
    return await future


async def stable_member(coordinator: GroupCoordinator, **fields: Any) -> JoinResult:
    joined = await answered(coordinator.join_group, join_request(**fields))
    group_id = fields.get("group_id", "g")
    sync = SyncRequest(
        group_id, joined.member_id, None, joined.generation_id, None, None, ((joined.member_id, b"part"),)
    )
    assert (await answered(coordinator.sync_group, sync)).assignment == b"part"
    return joined


def keys_of(services: Any, partition: int) -> Iterable[tuple[bytes, bytes | None]]:
    rows, _ = services.engine.read_records(OFFSETS_TOPIC, partition, 0, 1 << 20)
    return [(row.key or b"", row.value) for row in rows]


def test_offsets_topic_is_not_created_before_it_is_requested(tmp_path: Path) -> None:
    async def body() -> None:
        async with listening(tmp_path, **CONFIG) as (broker, _):
            services = broker.services
            assert services.image.topic(OFFSETS_TOPIC) is None
            coordinator = services.group_coordinator
            assert services.image.topic(OFFSETS_TOPIC) is None
            assert (await answered(coordinator.join_group, join_request())).error_code == ErrorCode.NOT_COORDINATOR
            topic = await services.topics.create_internal(OFFSETS_TOPIC)
            assert len(topic.partitions) == 3
            assert topic.configs["cleanup.policy"] == "compact"
            await loaded(coordinator)
            assert sorted(coordinator.partitions.states) == [0, 1, 2]

    run(body)


def test_a_member_joins_syncs_beats_and_its_offsets_are_in_the_log(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, coordinator, client):
            assert await client.commit({("t", 0): 5}) == ErrorCode.NONE
            await until(lambda: "g" in coordinator.store.groups)
            joined = await stable_member(coordinator)
            assert joined.generation_id == 1
            assert await client.beat(joined) == ErrorCode.NONE
            assert await client.beat(joined._replace(generation_id=2)) == ErrorCode.ILLEGAL_GENERATION
            partition = coordinator.store.partition_for("g")
            assert [key[:2] for key, _ in keys_of(services, partition)] == [b"\0\1", b"\0\2"]
            # after another election the partition is loaded again
            coordinator.on_resignation(partition)
            assert await client.fetched() == await client.beat(joined) == ErrorCode.NOT_COORDINATOR
            coordinator.on_election(partition, 1)
            await loaded(coordinator)
            assert await client.fetched() == {("t", 0): 5}
            assert await client.beat(joined) == ErrorCode.NONE
            assert coordinator.describe_group("g").members[0].assignment == b"part"

    run(body)


def test_a_member_that_falls_silent_is_removed_and_one_that_beats_is_not(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (_, coordinator, client):
            silent = await stable_member(coordinator, group_id="silent", session_timeout_ms=300)
            alive = await stable_member(coordinator, group_id="alive", session_timeout_ms=3_000)
            codes = set()
            async with asyncio.timeout(LIMIT_S):
                while coordinator.describe_group("silent").members:
                    codes.add(await client.beat(alive, "alive"))
            assert codes == {ErrorCode.NONE}
            assert await client.beat(silent, "silent") == ErrorCode.UNKNOWN_MEMBER_ID
            assert coordinator.describe_group("silent").state == "Empty"

    run(body)


def test_deleted_groups_and_offsets_leave_the_log(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, coordinator, client):
            for group_id in ("a", "b", "c"):
                assert await client.commit({("t", 0): 5, ("u", 0): 6}, group_id) == ErrorCode.NONE
            bare = await stable_member(coordinator, group_id="bare", session_timeout_ms=1)
            await until(lambda: coordinator.describe_group("bare").state == "Empty")
            assert await coordinator.delete_offsets("a", [("t", [0])]) == (0, [("t", [(0, 0)])])
            assert await client.fetched("a") == {("u", 0): 6}
            deleted = await asyncio.wait_for(coordinator.delete_groups(["b", "bare"]), LIMIT_S)
            assert deleted == {"b": 0, "bare": 0}
            assert await client.beat(bare, "bare") == ErrorCode.UNKNOWN_MEMBER_ID
            await services.topics.delete("u")
            async with asyncio.timeout(LIMIT_S):
                while await client.fetched("c") != {("t", 0): 5} or await client.fetched("a") != {}:
                    pass
            for partition in range(3):
                coordinator.on_election(partition, 1)
            await loaded(coordinator)
            assert [await client.fetched(group_id) for group_id in ("a", "b", "c")] == [{}, {}, {("t", 0): 5}]
            assert list(coordinator.store.groups) == ["c"]

    run(body)


def test_offsets_and_their_group_expire(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (_, coordinator, client):
            await client.commit({("t", 0): 5})
            await stable_member(coordinator, group_id="busy")
            await until(lambda: "g" in coordinator.store.groups)
            await coordinator.run_steps(coordinator.remover.expire())
            assert await client.fetched() == {("t", 0): 5}
            coordinator.config.offsets_retention_minutes = 0
            await asyncio.wait_for(coordinator.run_steps(coordinator.remover.expire()), LIMIT_S)
            assert await client.fetched() == {}
            assert list(coordinator.store.groups) == ["busy"]

    run(body)


def test_a_restarted_broker_serves_its_groups_without_a_request_to_the_control_plane(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (_, coordinator, client):
            joined = await stable_member(coordinator)
            assert await client.commit({("t", 0): 5}, "simple") == ErrorCode.NONE
        async with listening(tmp_path, **CONFIG) as (_, port):
            client = Client(port)
            async with asyncio.timeout(LIMIT_S):
                while isinstance(found := await client.fetched("simple"), int):
                    assert found in (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
                while code := await client.beat(joined):
                    assert code == ErrorCode.NOT_COORDINATOR
            assert found == {("t", 0): 5}
            client.wire.close()

    run(body)


def test_a_load_that_a_bug_ends_leaves_no_partition_loading(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (_, coordinator, client):
            joined = await stable_member(coordinator)
            partition = coordinator.store.partition_for("g")
            with patch.object(Loader, "enter", side_effect=ZeroDivisionError):
                coordinator.on_election(partition, 1)
                await loaded(coordinator)
            assert (await coordinator.list_groups((), ())) == (ErrorCode.NONE, [])
            assert await client.beat(joined) == ErrorCode.NOT_COORDINATOR
            coordinator.on_election(partition, 2)
            await loaded(coordinator)
            assert await client.beat(joined) == ErrorCode.NONE

    run(body)
    assert f"Loading {OFFSETS_TOPIC}-" in caplog.text


def test_a_partition_that_is_not_led_is_not_loaded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (_, coordinator, _):
            coordinator.on_election(77, 1)
            await until(lambda: 77 not in coordinator.partitions.states)
            assert (await coordinator.list_groups((), ())) == (ErrorCode.NONE, [])

    run(body)
    assert f"Failed to load {OFFSETS_TOPIC}-77" in caplog.text
    assert not [record for record in caplog.records if record.exc_info]


def test_offsets_expire_also_after_a_pass_that_a_bug_ended(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        properties = {**CONFIG, "offsets__retention__check__interval__ms": "1"}
        async with listening(tmp_path, **properties) as (broker, _):
            passes = asyncio.Semaphore(0)

            def fail() -> None:
                passes.release()
                raise ZeroDivisionError

            with patch.object(Remover, "expire", side_effect=fail):
                _ = broker.services.group_coordinator  # the coordinator is made now
                async with asyncio.timeout(LIMIT_S):
                    await passes.acquire()
                    await passes.acquire()

    run(body)
    assert "Expiry of offsets failed" in caplog.text


def test_waiting_requests_are_answered_when_the_broker_stops(tmp_path: Path) -> None:
    async def body() -> Any:
        async with coordinating(tmp_path, group__initial__rebalance__delay__ms="60000") as (_, coordinator, _):
            waiting = asyncio.ensure_future(answered(coordinator.join_group, join_request()))
            await asyncio.sleep(0)
            assert not waiting.done()
        assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR

    run(body)


def test_a_group_that_no_batch_can_be_built_of_is_answered_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any) -> bytes:
        raise ValueError("2147483648 bytes are more than a batch may have")

    async def body() -> None:
        async with coordinating(tmp_path, group__initial__rebalance__delay__ms="1000") as (_, coordinator, _):
            with patch("kafkastore.coordinator.runtime.internal_log.build_batch", refuse):
                joined = await asyncio.wait_for(answered(coordinator.join_group, join_request()), LIMIT_S)
            assert joined.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            assert (await answered(coordinator.join_group, join_request())).error_code == ErrorCode.NONE

    run(body)
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.getMessage().startswith("Append to __consumer_offsets-")
    assert record.exc_info is not None


def test_the_clock_of_the_loop_never_calls_early() -> None:
    async def body() -> None:
        loop = asyncio.get_running_loop()
        clock = LoopClock(loop, now_ms)
        called = loop.create_future()
        deadline_ms = clock.monotonic_ms() + 3
        clock.call_at(deadline_ms, lambda: called.set_result(clock.monotonic_ms()))
        assert await called >= deadline_ms

    run(body)
