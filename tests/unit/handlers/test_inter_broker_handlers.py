"""The handlers of controllers' requests: every field reaches the owner, every refusal reaches the answer (KIP-497)."""

from __future__ import annotations

import asyncio
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from stepped import Request, taken

from kafkastore._core import Unwritten, decode_response
from kafkastore.config import BrokerConfig
from kafkastore.errors import ErrorCode, NotControllerError
from kafkastore.handlers import alter_partition, controlled_shutdown, leader_and_isr, stop_replica, update_metadata
from kafkastore.interbroker.orders import NO_NUMBER, StoppedReplica
from kafkastore.metadata.image import BrokerImage, PartitionState
from kafkastore.replica.assigned import TopicStates
from kafkastore.requests.context import RequestContext
from kafkastore.requests.error_response import error_answer
from kafkastore.requests.registry import BY_NAME

T_ID = b"\1" * 16
PROTOCOLS = {"listener.security.protocol.map": "REPLICATION:PLAINTEXT", "inter.broker.listener.name": "REPLICATION"}
LEADER = BrokerImage(2, None, (("REPLICATION", "two", 9093),))
NUMBER = 12
STATE = PartitionState(2, 7, 9, (1, 2, 3), (2, 3))


class Owner:
    """Keeps the arguments of its calls and returns the answer that the test sets."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    async def become(self, *arguments: Any, number: int = NUMBER) -> Any:
        assert number in (NUMBER, NO_NUMBER)
        self.asked.append(arguments)
        return self.answer

    stop = controlled_shutdown = alter_partition = become

    async def update(self, *arguments: Any, is_full: bool, number: int = NUMBER) -> Any:
        assert number in (NUMBER, NO_NUMBER)
        self.asked.append((*arguments, is_full))
        return self.answer


def context(api: str, version: int, owner: Owner) -> RequestContext:
    config = BrokerConfig({"log.dirs": "/data", "listeners": "REPLICATION://:9093", **PROTOCOLS})
    services: Any = SimpleNamespace(config=config, assigned=owner, controller=owner)
    return RequestContext(taken(Request(BY_NAME[api].key, version, b"")), BY_NAME[api], services)


def handled(asked: RequestContext, handler: ModuleType, request: Any) -> Any:
    """The handler's answer as its reader sees it."""

    async def run() -> Unwritten:
        answer = await handler.handle(asked, request)
        assert isinstance(answer, Unwritten)
        return answer

    return asked.as_object(asyncio.run(run()))


def request(**fields: Any) -> Any:
    return SimpleNamespace(controller_id=3, number=NUMBER, controller_epoch=5, broker_epoch=77, **fields)


def partition(**fields: Any) -> Any:
    return SimpleNamespace(partition_index=4, leader=2, leader_epoch=7, isr=(2, 3), replicas=(1, 2, 3), **fields)


def topic(*states: Any) -> Any:
    return SimpleNamespace(topic_name="t", topic_id=T_ID, partition_states=states)


def test_leader_and_isr_names_each_partition_and_its_error() -> None:
    owner = Owner((0, {("t", 4): ErrorCode.STALE_CONTROLLER_EPOCH}))
    live = SimpleNamespace(broker_id=2, host_name="two", port=9093)
    asked = request(topic_states=(topic(partition(partition_epoch=9, is_new=True)),), live_leaders=(live,))
    answer = handled(context("LeaderAndIsr", 7, owner), leader_and_isr, asked)
    assert owner.asked == [(3, 5, 77, [TopicStates("t", T_ID, {4: STATE}, frozenset((4,)))], [LEADER])]
    (of_topic,) = answer.topics
    assert (answer.error_code, of_topic.topic_id) == (0, T_ID)
    assert [(one.partition_index, one.error_code) for one in of_topic.partition_errors] == [(4, 11)]


def test_fenced_leader_and_isr_is_answered_without_partitions() -> None:
    asked = request(live_leaders=(), topic_states=(topic(partition(partition_epoch=9, is_new=True)),))
    owner = Owner((ErrorCode.STALE_BROKER_EPOCH, {}))
    answer = handled(context("LeaderAndIsr", 7, owner), leader_and_isr, asked)
    assert (answer.error_code, answer.topics) == (ErrorCode.STALE_BROKER_EPOCH, ())


@pytest.mark.parametrize("is_deleted", [False, True])
def test_stop_replica_deletes_only_where_it_says_so(is_deleted: bool) -> None:
    owner = Owner((0, {("t", 4): ErrorCode.FENCED_LEADER_EPOCH}))
    asked = request(topic_states=(topic(partition(delete_partition=is_deleted)),))
    answer = handled(context("StopReplica", 4, owner), stop_replica, asked)
    assert owner.asked == [(5, 77, [StoppedReplica("t", 4, 7, is_deleted)])]
    (error,) = answer.partition_errors
    assert (error.topic_name, error.partition_index, error.error_code) == ("t", 4, ErrorCode.FENCED_LEADER_EPOCH)


@pytest.mark.parametrize(("kind", "is_full"), [(0, False), (1, False), (2, True)])
def test_update_metadata_is_full_only_where_it_says_so(kind: int, is_full: bool) -> None:
    owner = Owner(0)
    endpoint = SimpleNamespace(listener="A", host="h", port=9)
    broker = SimpleNamespace(id=2, rack="r", endpoints=(endpoint,))
    states = (topic(partition(zk_version=9, offline_replicas=(3,))),)
    asked = request(topic_states=states, live_brokers=(broker,), type=kind)
    assert handled(context("UpdateMetadata", 8, owner), update_metadata, asked).error_code == 0
    brokers = [BrokerImage(2, "r", (("A", "h", 9),))]
    assert owner.asked == [(3, 5, 77, brokers, [TopicStates("t", T_ID, {4: STATE._replace(offline=(3,))})], is_full)]


def test_update_metadata_that_is_fenced_says_so() -> None:
    asked = request(topic_states=(), live_brokers=(), type=1)
    answer = handled(context("UpdateMetadata", 8, Owner(11)), update_metadata, asked)
    assert answer.error_code == ErrorCode.STALE_CONTROLLER_EPOCH


def test_controlled_shutdown_names_what_is_still_led() -> None:
    owner, asked = Owner([("t", 4)]), SimpleNamespace(broker_id=2, broker_epoch=77)
    answer = handled(context("ControlledShutdown", 3, owner), controlled_shutdown, asked)
    assert owner.asked == [(2, 77)]
    assert [(one.topic_name, one.partition_index) for one in answer.remaining_partitions] == [("t", 4)]
    assert answer.error_code == 0


def test_controlled_shutdown_elsewhere_is_an_error_and_no_leave_to_go() -> None:
    api, error = BY_NAME["ControlledShutdown"], NotControllerError()
    response = error_answer(api, 3, SimpleNamespace(), error.code, error.client_message)
    answer = decode_response(api.key, 3, b"".join(response.pieces()))
    assert (answer.error_code, answer.remaining_partitions) == (ErrorCode.NOT_CONTROLLER, ())


def test_alter_partition_is_the_controllers_to_answer() -> None:
    owner = Owner({"error_code": ErrorCode.STALE_BROKER_EPOCH, "topics": ()})
    answer = handled(context("AlterPartition", 3, owner), alter_partition, "request")
    assert (answer.error_code, answer.topics) == (ErrorCode.STALE_BROKER_EPOCH, ())
    assert owner.asked == [("request",)]
