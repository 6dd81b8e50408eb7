"""A broker joins a cluster, loses its session, comes back (KIP-966). Its registration decides whether
it may lead."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from member_world import (
    REGISTRATION,
    end_session,
    expire_session,
    other_store,
    put_topic,
    running_member,
    store_path,
    watch_registrations,
)
from stepped import Engine
from world import LIMIT_S, run, started_broker, until

from kafkastore.controller.controller import Controller
from kafkastore.dynamic_config.changes import ConfigChanges
from kafkastore.errors import StartupError
from kafkastore.membership import member, registration
from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.assignment import ReplicaAssignment, encode_assigned
from kafkastore.metadata.image import BrokerImage, TopicImage
from kafkastore.metadata.leadership import Leadership
from kafkastore.metadata.nodes import encode_cluster_id
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import MetadataStore, Node, SetData, StoreUnavailableError
from kafkastore.server.broker import Broker, StopRequested

T_ID = b"t".ljust(16, b"-")


def has_log(topic_id: bytes = T_ID, name: str = "t", *, is_unclean: bool = False) -> Callable[[Engine], None]:
    def prepare(engine: Engine) -> None:
        engine.add_log(name, 0, topic_id)
        if is_unclean:
            engine.kill(*engine.log_dirs)

    return prepare


def registered(folder: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Engine], None] | None) -> list[bool]:
    """Starts a member; returns ``clean_shutdown`` of each of its registrations."""
    seen = watch_registrations(monkeypatch)

    async def body() -> None:
        async with running_member(folder, prepare):
            pass

    run(body)
    return [one.get("clean_shutdown", True) for one in seen]


def with_topic(folder: Path, leadership: Leadership | None = None, replicas: tuple[int, ...] = (1,)) -> TopicImage:
    async def body() -> TopicImage:
        async with other_store(folder) as store:
            return await put_topic(store, "t", replicas, leadership)

    found: TopicImage = run(body)
    return found


# ---- clean or not
def test_clean_start_registers_as_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_topic(tmp_path)
    assert registered(tmp_path, monkeypatch, has_log()) == [True]


def test_unclean_stop_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_topic(tmp_path)
    assert registered(tmp_path, monkeypatch, has_log(is_unclean=True)) == [False]


@pytest.mark.parametrize(
    ("leadership", "is_clean"),
    [
        (Leadership(2, 4, (2, 1)), False),  # in sync
        (Leadership(2, 4, (2,), (1,)), False),  # eligible: it may lead when nobody in sync is alive (KIP-966)
        (Leadership(2, 4, (2, 3)), True),  # neither: no leader election counts on its records
    ],
)
def test_log_that_is_missing_is_registered_where_others_count_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leadership: Leadership, is_clean: bool
) -> None:
    with_topic(tmp_path, leadership, (1, 2, 3))
    assert registered(tmp_path, monkeypatch, None) == [is_clean]


def test_log_of_an_older_topic_of_the_name_counts_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_topic(tmp_path, Leadership(2, 4, (2, 1)), (1, 2))
    assert registered(tmp_path, monkeypatch, has_log(b"o" * 16)) == [False]


def test_failed_directory_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(engine: Engine) -> None:
        (tmp_path / "one").touch()  # no directory

    seen = watch_registrations(monkeypatch)
    with_topic(tmp_path)

    async def body() -> None:
        async with running_member(tmp_path, prepare, log__dirs=f"{tmp_path}/one,{tmp_path}/two"):
            pass

    run(body)
    assert [(one["clean_shutdown"], one["unclean"]) for one in seen] == [(False, {"t": [0]})]


def test_controller_draws_the_consequences_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the session is lost later, the logs went on: the broker then registers as clean."""
    seen = watch_registrations(monkeypatch)
    with_topic(tmp_path)

    async def body() -> None:
        async with running_member(tmp_path, has_log(is_unclean=True)) as broker:
            await expire_session(tmp_path, broker)
            await until(lambda: len(seen) == 2)

    run(body)
    assert [one.get("clean_shutdown", True) for one in seen] == [False, True]


def test_unclean_stop_is_registered_until_a_controller_has_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power loss of all brokers there is no controller to read the first registration; the session may end
    before a controller has read it."""
    seen = watch_registrations(monkeypatch)
    with_topic(tmp_path)

    async def body() -> None:
        made: list[Broker] = []
        init = Broker.__init__
        monkeypatch.setattr(Broker, "__init__", lambda self, *given: (init(self, *given), made.append(self))[0])

        async def no_controller(self: Controller) -> None:
            await expire_session(tmp_path, made[0])
            await until(lambda: len(seen) == 2)

        monkeypatch.setattr(Controller, "start", no_controller)
        monkeypatch.setattr(member, "METADATA_LIMIT_S", 0)
        with pytest.raises(StartupError, match="no controller"):
            await started_broker(tmp_path, has_log(is_unclean=True), kafkastore__metadata__path=store_path(tmp_path))

    run(body)
    assert [one.get("clean_shutdown", True) for one in seen] == [False, False]


def test_stop_while_no_controller_answers_takes_effect_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor kills a broker that has not stopped after half a minute: the next start would be unclean."""
    made: list[Broker] = []
    init = Broker.__init__
    monkeypatch.setattr(Broker, "__init__", lambda self, *given: (init(self, *given), made.append(self))[0])

    async def no_controller(self: Controller) -> None:
        made[0].request_stop()

    async def body() -> None:
        monkeypatch.setattr(Controller, "start", no_controller)
        with pytest.raises(StopRequested):
            async with asyncio.timeout(LIMIT_S):
                await started_broker(tmp_path, has_log(), kafkastore__metadata__path=store_path(tmp_path))
        async with other_store(tmp_path) as store:
            assert await store.exists(REGISTRATION) is None

    run(body)


# ---- the logs on this broker
@pytest.mark.parametrize(
    ("prepare", "replicas"),
    [(has_log(b"o" * 16), (1,)), (has_log(name="unknown"), (1,)), (has_log(), (2, 3))],
    ids=["another topic of the name", "no topic", "moved to other brokers"],
)
def test_log_that_is_not_this_brokers_is_set_aside_and_never_deleted(
    tmp_path: Path, prepare: Callable[[Engine], None], replicas: tuple[int, ...]
) -> None:
    with_topic(tmp_path, replicas=replicas)

    async def body() -> None:
        async with running_member(tmp_path, prepare) as broker:
            engine = broker.services.engine
            assert len(engine.stray) == 1
            assert engine.deleted == []

    run(body)


def test_log_of_a_replica_that_was_taken_meanwhile_is_deleted_and_not_set_aside(tmp_path: Path) -> None:  # H16
    async def owe() -> None:
        async with other_store(tmp_path) as store:
            topic = await put_topic(store, "t", (2, 3))
            await store.multi(
                [SetData("/brokers/topics/t", encode_assigned(topic.topic_id, [ReplicaAssignment((2, 3), (), (1,))]))]
            )

    run(owe)

    async def body() -> None:
        async with running_member(tmp_path, has_log()) as broker:
            engine = broker.services.engine
            await until(lambda: engine.deleted == [("t", [0])])
            assert engine.stray == []

    run(body)


def test_log_of_the_cluster_metadata_is_left_alone(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_member(tmp_path, has_log(name="__cluster_metadata")) as broker:
            assert broker.services.engine.stray == []

    run(body)


# ---- lives
def test_every_registration_has_a_higher_epoch_that_all_parts_know(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_member(tmp_path) as broker:
            services = broker.services
            first = services.engine.broker_epoch
            assert first == services.assigned.broker_epoch == broker.parts.isr_changes.broker_epoch > 0
            assert (await broker.store.get(REGISTRATION)).created == first
            await expire_session(tmp_path, broker)
            await until(lambda: services.engine.broker_epoch > first)
            assert (
                services.engine.broker_epoch == services.assigned.broker_epoch == broker.parts.isr_changes.broker_epoch
            )
            assert (await broker.store.get(REGISTRATION)).created == services.engine.broker_epoch

    run(body)


@pytest.mark.parametrize("call", ["create", "get"])
def test_registration_whose_answer_is_lost_is_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """The session lives and its node exists: a broker that waited for the node to go would wait for ever, and be no
    replica of any partition."""
    monkeypatch.setattr(member, "REJOIN_RETRY_S", 0.001)

    async def body() -> None:
        async with running_member(tmp_path) as broker:
            services = broker.services
            first, real = services.engine.broker_epoch, getattr(SqliteStore, call)
            faults = [StoreUnavailableError(REGISTRATION, "the answer was lost")]

            async def flaky(self: SqliteStore, path: str, *arguments: object, **options: object) -> object:
                answer = (
                    None
                    if call == "get" and path == REGISTRATION and faults
                    else await real(self, path, *arguments, **options)
                )
                if path == REGISTRATION and self is broker.store and faults and self.session_id:
                    raise faults.pop()
                return answer

            monkeypatch.setattr(SqliteStore, call, flaky)
            await expire_session(tmp_path, broker)
            await until(lambda: services.engine.broker_epoch > first)
            assert faults == []

    run(body)


def test_bug_in_the_middle_of_a_registration_does_not_end_the_broker_s_part_in_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(member, "REJOIN_RETRY_S", 0.001)

    async def body() -> None:
        async with running_member(tmp_path) as broker:
            start, faults = broker.services.config_changes.start, [ZeroDivisionError("a bug")]

            async def broken() -> None:
                if faults:
                    raise faults.pop()
                await start()
                started.set()

            started = asyncio.Event()
            monkeypatch.setattr(broker.services.config_changes, "start", broken)
            await expire_session(tmp_path, broker)
            await asyncio.wait_for(started.wait(), LIMIT_S)

    run(body)
    assert "a bug" in caplog.text


def test_broker_that_is_fenced_although_it_is_alive_registers_again(tmp_path: Path) -> None:  # H5
    async def body() -> None:
        async with running_member(tmp_path) as broker, other_store(tmp_path) as other:
            first = (await other.get(REGISTRATION)).created
            for _ in range(2):  # and once more
                await other.delete(REGISTRATION)
                await until(lambda: broker.services.assigned.broker_epoch > first)  # noqa: B023 - asked at once
                node = await other.get(REGISTRATION)
                assert node.created == broker.services.assigned.broker_epoch == broker.services.engine.broker_epoch
                assert node.ephemeral_owner == broker.store.session_id
                first = node.created

    run(body)


def test_session_is_not_taken_up_again_in_the_store_of_another_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """That store does not know the topics that are served here: its controller would have them all deleted."""
    monkeypatch.setattr(member, "REJOIN_RETRY_S", 0.001)

    async def body() -> None:
        async with running_member(tmp_path) as broker:
            first, ours = broker.services.engine.broker_epoch, await broker.store.get("/cluster/id")
            await broker.store.set("/cluster/id", encode_cluster_id("another"))
            await expire_session(tmp_path, broker)
            await until(lambda: "not that of cluster" in caplog.text)
            assert broker.services.engine.broker_epoch == first
            async with other_store(tmp_path) as other:
                assert await other.exists(REGISTRATION) is None
                await other.set("/cluster/id", ours.data)
            await until(lambda: broker.services.engine.broker_epoch > first)

    run(body)


@pytest.mark.parametrize("is_second_first", [False, True])
def test_session_that_ends_while_the_broker_registers_for_the_first_time_ends_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_second_first: bool
) -> None:
    """Whether the registration in the next session is made after the first attempt has failed, or within it."""
    real = registration.take
    sessions: list[int] = []
    registered = asyncio.Event()

    async def late(store: MetadataStore, *arguments: Any) -> Node:
        sessions.append(store.session_id)
        if len(sessions) > 1:
            node = await real(store, *arguments)
            registered.set()
            return node
        await end_session(tmp_path, store.session_id)
        if is_second_first:
            await registered.wait()
        return await real(store, *arguments)

    monkeypatch.setattr(registration, "take", late)

    async def body() -> None:
        async with running_member(tmp_path) as broker, other_store(tmp_path) as other:
            assert len(set(sessions)) == 2
            assert (await other.get(REGISTRATION)).created == broker.services.engine.broker_epoch

    run(body)


def test_broker_whose_node_becomes_another_brokers_while_it_registers_takes_no_epoch_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        async with other_store(tmp_path) as store, other_store(tmp_path) as stranger:
            real = store.get
            told: list[object] = []
            looks = 0  # at the epoch

            async def get(path: str, watch: Any = None) -> Node:
                nonlocal looks
                if watch == told.append:
                    looks += 1
                    if looks == 1:  # created, and lost before
                        await store.delete(REGISTRATION)
                        await stranger.create(REGISTRATION, b"stranger", is_ephemeral=True)
                elif looks == 1:
                    asyncio.get_running_loop().call_later(0.1, later)
                return await real(path, watch)

            def later() -> None:
                ending.append(asyncio.ensure_future(stranger.delete(REGISTRATION)))

            ending: list[asyncio.Future[None]] = []
            await store.ensure_path("/brokers/ids")
            monkeypatch.setattr(store, "get", get)
            node = await registration.take(store, REGISTRATION, b"own", "in use", told.append)
            assert (node.data, node.ephemeral_owner, looks) == (b"own", store.session_id, 2)
            await ending[0]

    run(body)


def test_broker_that_is_fenced_while_it_registers_registers_once_more(  # H3
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ConfigChanges.start

    async def body() -> None:
        async with running_member(tmp_path) as broker, other_store(tmp_path) as other:
            lives: list[int] = []

            async def ended_meanwhile(self: ConfigChanges) -> None:
                lives.append(broker.services.assigned.broker_epoch)
                if len(lives) == 1:
                    await other.delete(REGISTRATION)
                    assert await broker.store.exists(REGISTRATION) is None  # the watch has fired before this returns
                await real(self)

            monkeypatch.setattr(ConfigChanges, "start", ended_meanwhile)
            await other.delete(REGISTRATION)
            await until(lambda: len(lives) == 2)
            assert (await other.get(REGISTRATION)).created == broker.services.assigned.broker_epoch > lives[0]

    run(body)


def test_registration_that_is_only_written_again_is_not_taken_for_a_fence(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_member(tmp_path) as broker, other_store(tmp_path) as other:
            for _ in range(3):
                node = await other.get(REGISTRATION)
                await other.set(REGISTRATION, node.data)
            member = broker.member
            await until(lambda: member._watching is not None and member._watching.done())
            await other.delete(REGISTRATION)  # noticed although the watch has fired for the writes
            await until(lambda: broker.services.assigned.broker_epoch > node.created)
            assert (await other.get(REGISTRATION)).created == broker.services.assigned.broker_epoch

    run(body)


def test_configuration_that_changed_while_the_session_was_lost_is_taken_over_and_the_next_too(tmp_path: Path) -> None:
    """A session's end also ends its watches."""
    with_topic(tmp_path)

    async def write(value: str) -> None:
        async with other_store(tmp_path) as store:
            await store.set("/config/topics/t", json.dumps({"version": 1, "config": {"retention.ms": value}}).encode())
            notice = json.dumps({"version": 2, "entity_path": "topics/t"}).encode()
            await store.create("/config/changes/config_change_", notice, is_sequential=True)

    async def body() -> None:
        async with running_member(tmp_path, has_log()) as broker:
            engine = broker.services.engine
            first = engine.broker_epoch
            await expire_session(tmp_path, broker)
            await write("11")
            await until(lambda: broker.services.engine.broker_epoch > first)
            await until(lambda: engine.topic_configs["t"]["retention.ms"] == "11")
            await write("12")
            await until(lambda: engine.topic_configs["t"]["retention.ms"] == "12")

    run(body)


def test_broker_that_leaves_has_nothing_registered(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_member(tmp_path):
            pass
        async with other_store(tmp_path) as store:
            assert await store.exists(REGISTRATION) is None
            assert await store.exists("/controller") is None

    run(body)


@pytest.mark.parametrize("waiting", [[3, 2, 0], [1] * 10_000])
def test_broker_that_leaves_answers_what_it_has_appended_before_its_leaderships_move_and_waits_for_it_in_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: list[int]
) -> None:
    """After its leaderships have moved, followers fetch from the next leader, and the producers of appended records
    would get no answer."""
    monkeypatch.setattr(member, "SETTLE_LIMIT_S", 0.1)
    asked: list[str] = []

    async def body() -> None:
        async with running_member(tmp_path) as broker:
            engine, own = broker.services.engine, broker.member
            left = list(waiting)

            def wait() -> int:
                asked.append("waiting_produces")
                return left.pop(0)

            async def ask(request: OutgoingRequest, _: int) -> Any:
                assert request.decoded() == (broker.config.node_id, engine.broker_epoch)
                asked.append("shutdown")
                return SimpleNamespace(error_code=0, remaining_partitions=())

            monkeypatch.setattr(engine, "waiting_produces", wait)
            monkeypatch.setattr(engine, "refuse_produces", lambda: asked.append("refuse_produces"))
            monkeypatch.setattr(own.to_controller, "ask", ask)
            broker.services.image.brokers[2] = BrokerImage(2, None, ())
            await own.leave()
            del broker.services.image.brokers[2]

    run(body)
    assert (asked[0], asked[-1]) == ("refuse_produces", "shutdown")
    looks = asked[1:-1]
    assert set(looks) == {"waiting_produces"}
    assert len(looks) == 3 or 1 < len(looks) <= 0.1 / member.SETTLE_CHECK_S
