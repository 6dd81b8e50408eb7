"""The cluster's metadata in memory: topics, partitions, configs, brokers. The one source for handlers.

Loaded from the store at start and changed only after the store has taken the change; never written to by handlers (they
go through ``topic/topics.py`` and ``dynamic_config/broker_configs.py``). Partition states are immutable tuples that are
replaced whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkastore.internal_topics import is_internal

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_LEADER = -1
NO_CONTROLLER = -1
UNKNOWN_EPOCH = -1
"""The leader epoch of a partition whose state no request has named yet, or whose state in the store is invalid."""


class PartitionState(NamedTuple):
    """One partition's leadership. ``leader`` is NO_LEADER when it is offline."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    """Replicas in an offline log directory, as far as known; replicas of dead brokers may be among them."""


_UNKNOWN = PartitionState(NO_LEADER, UNKNOWN_EPOCH, -1, (), ())


class TopicImage:
    """One topic; ``partitions[i]`` is partition i. The first ``published`` partitions were published to clients."""

    __slots__ = ("configs", "name", "partitions", "published", "topic_id")

    def __init__(self, name: str, topic_id: bytes, partitions: list[PartitionState], configs: dict[str, str]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions
        self.configs = configs  # the topic's own, not what it inherits
        self.published = 0

    @property
    def is_internal(self) -> bool:
        return is_internal(self.name)


class BrokerImage(NamedTuple):
    """A live broker: ``listeners`` are (name, host, port) as advertised."""

    node_id: int
    rack: str | None
    listeners: tuple[tuple[str, str, int], ...]


class MetadataImage:
    """Topics by name and id, brokers, the controller."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicImage] = {}
        self.topics_by_id: dict[bytes, TopicImage] = {}
        self.brokers: dict[int, BrokerImage] = {}
        self.controller_id: int = NO_CONTROLLER
        self.controller_epoch: int = 0
        self._partition_count = 0
        self._keys_over: dict[bytes, int] = {}

    def topic(self, name: str) -> TopicImage | None:
        return self.topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return self.topics_by_id.get(topic_id)

    def partition(self, topic: str, partition: int) -> PartitionState | None:
        """The state of one partition, or None when there is no such topic or partition."""
        found = self.topics.get(topic)
        if found is None or not 0 <= partition < len(found.partitions):
            return None
        return found.partitions[partition]

    def keys_over(self, topic: TopicImage) -> int:
        """Among how many partitions coordinators place keys, such as group ids: of an internal topic as many as it had
        when this broker met it. Partitions that are added count from its next start, as in Kafka: until then the state
        of a key stays where it is. Brokers of a cluster that start at different times place keys differently."""
        return self._keys_over.get(topic.topic_id, len(topic.partitions))

    def place_keys(self, topic_id: bytes, count: int) -> None:
        """The internal topic has so many partitions now that this broker meets it."""
        self._keys_over.setdefault(topic_id, count)

    def has_places(self, topic_id: bytes) -> bool:
        return topic_id in self._keys_over

    def put_topic(self, topic: TopicImage) -> None:
        self.remove_topic(topic.name)
        self.topics[topic.name] = topic
        self._partition_count += len(topic.partitions)
        self.topics_by_id[topic.topic_id] = topic
        if topic.is_internal and topic.partitions:
            self.place_keys(topic.topic_id, len(topic.partitions))

    def remove_topic(self, name: str) -> TopicImage | None:
        topic = self.topics.pop(name, None)
        if topic is not None:
            self._partition_count -= len(topic.partitions)
            self.topics_by_id.pop(topic.topic_id, None)
        return topic

    def merge(self, name: str, topic_id: bytes, states: Mapping[int, PartitionState]) -> list[int]:
        """Takes over the states of some partitions from the controller; returns the partitions that have these states
        now. A state that is older than the known one, by leader epoch, then by partition epoch, is left out. Partitions
        whose state was not sent yet have no leader."""
        topic = self.topics.get(name)
        if topic is None or topic.topic_id != topic_id:
            topic = TopicImage(name, topic_id, [], {})
            self.put_topic(topic)
        partitions = topic.partitions
        unknown = max(max(states, default=-1) + 1 - len(partitions), 0)
        partitions.extend([_UNKNOWN] * unknown)
        self._partition_count += unknown
        taken = []
        for number, state in states.items():
            if state[1:3] >= partitions[number][1:3]:
                partitions[number] = state
                taken.append(number)
        return taken

    def partition_count(self) -> int:
        """Of all topics."""
        return self._partition_count
