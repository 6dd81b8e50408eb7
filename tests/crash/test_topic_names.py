"""Whatever name a topic is asked for by, on whichever way, the broker serves and starts again (R2.1).

Names that Kafka keeps for itself, that a file, a link or a folder has in the log directory, that no file system takes.
A name that is taken is an error of that topic alone.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from kafkastore.metadata.assignment import Assigned, encode_assigned
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import NodeExistsError
from parity.raw_client import ConnectionClosedError, RawClient
from peer.topics import create_topic, read_topic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

ALIVE = "alive"
TAKEN = ("file", "link", "loop", "pipe", "folder", "full")
"""Topics whose first partition's name something else has in the log directory."""

RESERVED = ("__cluster_metadata",)
ILLEGAL = (
    *(
        "",
        ".",
        "..",
        "/",
        "a/b",
        "../../up",
        "a b",
        " a",
        "a\n",
        "a\x00b",
        "ä",
        "名",
        "\u200b",
        "a:b",
        "a,b",
        "~",
        "%00",
    ),
    *("x" * 250, "x" * 300),
)
ODD = (
    *("x" * 249, "...", "-", "--", "_", "0", "-1", "null", "a-0", "a-0.b-delete", "a-0.b-future", "a-0.b-stray"),
    *("meta.properties", "kafkastore-metadata.sqlite", ".lock", "a.b", "a_b", "__consumer_offsets"),
)
NAMES = (*TAKEN, *RESERVED, *ILLEGAL, *ODD)
UNKNOWN_TOPIC, INVALID_TOPIC, INVALID_REQUEST = 3, 17, 42


def create(broker: BrokerProcess, name: str) -> int:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    with closing(RawClient(broker.host, broker.port)) as client:
        answer = client.ask("create_topics", 5, {"topics": [topic], "timeout": 5000, "validate_only": False})
        return int(answer.topics[0].error_code)


def ask_for_metadata(broker: BrokerProcess, name: str) -> int:
    with closing(RawClient(broker.host, broker.port)) as client:
        answer = client.ask("metadata", 8, {"topics": [{"name": name}], "allow_auto_topic_creation": True})
        return int(answer.topics[0].error_code)


def put_nodes(broker: BrokerProcess) -> None:
    """As whoever may write to the store could."""

    async def put() -> None:
        store = SqliteStore(str(broker.log_dir / "kafkastore-metadata.sqlite"))
        await store.connect()
        for number, name in enumerate(NAMES):
            if name and "/" not in name:
                with suppress(NodeExistsError):
                    content = encode_assigned(number.to_bytes(16, "big"), [Assigned((1,))])
                    await store.create(f"/brokers/topics/{name}", content)
        await store.close()

    broker.stop()
    asyncio.run(put())
    broker.start()


def put_folders(broker: BrokerProcess) -> None:
    broker.stop()
    for name in NAMES:
        path = broker.log_dir / f"{name}-0"
        if "/" not in name and "\0" not in name and len(name) < 250 and not os.path.lexists(path):
            path.mkdir()
    broker.start()


def take_places(folder: Path) -> None:
    (folder / "file-0").write_bytes(b"mine")
    (folder / "link-0").symlink_to("nowhere")
    (folder / "loop-0").symlink_to("loop-0")
    os.mkfifo(folder / "pipe-0")
    (folder / "folder-0").mkdir()
    (folder / "full-0").mkdir()
    (folder / "full-0" / "mine").write_bytes(b"mine")


def assert_serves(broker: BrokerProcess, count: int) -> None:
    """A record more can be written, and all of before are there."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 20_000})
    producer.produce(ALIVE, f"{count}")
    assert producer.flush(20) == 0
    found = [int(message.value() or b"") for message in read_topic(broker.bootstrap, ALIVE)]
    assert found == list(range(count + 1))


@pytest.fixture
def broker(broker_factory: BrokerFactory) -> BrokerProcess:
    made = broker_factory(kind="kafkastore")
    create_topic(made.bootstrap, ALIVE)
    assert_serves(made, 0)
    take_places(made.log_dir)
    return made


@pytest.mark.parametrize("ask", [create, ask_for_metadata])
def test_every_name_that_is_asked_for_is_an_answer_and_no_end(
    broker: BrokerProcess, ask: Callable[[BrokerProcess, str], int]
) -> None:
    found: dict[str, Any] = {}
    for name in NAMES:
        try:
            found[name] = ask(broker, name)
        except ConnectionClosedError as error:
            found[name] = error
    assert {name: found[name] for name in RESERVED} == dict.fromkeys(
        RESERVED, INVALID_REQUEST if ask is create else UNKNOWN_TOPIC
    )
    assert {found[name] for name in ILLEGAL} == {INVALID_TOPIC}
    assert all(isinstance(found[name], int) for name in NAMES), found
    assert_serves(broker, 1)
    assert broker.stop() == 0
    broker.start()
    assert_serves(broker, 2)
    with closing(RawClient(broker.host, broker.port)) as client:
        (found_dir,) = client.ask("describe_log_dirs", 4, {"topics": None}).results
    assert int(found_dir.error_code) == 0


@pytest.mark.parametrize("put", [put_nodes, put_folders])
def test_every_name_that_is_found_leaves_the_others_served(
    broker: BrokerProcess, put: Callable[[BrokerProcess], None]
) -> None:
    put(broker)
    assert_serves(broker, 1)
    assert broker.stop() == 0
    broker.start()
    assert_serves(broker, 2)


def test_place_that_is_taken_is_an_error_of_its_partition_until_it_is_free(broker: BrokerProcess) -> None:
    create(broker, "file")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 3_000, "log_level": 0})
    told: list[Any] = []
    producer.produce("file", b"no", on_delivery=lambda error, _: told.append(error))
    producer.flush(10)
    assert told[0] is not None
    (broker.log_dir / "file-0").unlink()
    broker.restart()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 20_000})
    producer.produce("file", b"yes")
    assert producer.flush(20) == 0
    assert [message.value() for message in read_topic(broker.bootstrap, "file")] == [b"yes"]
