"""Inter-broker requests are accepted on the brokers' listener only: no client may change leaders."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from member_world import other_store, put_topic, running_member
from stepped import Request
from world import run, running_broker, until

from kafkastore.config.authorizer import CLASSES
from kafkastore.errors import ErrorCode
from kafkastore.interbroker.envelope import ForwardedRequest, request_of
from kafkastore.messages import OutgoingRequest
from kafkastore.requests.registry import BY_KEY, INTER_BROKER_APIS, Api
from kafkastore.server.broker import Broker

LISTENERS = {
    "listeners": "CLIENTS://127.0.0.1:9092,BROKERS://127.0.0.1:9093",
    "listener__security__protocol__map": "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT",
    "inter__broker__listener__name": "BROKERS",
}
T_ID = b"t".ljust(16, b"-")
NEW_EPOCH = 99


def requests() -> dict[int, OutgoingRequest]:
    """A request of each API as a newer controller might send it: it deposes, deletes, empties, moves."""
    fields: dict[str, Any] = {"controller_id": 7, "controller_epoch": NEW_EPOCH, "broker_epoch": -1}
    state = {
        "partition_index": 0, "controller_epoch": NEW_EPOCH, "leader": 7, "leader_epoch": 9, "isr": (7,),
        "partition_epoch": 9, "replicas": (1, 7), "adding_replicas": (), "removing_replicas": (), "is_new": False,
        "leader_recovery_state": 0,
    }  # fmt: skip
    topic = {"topic_name": "t", "topic_id": T_ID, "partition_states": [state]}
    gone = {"partition_index": 0, "leader_epoch": 9, "delete_partition": True}
    stopped = [{"topic_name": "t", "partition_states": [gone]}]
    made = [
        OutgoingRequest("LeaderAndIsr", 7, {**fields, "type": 1, "topic_states": [topic], "live_leaders": ()}),
        OutgoingRequest("StopReplica", 4, {**fields, "topic_states": stopped}),
        OutgoingRequest("UpdateMetadata", 8, {**fields, "type": 2, "topic_states": (), "live_brokers": ()}),
        OutgoingRequest("ControlledShutdown", 3, {"broker_id": 1, "broker_epoch": -1}),
        OutgoingRequest("AlterPartition", 3, {"broker_id": 1, "broker_epoch": -1, "topics": ()}),
        request_of(_deletion_of_t(), is_flexible=True),
    ]
    return {one.api_key: one for one in made}


def _deletion_of_t() -> ForwardedRequest:
    topics = [{"name": "t", "topic_id": None}]
    request = OutgoingRequest("DeleteTopics", 6, {"topics": topics, "timeout_ms": 10_000})
    return ForwardedRequest(20, 6, "a client", "/127.0.0.1", request.body(), None)


async def ask(broker: Broker, key: int, listener: str) -> Any:
    request = requests()[key]
    engine = broker.services.engine
    engine.answers.pop(5000, None)
    is_broker = listener != "CLIENTS"
    engine.submit(Request(key, request.version, request.body(), 5000, listener=listener, is_broker=is_broker))
    await until(lambda: 5000 in engine.answers)
    body = engine.answers[5000]
    assert body is not None
    return request.response(body)


def check(folder: Path, test: Callable[[Broker], Awaitable[None]]) -> None:
    async def body() -> None:
        async with other_store(folder) as store:
            await put_topic(store, "t")
        async with running_member(folder, lambda engine: engine.add_log("t", 0, T_ID), **LISTENERS) as broker:
            await test(broker)

    run(body)


@pytest.mark.parametrize("api", INTER_BROKER_APIS, ids=lambda api: api.name)
def test_clients_request_is_refused_and_has_no_effect(tmp_path: Path, api: Api) -> None:
    async def test(broker: Broker) -> None:
        engine, image, held = broker.services.engine, broker.services.image, broker.services.replica_manager.held
        before = dict(engine.leases), image.controller_epoch, image.controller_id, dict(image.topics), held.topics["t"]
        states = held.topics["t"].partitions[:]
        answer = await ask(broker, api.key, "CLIENTS")
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        now = dict(engine.leases), image.controller_epoch, image.controller_id, dict(image.topics), held.topics["t"]
        assert (now, held.topics["t"].partitions, engine.deleted) == (before, states, [])
        assert broker.services.controller.is_active
        assert engine.leases["t", 0][0] == 1

    check(tmp_path, test)


def test_clients_order_is_refused_unread_and_logged(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path, authorizer__class__name=CLASSES[0]) as broker:
            engine = broker.services.engine
            who = {"principal": "User:eve", "client_host": "/10.0.0.1"}
            engine.submit(Request(5, 4, b"not a StopReplica", 5000, listener="PLAINTEXT", **who))
            await until(lambda: 5000 in engine.answers)
            body = engine.answers[5000]
            assert body is not None
            assert body[:2] == int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED).to_bytes(2)
            assert engine.security().of("log_refused_order") == [("StopReplica", ("User:eve", "/10.0.0.1"))]

    run(body)


@pytest.mark.parametrize("api", INTER_BROKER_APIS, ids=lambda api: api.name)
def test_brokers_request_is_taken(tmp_path: Path, api: Api) -> None:
    async def test(broker: Broker) -> None:
        answer = await ask(broker, api.key, "BROKERS")
        assert answer.error_code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        engine, image = broker.services.engine, broker.services.image
        if api.name == "LeaderAndIsr":
            assert [one.error_code for one in answer.topics[0].partition_errors] == [ErrorCode.NONE]
            assert engine.leases["t", 0] == (7, 9, 9, (1, 7), (7,))
            assert image.controller_epoch == NEW_EPOCH
        elif api.name == "StopReplica":
            assert [(one.topic_name, one.error_code) for one in answer.partition_errors] == [("t", ErrorCode.NONE)]
            assert engine.deleted == [("t", [0])]
        elif api.name == "UpdateMetadata":
            assert (image.topics, image.brokers, engine.published_topics) == ({}, {}, {})
        elif api.name == "Envelope":
            assert answer.error_code == ErrorCode.NONE
            assert (image.topics, engine.published_topics) == ({}, {})
        elif api.name == "AlterPartition":
            assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH

    check(tmp_path, test)


@pytest.mark.parametrize("api", INTER_BROKER_APIS, ids=lambda api: api.name)
def test_broker_that_is_alone_takes_no_orders(tmp_path: Path, api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """It has one listener, for clients, and no other broker may send it requests."""

    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            await broker.services.topics.create("t")
            before = dict(broker.services.engine.leases)
            assert (await ask(broker, api.key, "PLAINTEXT")).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            assert broker.services.engine.leases == before
            assert broker.services.image.topic("t") is not None

    run(body)
    assert "Traceback" not in caplog.text


def test_only_the_apis_between_brokers_are_for_brokers_alone() -> None:
    assert all(api.is_inter_broker for api in INTER_BROKER_APIS)
    assert not any(BY_KEY[key].is_inter_broker for key in BY_KEY.keys() - {4, 5, 6, 7, 56, 58})
