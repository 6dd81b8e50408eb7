"""A start on a store with nodes of invalid content: the broker logs their paths at level ERROR and leaves them out; the
logs on the disk stay."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from member_world import other_store, put_topic, running_member
from stepped import Engine
from world import broker_config, run, running_broker, started_broker, until

from kafkastore.config import HELD
from kafkastore.coordinator.producer_ids import PATH, ProducerIds
from kafkastore.errors import CoordinatorLoadInProgressError, StartupError
from kafkastore.metadata.assignment import decode_assigned
from kafkastore.metadata.broker_nodes import decode_registration
from kafkastore.metadata.leadership import decode_leadership
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import decode_cluster_id, decode_config, decode_controller, decode_controller_epoch
from kafkastore.metadata.opening import open_store
from kafkastore.replica.stored_state import StoredState

T_ID = b"t".ljust(16, b"-")
INVALID = [
    b"", b"{", b"\xff\xfe", b"[]", b"7", b"null", b"{}", b"[" * 50_000, b'{"version":1}', b'{"id":7}', b'{"config":[]}',
    b'{"brokerid":"1"}', b'{"endpoints":"x"}', b'{"leader":true,"leader_epoch":0,"isr":[1],"controller_epoch":0}',
]  # fmt: skip
DECODERS: dict[str, Callable[[bytes], object]] = {
    "/brokers/topics/T": decode_assigned,
    "/brokers/topics/T/partitions/P/state": lambda data: decode_leadership(data, 0),
    "/brokers/ids/N": lambda data: decode_registration(1, data, 0),
    "/config/topics/T": decode_config,
    "/cluster/id": decode_cluster_id,
    "/controller": decode_controller,
    "/controller_epoch": lambda data: decode_controller_epoch(data, 1),
}
MAY_BE = {
    ("/config/topics/T", b""), ("/config/topics/T", b"{}"), ("/config/topics/T", b'{"version":1}'),
    ("/config/topics/T", b'{"brokerid":"1"}'), ("/config/topics/T", b'{"id":7}'),
    ("/config/topics/T", b'{"endpoints":"x"}'), ("/config/topics/T", INVALID[-1]), ("/controller_epoch", b"7"),
}  # fmt: skip
"""Contents that are valid in these nodes, and invalid in all others."""


@pytest.mark.parametrize("path", DECODERS)
def test_invalid_content_is_refused_by_every_decoder(path: str) -> None:
    for data in INVALID:
        if (path, data) in MAY_BE:
            DECODERS[path](data)
        else:
            with pytest.raises(InvalidNodeError):
                DECODERS[path](data)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The paths of the nodes that were logged as invalid."""
    ours = [record for record in caplog.records if record.name.startswith("kafkastore")]
    lines = [record.getMessage() for record in ours if record.levelno >= logging.ERROR]
    return sorted({line.partition(" is invalid")[0] for line in lines})


def with_log(engine: Engine) -> None:
    engine.add_log("t", 0, T_ID)


def corrupt(folder: Path, path: str, data: bytes) -> None:
    """Writes a node's content in the store of a broker that is alone."""

    async def body() -> None:
        store = open_store(broker_config(folder))
        await store.connect()
        await store.ensure_path(path)
        await store.set(path, data)
        await store.close()

    run(body)


def once_started(folder: Path) -> None:
    async def body() -> None:
        async with running_broker(folder, with_log) as broker:
            await broker.services.topics.create("u")

    run(body)


# ---- a broker that is alone
def test_topic_that_is_invalid_is_neither_adopted_nor_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    once_started(tmp_path)
    corrupt(tmp_path, "/brokers/topics/t", b"{")

    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            engine = broker.services.engine
            assert engine.stray == engine.deleted == []
            assert (broker.services.image.topic("t"), ("t", 0) in engine.leases) == (None, False)
            assert engine.leases["u", 0][0] == 1
            assert broker.log_manager.directory_of("t", 0) is not None  # the log stays until the node is mended
            assert (await broker.store.get("/brokers/topics/t")).data == b"{"

    run(body)
    assert told(caplog) == ["/brokers/topics/t"]


def test_deletion_of_a_topic_that_is_invalid_waits(tmp_path: Path) -> None:
    once_started(tmp_path)
    corrupt(tmp_path, "/brokers/topics/t", b"{")
    corrupt(tmp_path, "/admin/delete_topics/t", b"")

    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            assert broker.services.engine.deleted == []
            assert await broker.store.exists("/admin/delete_topics/t") is not None

    run(body)


def test_state_that_is_invalid_is_followed_by_an_epoch_above_those_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    once_started(tmp_path)
    corrupt(tmp_path, "/brokers/topics/t/partitions/0/state", b"{}")
    checkpoint = tmp_path / "data" / "t-0" / "leader-epoch-checkpoint"
    checkpoint.write_text("0\n2\n0 0\n41 7\n")

    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            leader, epoch, *_ = broker.services.engine.leases["t", 0]
            assert leader == 1
            assert epoch > 41

    run(body)
    assert told(caplog) == ["/brokers/topics/t/partitions/0/state"]


@pytest.mark.parametrize("path", ["/config/topics/t", "/config/brokers/1", "/config/brokers/<default>"])
def test_configuration_that_is_invalid_does_not_hold(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    once_started(tmp_path)
    corrupt(tmp_path, path, b'{"config":7}')

    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            assert broker.services.engine.leases["t", 0][0] == 1

    run(body)
    assert told(caplog) == [path]


@pytest.mark.parametrize("content", [b"{", b"[" * 100_000], ids=["no JSON", "nested too deeply"])
@pytest.mark.parametrize("path", ["/cluster/id", "/kafkastore/log_dirs/1"])
def test_start_that_cannot_know_what_is_its_own_is_refused_and_names_the_node(
    tmp_path: Path, path: str, content: bytes
) -> None:
    once_started(tmp_path)
    corrupt(tmp_path, path, content)

    async def body() -> None:
        with pytest.raises(StartupError, match=f"^{path} of the metadata store is invalid"):
            await started_broker(tmp_path)

    run(body)


def test_controller_epoch_that_is_invalid_is_followed_by_a_higher_one(tmp_path: Path) -> None:
    epochs = []

    async def body() -> None:
        async with running_broker(tmp_path, with_log) as broker:
            epochs.append(broker.services.image.controller_epoch)

    for _ in range(3):
        run(body)
    corrupt(tmp_path, "/controller_epoch", b"x")
    run(body)
    assert epochs == sorted(set(epochs))


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"block_end":"x"}', b'{"block_end":-2}'])
def test_no_producer_id_is_given_while_the_node_is_invalid(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            store = broker.store
            await store.create(PATH, data)
            with pytest.raises(CoordinatorLoadInProgressError):
                await ProducerIds(store, 1, broker.services.engine).next_id()
            assert (await store.get(PATH)).data == data

    run(body)
    assert told(caplog) == [PATH]


# ---- a broker among others
@pytest.mark.parametrize("path", ["/brokers/topics/t", "/brokers/topics/t/partitions/0/state", "/config/topics/t"])
def test_member_joins_and_keeps_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str) -> None:
    async def body() -> None:
        async with other_store(tmp_path) as store:
            await put_topic(store, "t")
            await put_topic(store, "u")
            await store.set(path, b"[]")
        async with running_member(tmp_path, with_log) as broker:
            engine = broker.services.engine
            assert ("t", 0) in engine.partitions
            assert engine.stray == []
            await until(lambda: engine.leases.get(("u", 0), (0,))[0] == 1)

    run(body)
    assert told(caplog) == [path]


def test_topic_that_is_invalid_while_a_member_recovers_keeps_the_log(tmp_path: Path) -> None:
    async def corrupt_meanwhile() -> None:
        async with other_store(tmp_path) as store:
            await store.set("/brokers/topics/t", b"[]")

    def prepare(engine: Engine) -> None:
        with_log(engine)
        opened = engine.open_log_dirs

        def opening(*arguments: Any) -> Any:
            asyncio.run(corrupt_meanwhile())
            return opened(*arguments)

        engine.open_log_dirs = opening  # type: ignore[method-assign]

    async def body() -> None:
        async with other_store(tmp_path) as store:
            await put_topic(store, "t")
        async with running_member(tmp_path, prepare) as broker:
            assert ("t", 0) in broker.services.engine.partitions
            assert broker.services.engine.stray == []

    run(body)


def test_topic_that_comes_with_a_configuration_that_is_invalid_deletes_nothing_by_a_default(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        async with running_member(tmp_path) as broker, other_store(tmp_path) as store:
            await put_topic(store, "t", config=b"[]")
            await until(lambda: broker.services.engine.leases.get(("t", 0), (0,))[0] == 1)
            assert broker.services.image.topics["t"].configs == HELD
            config = broker.services.engine.topic_configs["t"]
            assert (config["retention.ms"], config["cleanup.policy"]) == ("-1", "delete")

    run(body)
    assert told(caplog) == ["/config/topics/t"]


def test_leader_that_reads_an_invalid_state_gets_none(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_member(tmp_path) as broker, other_store(tmp_path) as store:
            await put_topic(store, "t")
            await until(lambda: broker.services.engine.leases.get(("t", 0), (0,))[0] == 1)
            await store.set("/brokers/topics/t/partitions/0/state", b"[]")
            stored = StoredState(broker.store, broker.services.replica_manager.held)
            assert await stored.read_state("t", 0) is None

    run(body)
