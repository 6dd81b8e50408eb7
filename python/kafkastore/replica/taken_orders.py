"""The orders of the controller that runs in this broker, taken as they are: no socket, no schema (see
``assigned.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.interbroker.orders import LEADER_DURING_DELETE, LeaderAndIsr, OrderAnswer, UpdateMetadata
from kafkastore.metadata.image import BrokerImage, PartitionState
from kafkastore.replica.assigned import TopicStates

if TYPE_CHECKING:
    from kafkastore.interbroker.orders import Order, TopicOrder
    from kafkastore.metadata.broker_nodes import Registration
    from kafkastore.replica.assigned import AssignedReplicas


async def take(assigned: AssignedReplicas, listener: str, order: Order) -> OrderAnswer:
    """Does what the handlers of LeaderAndIsr, UpdateMetadata and StopReplica do for a controller on another broker.
    ``listener`` is the name of the listener for requests between brokers."""
    if isinstance(order, LeaderAndIsr):
        leaders = [BrokerImage(node, None, ((listener, at.host, at.port),)) for node, at in order.leaders]
        states = [_states_to_lead(topic) for topic in order.topics]
        return OrderAnswer(
            *await assigned.become(
                order.controller_id,
                order.controller_epoch,
                order.broker_epoch,
                states,
                leaders,
                number=order.number,
            )
        )
    if isinstance(order, UpdateMetadata):
        code = await assigned.update(
            order.controller_id,
            order.controller_epoch,
            order.broker_epoch,
            list(map(_broker, order.brokers)),
            list(map(_states_of, order.topics)),
            is_full=order.is_full,
            number=order.number,
        )
        return OrderAnswer(code)
    return OrderAnswer(
        *await assigned.stop(order.controller_epoch, order.broker_epoch, order.stopped, number=order.number)
    )


def _states_to_lead(topic: TopicOrder) -> TopicStates:
    new = frozenset([one.number for one in topic.partitions if one.is_new])
    return TopicStates(topic.name, topic.topic_id, _states(topic), new)


def _states_of(topic: TopicOrder) -> TopicStates:
    return TopicStates(topic.name, topic.topic_id, _states(topic))


def _states(topic: TopicOrder) -> dict[int, PartitionState]:
    equal: dict[tuple[object, ...], PartitionState] = {}  # equal states share one object
    states = {}
    for number, leadership, assigned, _, offline in topic.partitions:
        key = id(leadership), id(assigned), offline
        state = equal.get(key)
        if state is None:
            leader = LEADER_DURING_DELETE if topic.is_deleting else leadership.leader
            epochs = leadership.leader_epoch, leadership.partition_epoch
            state = equal[key] = PartitionState(leader, *epochs, assigned.replicas, leadership.isr, offline)
        states[number] = state
    return states


def _broker(broker: Registration) -> BrokerImage:
    return BrokerImage(
        broker.node_id, broker.rack, tuple([(one.listener, one.host, one.port) for one in broker.endpoints])
    )
