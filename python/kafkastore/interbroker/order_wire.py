"""A controller's orders as requests of the protocol, and the answers to them: LeaderAndIsr 7, UpdateMetadata 8,
StopReplica 4, as in Kafka 3.9. For brokers that are reached over a socket. Decides nothing; no I/O."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafkastore.interbroker.orders import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    LeaderAndIsr,
    Order,
    OrderAnswer,
    PartitionOrder,
    StoppedReplica,
    StopReplica,
    TopicOrder,
    UpdateMetadata,
)
from kafkastore.messages import OutgoingRequest

if TYPE_CHECKING:
    from kafkastore.metadata.broker_nodes import Registration

SOME, ALL = 1, 2
"""The type of a request: it has some partitions, or all that exist."""

_SECURITY_PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

Fields = dict[str, Any]


def request_of(order: Order) -> OutgoingRequest:
    """The protocol's request for an order."""
    if isinstance(order, LeaderAndIsr):
        return _leader_and_isr(order)
    return _update_metadata(order) if isinstance(order, UpdateMetadata) else _stop_replica(order)


def answer_of(order: Order, response: Any) -> OrderAnswer:
    """The answer to ``order`` from the protocol's response."""
    if isinstance(order, LeaderAndIsr):
        names = {topic.topic_id: topic.name for topic in order.topics}
        return OrderAnswer(
            int(response.error_code),
            {
                (names[topic.topic_id], one.partition_index): int(one.error_code)
                for topic in response.topics
                if topic.topic_id in names
                for one in topic.partition_errors
            },
        )
    if isinstance(order, StopReplica):
        errors = {(one.topic_name, one.partition_index): int(one.error_code) for one in response.partition_errors}
        return OrderAnswer(int(response.error_code), errors)
    return OrderAnswer(int(response.error_code))


# ---- LeaderAndIsr
def _leader_and_isr(order: LeaderAndIsr) -> OutgoingRequest:
    fields = {
        "controller_id": order.controller_id,
        "controller_epoch": order.controller_epoch,
        "broker_epoch": order.broker_epoch,
        "number": order.number,
        "type": ALL if order.is_full else SOME,
        "topic_states": tuple(
            {
                "topic_name": topic.name,
                "topic_id": topic.topic_id,
                "partition_states": tuple(map(_leader_and_isr_state, topic.partitions)),
            }
            for topic in order.topics
        ),
        "live_leaders": tuple(
            {"broker_id": node_id, "host_name": endpoint.host, "port": endpoint.port}
            for node_id, endpoint in order.leaders
        ),
    }
    return OutgoingRequest("LeaderAndIsr", 7, fields)


def _leader_and_isr_state(one: PartitionOrder) -> Fields:
    state = one.leadership
    return {
        "partition_index": one.number,
        "controller_epoch": state.controller_epoch,
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "isr": state.isr,
        "partition_epoch": state.partition_epoch,
        "replicas": one.assigned.replicas,
        "adding_replicas": one.assigned.adding,
        "removing_replicas": one.assigned.leaving,
        "is_new": one.is_new,
        "leader_recovery_state": int(state.is_recovering),
        "elr": state.elr,
    }


# ---- UpdateMetadata
def _update_metadata(order: UpdateMetadata) -> OutgoingRequest:
    fields = {
        "controller_id": order.controller_id,
        "type": ALL if order.is_full else SOME,
        "controller_epoch": order.controller_epoch,
        "broker_epoch": order.broker_epoch,
        "number": order.number,
        "topic_states": tuple(
            {
                "topic_name": topic.name,
                "topic_id": topic.topic_id,
                "partition_states": tuple(_metadata_state(topic, one) for one in topic.partitions),
            }
            for topic in order.topics
        ),
        "live_brokers": tuple(map(_live_broker, order.brokers)),
    }
    return OutgoingRequest("UpdateMetadata", 8, fields)


def _metadata_state(topic: TopicOrder, one: PartitionOrder) -> Fields:
    state = one.leadership
    return {
        "partition_index": one.number,
        "controller_epoch": state.controller_epoch,
        "leader": LEADER_DURING_DELETE if topic.is_deleting else state.leader,
        "leader_epoch": EPOCH_DURING_DELETE if topic.is_deleting else state.leader_epoch,
        "isr": state.isr,
        "zk_version": state.partition_epoch,
        "replicas": one.assigned.replicas,
        "offline_replicas": one.offline,
    }


def _live_broker(broker: Registration) -> Fields:
    endpoints = tuple(
        {
            "port": one.port,
            "host": one.host,
            "listener": one.listener,
            "security_protocol": _SECURITY_PROTOCOLS.get(one.security_protocol, 0),
        }
        for one in broker.endpoints
    )
    return {"id": broker.node_id, "endpoints": endpoints, "rack": broker.rack}


# ---- StopReplica
def _stop_replica(order: StopReplica) -> OutgoingRequest:
    topics = tuple(
        {"topic_name": name, "partition_states": tuple(map(_stopped, of_topic))}
        for name, of_topic in groupby(order.stopped, lambda one: one.topic)
    )
    fields = {
        "controller_id": order.controller_id,
        "controller_epoch": order.controller_epoch,
        "broker_epoch": order.broker_epoch,
        "number": order.number,
        "topic_states": topics,
    }
    return OutgoingRequest("StopReplica", 4, fields)


def _stopped(one: StoppedReplica) -> Fields:
    return {"partition_index": one.partition, "leader_epoch": one.leader_epoch, "delete_partition": one.is_deleted}
