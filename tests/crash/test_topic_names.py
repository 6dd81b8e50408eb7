"""Whatever name a topic is asked for by, on whichever way, the broker serves and starts again.

The names, in ``peer/topic_names.py``, are those that Kafka keeps for itself, that a file, a link or a folder has in the
log directory, that no file system takes. A name that is taken is an error of that topic alone. The nodes of a cluster:
``test_topic_names_of_clusters.py``.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

import kafkastore
from kafkastore.interbroker.client import BrokerClient
from kafkastore.loading import cluster, staging
from kafkastore.metadata.backup import back_up, restore
from kafkastore.metadata.nodes import encode_config
from parity.batch import record_batch
from parity.messages import request as made
from parity.raw_client import ConnectionClosedError, RawClient
from peer.broker_process import wait_until
from peer.topic_names import (
    ALIVE,
    ILLEGAL,
    NAMES,
    ODD,
    RESERVED,
    TAKEN,
    assert_serves,
    known_names,
    take_place,
    take_places,
)
from peer.topics import create_topic, read_topic
from peer.written_nodes import WrittenNode, nodes_of, write_to_sqlite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

UNKNOWN_TOPIC, INVALID_TOPIC, INVALID_REQUEST = 3, 17, 42
LIMIT_S = 30.0
LOADED = {*ODD} - {"a_b", "__consumer_offsets"}
"""The first collides with a.b, clients may not write to the second."""


# ---- ways on which a topic is asked for: each returns the error code
def create(broker: BrokerProcess, name: str) -> int:
    """With a configuration, which is kept beside the log."""
    configs = [{"name": "retention.ms", "value": "123456789"}]
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": configs}
    with closing(RawClient(broker.host, broker.port)) as client:
        answer = client.ask("create_topics", 5, {"topics": [topic], "timeout_ms": 5000, "validate_only": False})
        return int(answer.topics[0].error_code)


def ask_for_metadata(broker: BrokerProcess, name: str) -> int:
    with closing(RawClient(broker.host, broker.port)) as client:
        answer = client.ask("metadata", 8, {"topics": [{"name": name}], "allow_auto_topic_creation": True})
        return int(answer.topics[0].error_code)


def produce(broker: BrokerProcess, name: str) -> int:
    """As a client does that asks for no metadata first."""
    topic = {"name": name, "partition_data": [{"index": 0, "records": record_batch(1)}]}
    with closing(RawClient(broker.host, broker.port)) as client:
        answer = client.ask(
            "produce", 8, {"transactional_id": None, "acks": 1, "timeout_ms": 5000, "topic_data": [topic]}
        )
        return int(answer.responses[0].partition_responses[0].error_code)


def adopt(broker: BrokerProcess, name: str) -> int:
    """As a bulk load does that looks for no topic first."""
    load = {"producer_id": 9, "producer_epoch": 0, "first_sequence": 0, "record_count": 1, "is_new": True}
    request = made("adopt_segments", 0, {"topic": name, "partition": 0, "timeout_ms": 5000, **load})

    async def send() -> int:
        client = BrokerClient(broker.host, broker.port, "load")
        try:
            return int((await client.send(request, 10_000)).error_code)
        finally:
            await client.close()

    return asyncio.run(send())


# ---- ways on which a topic is found
def put_nodes(broker: BrokerProcess) -> None:
    broker.stop()
    write_nodes(broker)
    broker.start()
    assert knows_odd_names(broker)


def put_nodes_while_it_runs(broker: BrokerProcess) -> None:
    write_nodes(broker)
    wait_until(partial(knows_odd_names, broker), LIMIT_S, "topics of all names that topics may have")


def put_backup_with_nodes(broker: BrokerProcess) -> None:
    put_nodes(broker)
    put_back(broker, back_up_of(broker))
    assert knows_odd_names(broker)


def put_older_backup(broker: BrokerProcess) -> None:
    """The topics are in the log directory alone, with their configurations beside their logs."""
    backup = back_up_of(broker)
    for name in NAMES:
        create(broker, name)
    put_back(broker, backup)
    assert known_names(broker) >= LOADED


def put_folders(broker: BrokerProcess) -> None:
    broker.stop()
    for name in names_of_files():
        path = broker.log_dir / f"{name}-0"
        if not os.path.lexists(path):
            path.mkdir()
    broker.start()
    assert known_names(broker) >= {*ODD}


def put_staged(broker: BrokerProcess) -> None:
    """What loads have left, and other things in its place."""
    broker.stop()
    left = {name: broker.log_dir / staging.dir_name(name, 0, 9, 0) for name in names_of_files()}
    for path in left.values():
        path.mkdir()
    for number, kind in enumerate(TAKEN, 10):
        take_place(broker.log_dir / staging.dir_name(ALIVE, 0, number, 0), kind)
    broker.start()
    assert {name for name, path in left.items() if path.exists()} <= {*RESERVED, *ILLEGAL}


def knows_odd_names(broker: BrokerProcess) -> bool:
    return known_names(broker) >= {*TAKEN, *ODD}


def write_nodes(broker: BrokerProcess) -> None:
    assert write_to_sqlite(metadata_of(broker), nodes_of(NAMES, (1,))) <= {"__consumer_offsets"}, "which may be there"


def names_of_files() -> list[str]:
    """The names that a file system takes, with the number of a partition."""
    return [name for name in NAMES if not {"/", "\0"} & {*name} and len(name) < 250]


def staged(broker: BrokerProcess) -> list[Path]:
    return list(broker.log_dir.glob("*.load-*"))


def metadata_of(broker: BrokerProcess) -> str:
    return str(broker.log_dir / "kafkastore-metadata.sqlite")


def back_up_of(broker: BrokerProcess) -> str:
    backup = str(broker.folder / "backup")
    back_up(metadata_of(broker), backup)
    return backup


def put_back(broker: BrokerProcess, backup: str) -> None:
    broker.stop()
    restore(backup, metadata_of(broker), [str(broker.log_dir)])
    broker.start()


@pytest.fixture
def broker(broker_factory: BrokerFactory) -> BrokerProcess:
    made = broker_factory(kind="kafkastore")
    create_topic(made.bootstrap, ALIVE)
    assert_serves(made, 0)
    take_places(made.log_dir)
    return made


def assert_starts_again(broker: BrokerProcess, count: int) -> None:
    assert broker.stop() == 0
    broker.start()
    assert_serves(broker, count)


@pytest.mark.parametrize(
    ("ask", "reserved", "illegal"),
    [
        pytest.param(create, INVALID_REQUEST, INVALID_TOPIC, id="create"),
        pytest.param(ask_for_metadata, UNKNOWN_TOPIC, INVALID_TOPIC, id="ask_for_metadata"),
        pytest.param(produce, UNKNOWN_TOPIC, UNKNOWN_TOPIC, id="produce"),
        pytest.param(adopt, UNKNOWN_TOPIC, UNKNOWN_TOPIC, id="adopt"),
    ],
)
def test_every_name_that_is_asked_for_is_an_answer_and_no_end(
    broker: BrokerProcess, ask: Callable[[BrokerProcess, str], int], reserved: int, illegal: int
) -> None:
    found: dict[str, Any] = {}
    for name in NAMES:
        try:
            found[name] = ask(broker, name)
        except ConnectionClosedError as error:
            found[name] = error
    assert {found[name] for name in RESERVED} == {reserved}
    assert {found[name] for name in ILLEGAL} == {illegal}
    assert all(isinstance(found[name], int) for name in NAMES), found
    assert_serves(broker, 1)
    assert_starts_again(broker, 2)


@pytest.mark.parametrize(
    "put",
    [put_nodes, put_nodes_while_it_runs, put_backup_with_nodes, put_older_backup, put_folders, put_staged],
)
def test_every_name_that_is_found_leaves_the_others_served(
    broker: BrokerProcess, put: Callable[[BrokerProcess], None]
) -> None:
    put(broker)
    assert_serves(broker, 1)
    assert_starts_again(broker, 2)


def test_every_name_is_loaded_or_refused_in_a_sentence(broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "NEW_TOPIC_S", 0.0)  # all topics are known
    rows = pa.table({"key": ["a"], "value": ["b"]})

    def load(name: str) -> int | kafkastore.LoadError:
        try:
            return kafkastore.load(name, rows, bootstrap_servers=broker.bootstrap, timeout_s=5).records
        except kafkastore.LoadError as error:
            return error

    for name in NAMES:
        create(broker, name)
    with ThreadPoolExecutor(4) as pool:
        found = dict(zip(NAMES, pool.map(load, NAMES), strict=True))
    assert {name for name in NAMES if found[name] == 1} == LOADED
    assert {type(found[name]) for name in NAMES if name not in LOADED} == {kafkastore.LoadError}
    assert staged(broker) == []
    assert_serves(broker, 1)
    assert_starts_again(broker, 2)
    for name in LOADED:
        assert [message.key() for message in read_topic(broker.bootstrap, name)] == [b"a"], name


def test_place_of_staged_segments_that_is_taken_is_an_error_of_the_load(broker: BrokerProcess) -> None:
    place = broker.log_dir / staging.dir_name(ALIVE, 0, 9, 0)
    for kind in ("file", "link", "loop", "pipe", "folder"):
        take_place(place, kind)
        assert adopt(broker, ALIVE) != 0, kind
        if kind == "folder":
            place.rmdir()
        else:
            place.unlink()
    assert_serves(broker, 1)


def test_nodes_below_nodes_of_other_topics_are_none(broker: BrokerProcess) -> None:
    """Marks of deletions, configurations, and what else the controller deletes."""
    cut_off = encode_config({"max.message.bytes": "1", "retention.ms": "1"})
    nodes = {
        f"/admin/delete_topics/nested/{ALIVE}": b"",
        f"/config/topics/nested/{ALIVE}": cut_off,
        "/config/brokers/nested/1": encode_config({"min.insync.replicas": "3"}),
        "/admin/preferred_replica_election/below": b"",
        "/admin/reassign_partitions/below": b"",
        "/log_dir_event_notification/one/below": b"",
        "/isr_change_notification/one/below": b"",
    }
    write_to_sqlite(metadata_of(broker), [WrittenNode(path, path, data) for path, data in nodes.items()])
    assert create(broker, "later") == 0
    assert_serves(broker, 1)
    assert_starts_again(broker, 2)
    assert create(broker, "latest") == 0


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
