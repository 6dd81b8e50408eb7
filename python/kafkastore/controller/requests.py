"""Builds what the controller tells a broker, out of what it knows at that moment. No I/O; it decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import kafkastore.interbroker.codec  # noqa: F401 - how kio is imported first
from kafkastore.interbroker.schema.leader_and_isr.v7 import request as isr_schema
from kafkastore.interbroker.schema.stop_replica.v4 import request as stop_schema
from kafkastore.interbroker.schema.update_metadata.v8 import request as metadata_schema
from kafkastore.replica.assigned import EPOCH_DURING_DELETE, LEADER_DURING_DELETE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.controller.context import ControllerContext, Partition, Topic
    from kafkastore.metadata.broker_nodes import Registration

SOME, ALL = 1, 2
"""The type of a request: some partitions, or all that there are."""

_SECURITY_PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

# kio types its fields with classes of its own; what is put in are plain integers and strings
_isr: Any = isr_schema
_stop: Any = stop_schema
_metadata: Any = metadata_schema


class RequestBuilder:
    """See the module. ``node_id`` and ``epoch`` are the controller's, ``listener`` names the one brokers talk on."""

    def __init__(self, context: ControllerContext, node_id: int, epoch: int, listener: str | None) -> None:
        self.context = context
        self.node_id = node_id
        self.epoch = epoch
        self.listener = listener

    def leader_and_isr(self, broker: Registration, partitions: Mapping[Partition, bool], kind: int) -> Any:
        """``partitions`` to whether the replica is new on that broker."""
        leaders: set[int] = set()
        topics = []
        for topic, of_topic in _by_topic(partitions).items():
            states = []
            for partition in of_topic:
                state = _leader_and_isr_state(partition, is_new=partitions[partition])
                leaders.add(state.leader)
                states.append(state)
            topics.append(
                _isr.LeaderAndIsrTopicState(
                    topic_name=topic.name, topic_id=UUID(bytes=topic.topic_id), partition_states=tuple(states)
                )
            )
        return _isr.LeaderAndIsrRequest(
            controller_id=self.node_id,
            controller_epoch=self.epoch,
            broker_epoch=broker.epoch,
            type_=kind,
            topic_states=tuple(topics),
            live_leaders=self._live_leaders(leaders),
        )

    def _live_leaders(self, leaders: Iterable[int]) -> tuple[Any, ...]:
        found = []
        for leader in sorted(leaders):
            registration = self.context.brokers.get(leader)
            endpoint = None if registration is None else registration.endpoint(self.listener)
            if endpoint is not None:
                found.append(_isr.LeaderAndIsrLiveLeader(broker_id=leader, host_name=endpoint.host, port=endpoint.port))
        return tuple(found)

    def update_metadata(self, broker: Registration, partitions: Iterable[Partition], kind: int) -> Any:
        topics = tuple(
            _metadata.UpdateMetadataTopicState(
                topic_name=topic.name,
                topic_id=UUID(bytes=topic.topic_id),
                partition_states=tuple(self._metadata_state(partition) for partition in of_topic),
            )
            for topic, of_topic in _by_topic(partitions).items()
        )
        return _metadata.UpdateMetadataRequest(
            controller_id=self.node_id,
            type_=kind,
            controller_epoch=self.epoch,
            broker_epoch=broker.epoch,
            topic_states=topics,
            live_brokers=tuple(_live_broker(one) for _, one in sorted(self.context.brokers.items())),
        )

    def _metadata_state(self, partition: Partition) -> Any:
        state = partition.leadership
        assert state is not None, partition
        replicas = partition.replicas
        is_online = self.context.is_online
        return _metadata.UpdateMetadataPartitionState(
            partition_index=partition.number,
            controller_epoch=state.controller_epoch,
            leader=LEADER_DURING_DELETE if partition.topic.is_deleting else state.leader,
            leader_epoch=EPOCH_DURING_DELETE if partition.topic.is_deleting else state.leader_epoch,
            isr=state.isr,
            zk_version=state.partition_epoch,
            replicas=replicas,
            offline_replicas=tuple(replica for replica in replicas if not is_online(partition, replica)),
        )

    def stop_replica(self, broker: Registration, partitions: Mapping[Partition, bool]) -> Any:
        """``partitions`` to whether they are deleted."""
        topics = tuple(
            _stop.StopReplicaTopicState(
                topic_name=topic.name,
                partition_states=tuple(
                    _stop.StopReplicaPartitionState(
                        partition_index=partition.number,
                        leader_epoch=_stop_epoch(partition),
                        delete_partition=partitions[partition],
                    )
                    for partition in of_topic
                ),
            )
            for topic, of_topic in _by_topic(partitions, has_state=False).items()
        )
        return _stop.StopReplicaRequest(
            controller_id=self.node_id, controller_epoch=self.epoch, broker_epoch=broker.epoch, topic_states=topics
        )


def _leader_and_isr_state(partition: Partition, *, is_new: bool) -> Any:
    state = partition.leadership
    assert state is not None, partition
    return _isr.LeaderAndIsrPartitionState(
        partition_index=partition.number,
        controller_epoch=state.controller_epoch,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        partition_epoch=state.partition_epoch,
        replicas=partition.assigned.replicas,
        adding_replicas=partition.assigned.adding,
        removing_replicas=partition.assigned.leaving,
        is_new=is_new,
        leader_recovery_state=int(state.is_recovering),
        elr=state.elr,
    )


def _stop_epoch(partition: Partition) -> int:
    if partition.topic.is_deleting or partition.leadership is None:
        return EPOCH_DURING_DELETE
    return partition.leadership.leader_epoch


def _live_broker(broker: Registration) -> Any:
    endpoints = tuple(
        _metadata.UpdateMetadataEndpoint(
            port=one.port,
            host=one.host,
            listener=one.listener,
            security_protocol=_SECURITY_PROTOCOLS.get(one.security_protocol, 0),
        )
        for one in broker.endpoints
    )
    return _metadata.UpdateMetadataBroker(id_=broker.node_id, endpoints=endpoints, rack=broker.rack)


def _by_topic(partitions: Iterable[Partition], *, has_state: bool = True) -> dict[Topic, list[Partition]]:
    """Only those whose state was decided, unless ``has_state`` is False: of others there is nothing to say."""
    found: dict[Topic, list[Partition]] = {}
    for partition in partitions:
        if partition.leadership is not None or not has_state:
            found.setdefault(partition.topic, []).append(partition)
    return found
