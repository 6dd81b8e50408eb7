"""Builds the requests of the controller to a broker from the context at that moment. No I/O; it decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.interbroker.orders import (
    EPOCH_DURING_DELETE,
    LeaderAndIsr,
    PartitionOrder,
    StoppedReplica,
    StopReplica,
    TopicOrder,
    UpdateMetadata,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.controller.context import ControllerContext, Partition, Topic
    from kafkastore.metadata.broker_nodes import Endpoint, Registration


class RequestBuilder:
    """See the module. ``node_id`` and ``epoch`` are the controller's; ``listener`` names the inter-broker listener."""

    def __init__(self, context: ControllerContext, node_id: int, epoch: int, listener: str | None) -> None:
        self.context = context
        self.node_id = node_id
        self.epoch = epoch
        self.listener = listener

    def leader_and_isr(
        self, broker: Registration, partitions: Mapping[Partition, bool], *, is_full: bool
    ) -> LeaderAndIsr:
        """``partitions`` maps each partition to whether its replica is new on that broker."""
        leaders: set[int] = set()
        topics = []
        for topic, of_topic in _by_topic(partitions).items():
            states = []
            for partition in of_topic:
                leadership = partition.leadership
                if leadership is not None:
                    states.append(
                        PartitionOrder(partition.number, leadership, partition.assigned, partitions[partition])
                    )
                    leaders.add(leadership.leader)
            if states:
                topics.append(TopicOrder(topic.name, topic.topic_id, states))
        return LeaderAndIsr(self.node_id, self.epoch, broker.epoch, is_full, topics, self._live_leaders(leaders))

    def _live_leaders(self, leaders: Iterable[int]) -> list[tuple[int, Endpoint]]:
        found = []
        for leader in sorted(leaders):
            registration = self.context.brokers.get(leader)
            endpoint = None if registration is None else registration.endpoint(self.listener)
            if endpoint is not None:
                found.append((leader, endpoint))
        return found

    def update_metadata(
        self, broker: Registration, partitions: Iterable[Partition], *, is_full: bool
    ) -> UpdateMetadata:
        topics = []
        brokers = self.context.brokers
        has_offline_logs = any(self.context.offline_logs.values())
        offline: dict[tuple[int, ...], tuple[int, ...]] = {}  # replicas to those of them whose broker is not alive
        for topic, of_topic in _by_topic(partitions).items():
            states = []
            for one in of_topic:
                replicas, leadership = one.assigned.replicas, one.leadership
                if leadership is None:
                    continue
                if has_offline_logs:
                    offline_on = self._offline(one)
                elif (found := offline.get(replicas)) is not None:
                    offline_on = found
                else:
                    offline_on = offline[replicas] = tuple([replica for replica in replicas if replica not in brokers])
                states.append(PartitionOrder(one.number, leadership, one.assigned, False, offline_on))
            if states:
                topics.append(TopicOrder(topic.name, topic.topic_id, states, topic.is_deleting))
        live = [one for _, one in sorted(brokers.items())]
        return UpdateMetadata(self.node_id, self.epoch, broker.epoch, is_full, topics, live)

    def topic_names(self, broker: Registration, topics: Iterable[Topic]) -> UpdateMetadata:
        """A full UpdateMetadata that names all topics; their partitions were sent before. The broker drops all other
        topics."""
        named = [TopicOrder(topic.name, topic.topic_id, []) for topic in topics]
        live = [one for _, one in sorted(self.context.brokers.items())]
        return UpdateMetadata(self.node_id, self.epoch, broker.epoch, True, named, live)

    def _offline(self, partition: Partition) -> tuple[int, ...]:
        is_online = self.context.is_online
        return tuple([replica for replica in partition.replicas if not is_online(partition, replica)])

    def stop_replica(self, broker: Registration, partitions: Mapping[Partition, bool]) -> StopReplica:
        """``partitions`` maps each partition to whether its replica is to be deleted."""
        stopped = [
            StoppedReplica(topic.name, partition.number, _stop_epoch(partition, broker.node_id), partitions[partition])
            for topic, of_topic in _by_topic(partitions).items()
            for partition in of_topic
        ]
        return StopReplica(self.node_id, self.epoch, broker.epoch, stopped)


def _stop_epoch(partition: Partition, broker: int) -> int:
    """A replica that a move has taken away goes by the epoch of that, even if the topic goes too: it may be asked for
    before its broker was told of that."""
    is_ending = partition.topic.is_deleting and broker in partition.replicas
    if is_ending or partition.leadership is None:
        return EPOCH_DURING_DELETE
    return partition.leadership.leader_epoch


def _by_topic(partitions: Iterable[Partition]) -> dict[Topic, list[Partition]]:
    found: dict[Topic, list[Partition]] = {}
    for partition in partitions:
        found.setdefault(partition.topic, []).append(partition)
    return found
