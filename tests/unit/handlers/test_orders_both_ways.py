"""A controller's order has the same effect on its own broker, which takes the object, and on others, which get a
request."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

import pytest

from kafkastore.errors import ErrorCode
from kafkastore.interbroker.order_wire import answer_of, request_of
from kafkastore.interbroker.orders import (
    LeaderAndIsr,
    Order,
    OrderAnswer,
    PartitionOrder,
    StoppedReplica,
    StopReplica,
    TopicOrder,
    UpdateMetadata,
)
from kafkastore.metadata.assignment import ReplicaAssignment
from kafkastore.metadata.broker_nodes import Endpoint, Registration
from kafkastore.metadata.leadership import Leadership
from kafkastore.replica.taken_orders import take

from .test_inter_broker_handlers import T_ID, Owner, context, handled

AT = Endpoint("REPLICATION", "two", 9093, "PLAINTEXT")
LED = PartitionOrder(
    4, Leadership(2, 7, (2, 3), (1,), False, 9, 5), ReplicaAssignment((1, 2, 3), (3,), (1,)), is_new=True
)
OFFLINE = PartitionOrder(5, Leadership(-1, 8, (1,), partition_epoch=3), ReplicaAssignment((1, 2)), offline=(1, 2))
TOPIC = TopicOrder("t", T_ID, [LED, OFFLINE])
TO_LEAD = TopicOrder("t", T_ID, [LED, OFFLINE._replace(offline=())])
GONE = TopicOrder("gone", b"\2" * 16, [LED._replace(is_new=False)], is_deleting=True)
BROKERS = [Registration(2, 77, (AT, AT._replace(listener="OUT", port=9094)), "r"), Registration(3, 78, (AT,))]
ERRORS = {("t", 4): ErrorCode.NONE, ("t", 5): ErrorCode.KAFKA_STORAGE_ERROR}

ORDERS: list[tuple[Order, str, int, Any, OrderAnswer]] = [
    (LeaderAndIsr(3, 5, 77, True, [TO_LEAD], [(2, AT)]), "LeaderAndIsr", 7, (0, ERRORS), OrderAnswer(0, ERRORS)),
    (LeaderAndIsr(3, 5, 77, False, [TO_LEAD], []), "LeaderAndIsr", 7, (11, {}), OrderAnswer(11)),
    (UpdateMetadata(3, 5, 77, True, [TOPIC, GONE], BROKERS), "UpdateMetadata", 8, 0, OrderAnswer(0)),
    (UpdateMetadata(3, 5, 77, False, [], BROKERS), "UpdateMetadata", 8, 11, OrderAnswer(11)),
    (
        StopReplica(
            3,
            5,
            77,
            [StoppedReplica("t", 4, 7, True), StoppedReplica("t", 5, -2, False), StoppedReplica("u", 0, 1, True)],
        ),
        "StopReplica",
        4,
        (0, ERRORS),
        OrderAnswer(0, ERRORS),
    ),
]


@pytest.mark.parametrize(("order", "api", "version", "owners_answer", "answer"), ORDERS)
def test_order_by_call_and_by_request_has_the_same_effect(
    order: Order, api: str, version: int, owners_answer: Any, answer: OrderAnswer
) -> None:
    own, other = Owner(owners_answer), Owner(owners_answer)
    assert asyncio.run(take(own, "REPLICATION", order)) == answer  # type: ignore[arg-type]
    asked, request = context(api, version, other), request_of(order)
    assert (request.api, request.version) == (api, version)
    handler = import_module(f"kafkastore.handlers.{asked.api.module}")
    assert answer_of(order, handled(asked, handler, request.decoded())) == answer
    assert _comparable(own.asked) == _comparable(other.asked)


def _comparable(asked: list[Any]) -> Any:
    """The arguments without the epochs that mean nothing for a deleted partition."""
    (arguments,) = asked
    return [
        [_without_epochs(one) if hasattr(one, "states") else one for one in argument]
        if isinstance(argument, list | tuple)
        else argument
        for argument in arguments
    ]


def _without_epochs(told: Any) -> Any:
    states = {
        number: state._replace(leader_epoch=-2) if state.leader == -2 else state
        for number, state in told.states.items()
    }
    return told._replace(states=states)
