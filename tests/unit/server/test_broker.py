"""A broker's start and stop, over the engine's test double."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from fake_engine import LogDirFailed, LogLine, StartError, ThreadFailed
from world import broker_config, run, running_broker, started_broker

from kafkastore.errors import StartupError
from kafkastore.metadata.image import NO_LEADER
from kafkastore.metadata.store import SessionExpiredError
from peer.broker_process import wait_until
from unit.appends import append_records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fake_engine import Engine

    from kafkastore.server.broker import Broker

TOPIC_ID = bytes(range(16))
OTHER_ID = bytes(range(16, 32))


async def _eventually(condition: Callable[[], object], what: str) -> None:
    await asyncio.to_thread(wait_until, condition, 10, what)  # beside the broker's loop


async def _leaders_become(broker: Broker, leaders: list[int]) -> None:
    """Waits until these are the leaders of topic ``a`` in the clients' metadata."""
    image = broker.services.image
    await _eventually(lambda: [one.leader for one in image.topics["a"].partitions] == leaders, f"{leaders} lead")


def test_listeners_open_last_and_close_first(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            engine = broker.services.engine
        steps = [call for call in engine.calls if call in ("open_log_dirs", "listen", "close_network", "close_logs")]
        assert steps == ["open_log_dirs", "listen", "close_network", "close_logs"]

    run(body)


def test_broker_that_is_alone_leads_before_its_listeners_open_and_until_its_network_is_closed(tmp_path: Path) -> None:
    """A client that connects finds the partitions led, and requests in flight at the stop are answered."""
    led: dict[str, int] = {}

    def prepare(engine: Engine) -> None:
        engine.add_log("a", 0, TOPIC_ID)
        listen, close = engine.listen, engine.close_network

        def noting_listen(wanted: list[tuple[str, str, int]]) -> list[int]:
            led["listen"] = engine.leases["a", 0][0]
            return listen(wanted)

        def noting_close(timeout_ms: int) -> None:
            led["close"] = engine.leases["a", 0][0]
            close(timeout_ms)

        engine.listen, engine.close_network = noting_listen, noting_close  # type: ignore[method-assign]

    async def body() -> None:
        async with running_broker(tmp_path, prepare) as broker:
            assert broker.services.controller.is_active
        assert led == {"listen": 1, "close": 1}
        assert not broker.services.controller.is_active

    run(body)


def test_cluster_id_is_generated_once_and_kept(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as first:
            pass
        async with running_broker(tmp_path) as second:
            assert second.services.cluster_id == first.services.cluster_id
        assert len(first.services.cluster_id) == 22

    run(body)


def test_cluster_id_of_a_directory_that_kafka_wrote_is_taken(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n")

    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            assert broker.services.cluster_id == "MkU3OEVBNTcwNTJENDM2Qg"

    run(body)


def test_directory_of_another_cluster_refuses_to_start_and_names_both_ids(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            first = broker.services.cluster_id
        (tmp_path / "data" / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=other\n")
        with pytest.raises(StartupError, match=rf"belongs to cluster other.*belongs to cluster {first}"):
            await started_broker(tmp_path)

    run(body)


def test_topics_survive_a_restart(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            topic = await broker.services.topics.create("a", partitions=3, configs={"retention.ms": "5"})

        def logs(engine: Engine) -> None:
            for number in range(3):
                engine.add_log("a", number, topic.topic_id)

        async with running_broker(tmp_path, logs) as again:
            found = again.services.image.topics["a"]
            assert (found.topic_id, found.partitions, found.configs) == (
                topic.topic_id,
                topic.partitions,
                {"retention.ms": "5"},
            )
            assert again.services.engine.leases["a", 2] == (1, 0, 0, (1,), (1,))
            assert again.services.engine.published_topics["a"][0] == topic.topic_id

    run(body)


def test_effective_topic_configs_are_known_before_logs_are_opened(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            await broker.services.topics.create("a", configs={"retention.ms": "5"})
        async with running_broker(tmp_path, log__segment__bytes="2000000") as again:
            config = again.services.engine.topic_configs["a"]
            assert (config["retention.ms"], config["segment.bytes"]) == ("5", "2000000")

    run(body)


def test_missing_log_of_a_stored_topic_is_made(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            await broker.services.topics.create("a", partitions=2)
        async with running_broker(tmp_path) as again:
            assert set(again.services.engine.partitions) == {("a", 0), ("a", 1)}

    run(body)


def test_topic_found_only_on_disk_is_adopted_with_its_id_and_a_higher_leader_epoch(tmp_path: Path) -> None:
    partition = tmp_path / "data" / "t-1"
    partition.mkdir(parents=True)
    (partition / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n7 120\n")

    def logs(engine: Engine) -> None:
        engine.add_log("t", 0, TOPIC_ID)
        engine.add_log("t", 1, TOPIC_ID)
        engine.add_log("__cluster_metadata", 0, OTHER_ID)

    async def body() -> None:
        async with running_broker(tmp_path, logs) as broker:
            topic = broker.services.image.topics["t"]
            assert topic.topic_id == TOPIC_ID
            assert [state.leader_epoch for state in topic.partitions] == [0, 8]
            assert "__cluster_metadata" not in broker.services.image.topics
            assert broker.services.engine.stray == []
        async with running_broker(tmp_path, logs) as again:
            assert again.services.image.topics["t"].partitions == topic.partitions

    run(body)


def test_folders_that_only_look_like_partitions_are_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise each such folder would make a topic with that many partitions."""

    def logs(engine: Engine) -> None:
        engine.add_log("backup", 20261122)
        engine.add_log("backup", 2023)
        engine.add_log("old", 20261122, TOPIC_ID)
        for number, records in ((0, 1), (1, 0), (10_001, 1), (20_002, 1)):
            log = engine.add_log("t", number, TOPIC_ID)
            log.records = [(0, 0, None, b"", -1, None)] * records
        engine.add_log("u", 5).records = [(0, 0, None, b"", -1, None)]
        engine.add_log("v", 0)

    async def body() -> None:
        async with running_broker(tmp_path, logs) as broker:
            topics = {name: len(topic.partitions) for name, topic in broker.services.image.topics.items()}
            assert topics == {"t": 10_002, "u": 6, "v": 1}
            assert broker.services.engine.stray == []
            assert {("backup", 2023), ("old", 20261122), ("t", 20_002)} < broker.services.engine.partitions.keys()

    run(body)
    assert "4 folders look like partitions of topics that nobody knows, and are left alone" in caplog.text
    assert "backup-2023" in caplog.text


def test_adopted_offsets_topic_is_compacted(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(
            tmp_path, lambda engine: engine.add_log("__transaction_state", 0, TOPIC_ID)
        ) as broker:
            assert broker.services.engine.topic_configs["__transaction_state"]["cleanup.policy"] == "compact"

    run(body)


def test_log_with_another_topic_id_is_set_aside_as_stray(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            await broker.services.topics.create("a")
        async with running_broker(tmp_path, lambda engine: engine.add_log("a", 0, OTHER_ID)) as again:
            engine = again.services.engine
            assert engine.stray == [("a", 0)]
            assert "note_deletions" in engine.calls
            assert engine.partitions["a", 0].topic_id == again.services.image.topics["a"].topic_id

    run(body)


def test_interrupted_deletion_is_finished_at_start(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            await broker.store.create("/admin/delete_topics/gone", TOPIC_ID)
        async with running_broker(tmp_path, lambda engine: engine.add_log("gone", 0, TOPIC_ID)) as again:
            assert again.services.engine.deleted == [("gone", [0])]
            assert "note_deletions" in again.services.engine.calls
            assert "gone" not in again.services.image.topics
            assert await again.store.get_children("/admin/delete_topics") == []

    run(body)


def test_failed_log_dir_takes_its_partitions_offline_and_the_others_serve(tmp_path: Path) -> None:
    async def body() -> None:
        directories = f"{tmp_path}/one,{tmp_path}/two"
        async with running_broker(tmp_path, log__dirs=directories) as broker:
            await broker.services.topics.create("a", partitions=4)
            engine = broker.services.engine
            engine.submit(LogDirFailed(f"{tmp_path}/one", "No space left on device"))
            await _leaders_become(broker, [NO_LEADER, 1, NO_LEADER, 1])
            assert [engine.leases["a", number][0] for number in range(4)] == [NO_LEADER, 1, NO_LEADER, 1]
            await broker.services.topics.create("b", partitions=2)
            assert {engine.partitions["b", number].log_dir for number in (0, 1)} == {f"{tmp_path}/two"}

    run(body)


def test_broker_stops_with_a_sentence_when_all_log_dirs_failed(tmp_path: Path) -> None:
    async def body() -> None:
        broker = await started_broker(tmp_path)
        broker.services.engine.submit(LogDirFailed(f"{tmp_path}/data", "Input/output error"))
        with pytest.raises(StartupError, match=r"All log directories have failed.*Input/output error"):
            await asyncio.wait_for(broker.run_until_stopped(), 10)

    run(body)


def test_thread_that_failed_ends_the_process_with_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Requests that wait for the thread would wait for ever; a supervisor starts the broker again."""

    async def body() -> None:
        ended: list[int] = []
        async with running_broker(tmp_path, end=ended.append) as broker:
            broker.services.engine.submit(ThreadFailed("network-0", "panic: index out of bounds"))
            await _eventually(lambda: bool(ended), "the process is ended")
        assert ended == [1]

    run(body)
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"]
    assert line == "Thread network-0 of the data plane failed (panic: index out of bounds); the broker ends at once"


def test_thread_that_failed_ends_a_broker_in_another_process_and_leaves_its_logs_as_they_lie(tmp_path: Path) -> None:
    """One of several brokers in a process may fail; its logs are not marked as clean, however it is stopped."""

    async def body() -> None:
        broker = await started_broker(tmp_path)
        engine: Any = broker.engine
        engine.submit(ThreadFailed("network-0", "panic: index out of bounds"))
        with pytest.raises(StartupError, match=r"thread network-0 .* index out of bounds"):
            await asyncio.wait_for(broker.run_until_stopped(), 10)
        await broker.stop()
        assert "close_network" in engine.calls
        assert "close_logs" not in engine.calls

    run(body)


class Panic(BaseException):
    """Like pyo3's PanicException it is not an Exception."""


@pytest.mark.parametrize("call", ["take", "append", "read_records"])
def test_panic_in_a_call_of_the_engine_ends_the_process(tmp_path: Path, call: str) -> None:
    """On the loop, in a task and in a thread of the pool: a panic that passes every handler's guard must not end the
    loop before the loop has seen the engine's event."""

    async def body() -> None:
        ended: list[int] = []
        async with running_broker(tmp_path, end=ended.append) as broker:
            services, engine = broker.services, broker.services.engine

            def panic(*_: object) -> Any:
                setattr(engine, call, proper)
                engine.submit(ThreadFailed("main", "panic in a call"))
                raise Panic

            proper = getattr(engine, call)
            setattr(engine, call, panic)
            tasks = []
            if call == "take":
                engine.submit(LogLine("something"))
            elif call == "append":
                appended = append_records(services.replica_manager, {("t", 0): b""}, 1, 1000)
                tasks.append(asyncio.ensure_future(appended))
            else:
                tasks.append(asyncio.ensure_future(services.run_blocking(engine.read_records, "t", 0, 0, 1)))
            await _eventually(lambda: bool(ended), "the process is ended")
            for failed in await asyncio.gather(*tasks, return_exceptions=True):
                assert isinstance(failed, Panic)

    run(body)


def test_directory_that_fails_while_a_topic_grows_in_it_goes_offline(tmp_path: Path) -> None:
    """The engine reports the failure before the call that adds the partitions, in a thread, has returned."""

    async def body() -> None:
        async with running_broker(tmp_path, log__dirs=f"{tmp_path}/one,{tmp_path}/two") as broker:
            services, engine = broker.services, broker.services.engine
            await services.topics.create("a", partitions=2)
            create = engine.create_logs

            def fail_meanwhile(*asked: Any) -> list[str | None]:
                errors = create(*asked)
                engine.submit(LogDirFailed(f"{tmp_path}/one", "No space left on device"))
                wait_until(lambda: f"{tmp_path}/one" in broker.log_manager.failed, 10, "the directory is marked")
                return errors

            engine.create_logs = fail_meanwhile
            await services.topics.create_partitions("a", 4)
            await _leaders_become(broker, [NO_LEADER, 1, NO_LEADER, 1])
            assert [engine.leases["a", number][0] for number in range(4)] == [NO_LEADER, 1, NO_LEADER, 1]

    run(body)


def test_partition_that_may_be_in_a_failed_directory_is_not_made_again(tmp_path: Path) -> None:
    directories = f"{tmp_path}/one,{tmp_path}/two"

    async def body() -> None:
        async with running_broker(tmp_path, log__dirs=directories) as broker:
            await broker.services.topics.create("a")

        def fail(engine: Engine) -> None:
            engine.failed_dirs[f"{tmp_path}/two"] = "Input/output error"

        async with running_broker(tmp_path, fail, log__dirs=directories) as again:
            assert ("a", 0) not in again.services.engine.partitions
            assert again.services.engine.leases["a", 0][0] == NO_LEADER
            await _leaders_become(again, [NO_LEADER])

    run(body)


def test_second_broker_with_the_same_node_id_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    async def body() -> None:
        from kafkastore.membership import registration

        async with running_broker(tmp_path):
            registration.TAKEOVER_LIMIT_S, limit = 0, registration.TAKEOVER_LIMIT_S
            try:
                with pytest.raises(StartupError, match=r"node\.id=1 is in use"):
                    await started_broker(tmp_path)
            finally:
                registration.TAKEOVER_LIMIT_S = limit

    run(body)


def test_port_zero_is_advertised_as_the_port_that_was_bound(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path, listeners="PLAINTEXT://127.0.0.1:0") as broker:
            brokers, controller = broker.services.engine.cluster
            assert brokers == [(1, None, (("PLAINTEXT", "127.0.0.1", 40000),))]
            assert controller == 1

    run(body)


def test_directory_that_cannot_be_written_refuses_to_start_and_names_it(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")

    async def body() -> None:
        with pytest.raises(StartupError, match=str(tmp_path / "data")):
            await started_broker(tmp_path)

    run(body)


def test_config_for_tests_is_valid(tmp_path: Path) -> None:
    assert broker_config(tmp_path).node_id == 1


def test_directory_that_another_broker_holds_is_left_as_it_is(tmp_path: Path) -> None:
    engines: list[Engine] = []

    def locked(engine: Engine) -> None:
        def refuse(*_: object) -> list[tuple[str, str | None]]:
            raise StartError(f"log.dirs={tmp_path}/data is in use by another process")

        engine.open_log_dirs = refuse  # type: ignore[method-assign]
        engines.append(engine)

    async def body() -> None:
        with pytest.raises(StartupError, match="is in use by another process"):
            await started_broker(tmp_path, locked)
        assert engines[0].calls == []

    run(body)


def test_port_in_use_closes_the_logs_cleanly_again(tmp_path: Path) -> None:
    engines: list[Engine] = []

    def occupied(engine: Engine) -> None:
        def refuse(_: object) -> list[int]:
            raise StartError("listeners=PLAINTEXT://127.0.0.1:9092: the port is in use")

        engine.listen = refuse  # type: ignore[method-assign]
        engines.append(engine)

    async def body() -> None:
        with pytest.raises(StartupError, match="the port is in use"):
            await started_broker(tmp_path, occupied)
        assert engines[0].calls == ["open_log_dirs", "close_logs"]
        async with running_broker(tmp_path):
            pass

    run(body)


def test_leader_epochs_are_raised_after_an_unclean_stop_and_only_then(tmp_path: Path) -> None:  # KIP-320
    one, two = f"{tmp_path}/one", f"{tmp_path}/two"
    directories = f"{one},{two}"
    partitions = 4

    async def body() -> None:
        async with running_broker(tmp_path, log__dirs=directories) as broker:
            topic = await broker.services.topics.create("a", partitions=partitions)

        def logs(engine: Engine) -> None:
            for number in range(partitions):
                engine.add_log("a", number, topic.topic_id, (one, two)[number % 2])

        def killed(engine: Engine) -> None:
            logs(engine)
            engine.unclean_dirs = [two]

        for prepare, epochs in (
            (logs, [0, 0, 0, 0]),
            (killed, [0, 1, 0, 1]),
            (logs, [0, 1, 0, 1]),
            (killed, [0, 2, 0, 2]),
        ):
            async with running_broker(tmp_path, prepare, log__dirs=directories) as again:
                services = again.services
                states = services.image.topics["a"].partitions
                assert [state.leader_epoch for state in states] == epochs
                assert [services.engine.leases["a", number][1] for number in range(partitions)] == epochs
                for number, state in enumerate(states):
                    node = await again.store.get(f"/brokers/topics/a/partitions/{number}/state")
                    assert (json.loads(node.data)["leader_epoch"], node.version) == (
                        epochs[number],
                        state.partition_epoch,
                    )

    run(body)


def test_new_directory_and_adopted_topic_count_as_clean(tmp_path: Path) -> None:
    def unclean(engine: Engine) -> None:
        engine.unclean_dirs = list(engine.log_dirs)
        engine.add_log("t", 0, TOPIC_ID)

    async def body() -> None:
        async with running_broker(tmp_path, unclean) as broker:
            assert broker.services.engine.leases["t", 0][1] == 0

    run(body)


def test_start_that_fails_before_the_epochs_are_raised_leaves_the_directories_unclean(tmp_path: Path) -> None:
    engines: list[Engine] = []

    def prepare(engine: Engine) -> None:
        engine.unclean_dirs = list(engine.log_dirs)
        engine.add_log("t", 0, TOPIC_ID)
        engines.append(engine)

    async def body() -> None:
        async def refuse(_: object) -> None:
            raise StartupError("node.id=1 is in use")

        with (
            patch("kafkastore.membership.member.Member._register", refuse),
            pytest.raises(StartupError, match="is in use"),
        ):
            await started_broker(tmp_path, prepare)
        assert engines[0].calls == ["open_log_dirs"]  # no close_logs: it would write the clean-shutdown markers

    run(body)


def test_session_that_ends_during_the_start_is_named_in_one_sentence(tmp_path: Path) -> None:
    async def body() -> None:
        async def end(_: object) -> None:
            raise SessionExpiredError("/")

        said = r"the session with the metadata store ended during the start.*zookeeper\.session\.timeout\.ms="
        with patch("kafkastore.server.broker.Broker._meet_cluster", end), pytest.raises(StartupError, match=said):
            await started_broker(tmp_path)
        async with running_broker(tmp_path):
            pass

    run(body)
