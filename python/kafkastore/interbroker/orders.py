"""The requests of a controller to a broker, and their answers: LeaderAndIsr, UpdateMetadata and StopReplica as plain
values.

A controller makes these. Its own broker takes them as they are; for any other they become requests of the protocol
(``interbroker/order_wire.py``). So a broker that is alone makes no message of them. No I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.metadata.assignment import ReplicaAssignment
    from kafkastore.metadata.broker_nodes import Endpoint, Registration
    from kafkastore.metadata.leadership import Leadership

    Key = tuple[str, int]

LEADER_DURING_DELETE = -2
"""The leader that Kafka's controllers send in UpdateMetadata for a partition that is being deleted."""

EPOCH_DURING_DELETE = -2
"""The leader epoch that they send in StopReplica then: it stops the replica, whatever leader epoch the replica
knows."""


NO_NUMBER = 0
"""In place of the number of a request, which rises with each request that a controller sends to brokers; a request
without a number is taken whenever it comes."""


class PartitionOrder(NamedTuple):
    """One partition as the controller has decided it."""

    number: int
    leadership: Leadership
    assigned: ReplicaAssignment
    is_new: bool = False
    """Of LeaderAndIsr: no broker has had the partition yet."""
    offline: tuple[int, ...] = ()
    """Of UpdateMetadata: the offline replicas."""


class TopicOrder(NamedTuple):
    name: str
    topic_id: bytes
    partitions: list[PartitionOrder]
    is_deleting: bool = False


class LeaderAndIsr(NamedTuple):
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    is_full: bool
    topics: list[TopicOrder]
    leaders: list[tuple[int, Endpoint]]
    """The brokers that lead the partitions, with the endpoints to fetch from."""
    number: int = NO_NUMBER


class UpdateMetadata(NamedTuple):
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    is_full: bool
    topics: list[TopicOrder]
    brokers: list[Registration]
    number: int = NO_NUMBER


class StoppedReplica(NamedTuple):
    """One replica of a StopReplica."""

    topic: str
    partition: int
    leader_epoch: int
    is_deleted: bool


class StopReplica(NamedTuple):
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    stopped: list[StoppedReplica]
    number: int = NO_NUMBER


Order = LeaderAndIsr | UpdateMetadata | StopReplica


class OrderAnswer(NamedTuple):
    """The error code of the order as a whole, and of each partition for which the broker reports a code."""

    error_code: int
    errors: Mapping[Key, int] = {}
