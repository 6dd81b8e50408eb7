"""Checks and plans requests for topics: names, numbers, configuration, replicas. Nothing is written here.

The messages of refusals are Kafka's (ReplicationControlManager). Replicas go to brokers that are alive in the image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.config import validate_topic_configs
from kafkastore.errors import (
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    InvalidTopicError,
    KafkastoreError,
    PolicyViolationError,
    TopicAlreadyExistsError,
)
from kafkastore.metadata.image import PartitionState, TopicImage
from kafkastore.metadata.nodes import new_id
from kafkastore.topic.checks import check_addition, check_replicas
from kafkastore.topic.placement import next_place, place_replicas
from kafkastore.topic_names import check_new_topic_name, may_collide, metrics_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.purgatory.turns import Turn
    from kafkastore.topic.new_topic import NewTopic

MAX_PARTITIONS_PER_REQUEST: Final = 10_000
"""Kafka's ReplicationControlManager.MAX_PARTITIONS_PER_BATCH."""


class TopicPlanner:
    """See the module. It reads the image and the configuration."""

    def __init__(self, config: BrokerConfig, image: MetadataImage) -> None:
        self.config = config
        self.image = image

    async def plan_all(
        self, requested: Sequence[NewTopic], under_way: Iterable[str], turn: Turn
    ) -> list[TopicImage | KafkastoreError]:
        """Returns for each topic its planned image, or the error. ``under_way`` are the names of topics that are being
        created and not in the image yet. Raises PolicyViolationError when there are too many partitions in all."""
        # as in Kafka: topics of one request are not checked for collisions with each other
        collisions: dict[str, str] = {}
        if any(may_collide(one.name) for one in requested):
            collisions = {metrics_name(name): name for name in [*self.image.topics, *under_way]}
        outcomes: list[TopicImage | KafkastoreError] = []
        count = 0
        before = self.image.partition_count()  # counted through the cluster, so that topics of one partition are spread
        async for one in turn.each(requested):
            try:
                topic = self._plan(one, collisions, before + count)
            except KafkastoreError as error:
                outcomes.append(error.with_traceback(None))  # a traceback would keep its frames alive
                continue
            count += len(topic.partitions)
            if count > MAX_PARTITIONS_PER_REQUEST:
                raise PolicyViolationError("Excessively large number of partitions per request.")
            outcomes.append(topic)
        return outcomes

    def _plan(self, requested: NewTopic, collisions: Mapping[str, str], before: int) -> TopicImage:
        """Plans one topic. ``collisions`` maps the metrics names of existing topics to their names; ``before`` is the
        number of partitions placed before this topic's."""
        name, partitions, replication_factor, assignments, configs = requested
        check_new_topic_name(name)
        if name in self.image.topics:
            raise TopicAlreadyExistsError(f"Topic '{name}' already exists.")
        other = collisions.get(metrics_name(name))
        if other is not None:
            raise InvalidTopicError(f"Topic '{name}' collides with existing topic: {other}")
        checked = validate_topic_configs(configs or {}, self.config)
        if assignments:
            if replication_factor != -1:
                raise InvalidRequestError(
                    "A manual partition assignment was specified, but replication factor was not set to -1."
                )
            if partitions != -1:
                raise InvalidRequestError(
                    "A manual partition assignment was specified, but numPartitions was not set to -1."
                )
            replicas = self._check_assignments(assignments)
        else:
            replicas = self._place(partitions, replication_factor, before)
        if len(replicas) > MAX_PARTITIONS_PER_REQUEST:
            raise PolicyViolationError("Excessively large number of partitions per request.")
        return TopicImage(name, new_id(), self.states(replicas), checked)

    def _place(self, partitions: int, replication_factor: int, before: int) -> list[tuple[int, ...]]:
        config = self.config
        if replication_factor < -1 or replication_factor == 0:
            raise InvalidReplicationFactorError(
                "Replication factor must be larger than 0, or -1 to use the default value."
            )
        if partitions < -1 or partitions == 0:
            raise InvalidPartitionsError("Number of partitions was set to an invalid non-positive value.")
        count: int = config.get("num.partitions") if partitions == -1 else partitions
        factor: int = config.get("default.replication.factor") if replication_factor == -1 else replication_factor
        if count > MAX_PARTITIONS_PER_REQUEST:
            raise PolicyViolationError("Excessively large number of partitions per request.")
        return place_replicas(self._racks(), count, factor, before)

    def _check_assignments(self, assignments: Mapping[int, Sequence[int]]) -> list[tuple[int, ...]]:
        if sorted(assignments) != list(range(len(assignments))):
            raise InvalidReplicaAssignmentError("partitions should be a consecutive 0-based integer sequence")
        return self._check_replicas([assignments[partition] for partition in range(len(assignments))], None)

    def _check_replicas(self, assignments: Sequence[Sequence[int]], factor: int | None) -> list[tuple[int, ...]]:
        checked: list[tuple[int, ...]] = []
        brokers, removed = self.image.brokers, self.config.removed_brokers
        for replicas in assignments:
            check_replicas(replicas, brokers, removed)
            if factor is not None and len(replicas) != factor:
                raise InvalidReplicaAssignmentError(
                    f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is"
                    f" not consistent with previous partitions, which have {factor} replica(s)."
                )
            factor = len(replicas)
            checked.append(tuple(replicas))
        return checked

    def place_additional(
        self, topic: TopicImage, count: int, factor: int, assignments: Sequence[Sequence[int]] | None
    ) -> list[tuple[int, ...]]:
        """The replicas of the partitions by which ``topic`` grows to ``count``, ``factor`` for each partition; these
        are ``assignments`` unless None."""
        current = len(topic.partitions)
        additional = count - current
        if assignments is not None:
            check_addition(additional, assignments)
            return self._check_replicas(assignments, factor)
        if additional > MAX_PARTITIONS_PER_REQUEST:
            raise PolicyViolationError("Excessively large number of additional partitions per request.")
        racks = self._racks()
        return place_replicas(racks, additional, factor, next_place(racks, topic.partitions[0].replicas[0], current))

    def _racks(self) -> dict[int, str | None]:
        removed = self.config.removed_brokers
        return {node: broker.rack for node, broker in self.image.brokers.items() if node not in removed}

    def states(self, replicas: Sequence[tuple[int, ...]]) -> list[PartitionState]:
        """The first states of new partitions with these replicas."""
        shared: dict[tuple[int, ...], PartitionState] = {}  # partitions with equal replicas start from one object
        return [shared.setdefault(one, PartitionState(one[0], 0, 0, one, one)) for one in replicas]
