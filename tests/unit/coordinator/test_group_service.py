"""The coordinator of a started broker, over the engine's test double: its topic, its log, its clock, its restarts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from world import run, running_broker

from kafkastore.coordinator.group import records
from kafkastore.coordinator.group.join import JoinRequest
from kafkastore.coordinator.group.loading import LoadedGroups
from kafkastore.coordinator.group.offsets import CommitPartition, CommitRequest, CommitTopic
from kafkastore.coordinator.group.offsets_log import OFFSETS_TOPIC
from kafkastore.coordinator.group.removal import Remover
from kafkastore.coordinator.group.service import LoopClock, make_offsets_topic
from kafkastore.coordinator.group.sync import SyncRequest
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from kafkastore.coordinator.group.coordinator import GroupCoordinator

CONFIG = {
    "offsets__topic__num__partitions": "3",
    "offsets__topic__replication__factor": "1",
    "group__initial__rebalance__delay__ms": "0",
}


def join_request(member_id: str = "") -> JoinRequest:
    return JoinRequest("g", member_id, None, "c", "/h", "consumer", (("range", b""),), 10_000, 10_000, False, True)


def commit_request(offset: int) -> CommitRequest:
    topic = CommitTopic("t", None, (CommitPartition(0, offset, -1, ""),))
    return CommitRequest("g", "", None, -1, 8, (topic,))


async def loaded(coordinator: GroupCoordinator) -> None:
    while coordinator.store.is_loading or not coordinator.store.partitions:  # noqa: ASYNC110 ends within a few passes
        await asyncio.sleep(0)


def test_nothing_is_made_before_it_is_asked_for(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path, **CONFIG) as broker:
            services = broker.services
            assert services.image.topic(OFFSETS_TOPIC) is None
            coordinator = services.group_coordinator
            assert services.image.topic(OFFSETS_TOPIC) is None
            assert (await coordinator.join_group(join_request())).error_code == ErrorCode.NOT_COORDINATOR
            topic = await make_offsets_topic(services.group_coordinator.config, services.topics)
            assert len(topic.partitions) == 3
            assert topic.configs["cleanup.policy"] == "compact"
            await loaded(coordinator)
            assert sorted(coordinator.store.partitions) == [0, 1, 2]

    run(body)


def test_a_member_joins_syncs_beats_and_its_offsets_are_in_the_log(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path, **CONFIG) as broker:
            services = broker.services
            coordinator = services.group_coordinator
            await make_offsets_topic(services.group_coordinator.config, services.topics)
            await loaded(coordinator)
            committed = await coordinator.commit_offsets(commit_request(5))
            assert committed == [("t", [(0, ErrorCode.NONE)])]
            joined = await coordinator.join_group(join_request())
            assert joined.generation_id == 1
            sync = SyncRequest("g", joined.member_id, None, 1, None, None, ((joined.member_id, b"part"),))
            assert (await coordinator.sync_group(sync)).assignment == b"part"
            assert coordinator.heartbeat("g", joined.member_id, None, 1) == ErrorCode.NONE
            partition = coordinator.store.partition_for("g")
            rows, _ = services.engine.read_records(OFFSETS_TOPIC, partition, 0, 1 << 20)
            kinds = [type(records.read_key(row.key or b"")) for row in rows]
            assert kinds == [records.OffsetKey, records.GroupKey]
            # another election reads it all again
            coordinator.on_resignation(partition)
            coordinator.on_election(partition, 1)
            assert (await coordinator.fetch_offsets("g", None)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            await loaded(coordinator)
            assert (await coordinator.fetch_offsets("g", None)).topics[0][1][0].offset == 5
            assert coordinator.describe_group("g").members[0].assignment == b"part"

    run(body)


def test_a_commit_waits_for_every_replica_in_sync(tmp_path: Path) -> None:  # R3.3
    async def body() -> None:
        async with running_broker(tmp_path, **CONFIG) as broker:
            services = broker.services
            await make_offsets_topic(services.group_coordinator.config, services.topics)
            await loaded(services.group_coordinator)
            with patch.object(services.engine, "append", wraps=services.engine.append) as append:
                await services.group_coordinator.commit_offsets(commit_request(5))
            ((_, _, _, required_acks, _), _) = append.call_args
            assert required_acks == -1

    run(body)


def test_a_log_of_several_reads_is_loaded_to_its_end(tmp_path: Path) -> None:  # H18
    async def body() -> None:
        async with running_broker(tmp_path, **CONFIG) as broker:
            coordinator = broker.services.group_coordinator
            await make_offsets_topic(broker.services.group_coordinator.config, broker.services.topics)
            await loaded(coordinator)
            for offset in (5, 6, 7):
                await coordinator.commit_offsets(commit_request(offset))
            with patch("kafkastore.coordinator.group.replicated_log.LOAD_BYTES", 1):
                coordinator.on_election(coordinator.store.partition_for("g"), 1)
                await loaded(coordinator)
            assert (await coordinator.fetch_offsets("g", None)).topics[0][1][0].offset == 7

    run(body)


def test_a_load_that_a_bug_ends_leaves_no_partition_loading(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with running_broker(tmp_path, **CONFIG) as broker:
            coordinator = broker.services.group_coordinator
            await make_offsets_topic(broker.services.group_coordinator.config, broker.services.topics)
            await loaded(coordinator)
            await coordinator.commit_offsets(commit_request(5))
            partition = coordinator.store.partition_for("g")
            with patch.object(LoadedGroups, "apply", side_effect=ZeroDivisionError):
                coordinator.on_election(partition, 1)
                async with asyncio.timeout(10):
                    await loaded(coordinator)
            assert (await coordinator.list_groups((), ())) == (ErrorCode.NONE, [])
            assert coordinator.heartbeat("g", "m", None, 1) == ErrorCode.NOT_COORDINATOR
            coordinator.on_election(partition, 2)
            await loaded(coordinator)
            assert coordinator.heartbeat("g", "m", None, 1) == ErrorCode.UNKNOWN_MEMBER_ID

    run(body)
    assert f"Loading {OFFSETS_TOPIC}-" in caplog.text


def test_offsets_expire_also_after_a_pass_that_a_bug_ended(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with running_broker(tmp_path, **CONFIG, offsets__retention__check__interval__ms="1") as broker:
            passes = asyncio.Semaphore(0)

            def fail() -> None:
                passes.release()
                raise ZeroDivisionError

            with patch.object(Remover, "expire", side_effect=fail):
                _ = broker.services.group_coordinator  # made now
                async with asyncio.timeout(10):
                    await passes.acquire()
                    await passes.acquire()

    run(body)
    assert "Offsets could not be expired" in caplog.text


def test_whoever_waits_is_answered_when_the_broker_stops(tmp_path: Path) -> None:
    async def body() -> Any:
        async with running_broker(tmp_path, **{**CONFIG, "group__initial__rebalance__delay__ms": "60000"}) as broker:
            coordinator = broker.services.group_coordinator
            await make_offsets_topic(broker.services.group_coordinator.config, broker.services.topics)
            await loaded(coordinator)
            waiting = asyncio.ensure_future(coordinator.join_group(join_request()))
            await asyncio.sleep(0)
            assert not waiting.done()
        assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR

    run(body)


def test_a_commit_that_no_batch_can_be_built_of_is_answered_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any) -> bytes:
        raise ValueError("2147483648 bytes are more than a batch may have")

    async def body() -> None:
        async with running_broker(tmp_path, **CONFIG) as broker:
            coordinator = broker.services.group_coordinator
            await make_offsets_topic(broker.services.group_coordinator.config, broker.services.topics)
            await loaded(coordinator)
            with patch("kafkastore.coordinator.group.replicated_log.build_batch", refuse):
                committed = await asyncio.wait_for(coordinator.commit_offsets(commit_request(5)), 10)
            assert committed == [("t", [(0, ErrorCode.UNKNOWN_SERVER_ERROR)])]
            assert await coordinator.commit_offsets(commit_request(6)) == [("t", [(0, ErrorCode.NONE)])]

    run(body)
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.getMessage().startswith("Append to __consumer_offsets-")
    assert record.exc_info is not None


def test_the_clock_of_the_loop_never_calls_early() -> None:
    async def body() -> None:
        loop = asyncio.get_running_loop()
        clock = LoopClock(loop)
        called = loop.create_future()
        deadline_ms = clock.monotonic_ms() + 3
        clock.call_at(deadline_ms, lambda: called.set_result(clock.monotonic_ms()))
        assert await called >= deadline_ms

    run(body)
