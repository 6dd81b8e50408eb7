"""Topics: what there is, and making, growing and deleting them. See ``admin_client.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore.admin.admin_client import QUIET, WORK_MS, KafkaError, check, complete, refusals
from kafkastore.interbroker.cluster import UnsupportedApiError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafkastore.admin.admin_client import AdminClient

FOR_IDS = 12
"""The first version of Metadata that may be asked for a topic's id and not for its name."""
BY_ID = 6
"""The first version of DeleteTopics with rows, which may name a topic by its id."""
PARTITIONS_AT_ONCE = 2_000
"""What Kafka's clients ask for, and the most that a broker puts into one answer (max.request.partition.size.limit)."""
WITH_IDS = 10
"""The first version of Metadata whose topics have ids."""
NO_ID = bytes(16)
ANSWER_MS = 5_000
"""How much longer than the brokers may take the answer is waited for."""


class PartitionDescription(NamedTuple):
    """``leader`` is -1 when there is none; ``elr`` and ``last_known_elr`` are None from brokers that do not tell."""

    number: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


class TopicDescription(NamedTuple):
    """``topic_id``: 16 bytes, None from brokers that have none (before Kafka 2.8)."""

    name: str
    topic_id: bytes | None
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0


class NewTopic(NamedTuple):
    """-1: the broker's ``num.partitions`` or ``default.replication.factor``, from Kafka 2.4 on. With ``assignments``,
    the replicas of each partition, both are -1."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = {}
    assignments: Sequence[Sequence[int]] = ()


async def topic_names(client: AdminClient) -> dict[str, bool]:
    """The topics that the user may describe, each with whether it is internal."""
    return {name: topic.is_internal for name, topic in (await all_topics(client)).items()}


async def all_topics(client: AdminClient) -> dict[str, TopicDescription]:
    """The topics that the user may describe, by name."""
    answer = await client.ask_any("Metadata", {"topics": None, **QUIET})
    client.learn_cluster(answer)
    return {topic.name: _described(topic) for topic in answer.topics}


async def describe_topics(
    client: AdminClient, names: Sequence[str], *, partition_limit: int = PARTITIONS_AT_ONCE
) -> dict[str, TopicDescription | KafkaError]:
    """These topics, or why one is not described: with the eligible leader replicas where brokers know of them (Kafka
    4.0), ``partition_limit`` partitions in one answer."""
    if await client.serves("DescribeTopicPartitions", 0):
        return await _describe_by_partitions(client, sorted(set(names)), partition_limit)
    return await topics_in_metadata(client, names)


async def topics_in_metadata(client: AdminClient, names: Sequence[str]) -> dict[str, TopicDescription | KafkaError]:
    """The same without what only newer brokers know, from one answer, which also says who leads."""

    def fields(version: int) -> dict[str, Any]:
        topic_id = {"topic_id": NO_ID} if version >= WITH_IDS else {}
        return {"topics": [{"name": name, **topic_id} for name in names], **QUIET}

    answer = await client.ask_any("Metadata", fields)
    client.learn_cluster(answer)
    refused = refusals((topic.name, topic) for topic in answer.topics)
    return complete(names, {topic.name: refused.get(topic.name) or _described(topic) for topic in answer.topics})


async def describe_topic_id(client: AdminClient, topic_id: bytes) -> TopicDescription:
    """The topic of an id. Raises KafkaError, and UnsupportedApiError of brokers before Kafka 3.1."""
    if not await client.serves("Metadata", FOR_IDS):
        raise UnsupportedApiError("this cluster cannot be asked for a topic's id (Kafka 3.1 on can); name the topic")
    answer = await client.ask_any("Metadata", {"topics": [{"topic_id": topic_id, "name": None}], **QUIET})
    client.learn_cluster(answer)
    check(answer.topics[0])
    return _described(answer.topics[0])


async def _describe_by_partitions(
    client: AdminClient, names: Sequence[str], partition_limit: int
) -> dict[str, TopicDescription | KafkaError]:
    """With DescribeTopicPartitions, which says in each answer where the next one goes on."""
    found: dict[str, TopicDescription | KafkaError] = {}
    cursor: Any = None
    while True:
        asked = names if cursor is None else [name for name in names if name >= cursor["topic_name"]]
        rows = [{"name": name} for name in asked]
        fields = {"topics": rows, "response_partition_limit": partition_limit, "cursor": cursor}
        answer = await client.ask_any("DescribeTopicPartitions", fields)
        refused = refusals((topic.name, topic) for topic in answer.topics)
        for topic in answer.topics:
            described, before = refused.get(topic.name) or _described(topic), found.get(topic.name)
            if isinstance(before, TopicDescription) and isinstance(described, TopicDescription):
                described = described._replace(partitions=before.partitions + described.partitions)
            found[topic.name] = described
        if answer.next_cursor is None:
            return complete(names, found)
        at = answer.next_cursor
        cursor = {"topic_name": at.topic_name, "partition_index": at.partition_index}


async def create_topics(
    client: AdminClient, topics: Iterable[NewTopic], *, validate_only: bool = False
) -> dict[str, KafkaError]:
    """Makes topics; those that were refused, with the reasons."""
    wanted = {topic.name: topic for topic in topics}

    async def attempt(names: list[str]) -> dict[str, KafkaError]:
        rows = [_creatable(wanted[name]) for name in names]
        return await _asked(client, "CreateTopics", {"topics": rows, "validate_only": validate_only}, "topics")

    return await client.settled(wanted, attempt)


async def create_partitions(
    client: AdminClient, totals: Mapping[str, int], assignments: Mapping[str, Sequence[Sequence[int]]] | None = None
) -> dict[str, KafkaError]:
    """Grows topics to so many partitions; those that were refused. ``assignments``: the replicas of the new ones."""
    replicas = assignments or {}

    def row(name: str) -> dict[str, Any]:
        placed = [{"broker_ids": tuple(ids)} for ids in replicas[name]] if name in replicas else None
        return {"name": name, "count": totals[name], "assignments": placed}

    async def attempt(names: list[str]) -> dict[str, KafkaError]:
        fields = {"topics": list(map(row, names)), "validate_only": False}
        return await _asked(client, "CreatePartitions", fields, "results")

    return await client.settled(totals, attempt)


async def delete_topics(client: AdminClient, names: Iterable[str]) -> dict[str, KafkaError]:
    """Deletes topics; those that were refused, with the reasons."""

    async def attempt(asked: list[str]) -> dict[str, KafkaError]:
        by_id = await client.serves("DeleteTopics", BY_ID)
        fields = (
            {"topics": [{"name": name, "topic_id": None} for name in asked]} if by_id else {"topic_names": tuple(asked)}
        )
        return await _asked(client, "DeleteTopics", fields, "responses")

    return await client.settled(names, attempt)


async def _asked(client: AdminClient, api: str, fields: Mapping[str, Any], rows: str) -> dict[str, KafkaError]:
    timed = {**fields, "timeout_ms": WORK_MS}
    answer = await client.ask_controller(api, timed, timeout_ms=WORK_MS + ANSWER_MS)
    return refusals((row.name, row) for row in getattr(answer, rows))


def _creatable(topic: NewTopic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "num_partitions": -1 if topic.assignments else topic.partitions,
        "replication_factor": -1 if topic.assignments else topic.replication_factor,
        "assignments": [
            {"partition_index": number, "broker_ids": tuple(ids)} for number, ids in enumerate(topic.assignments)
        ],
        "configs": [{"name": name, "value": value} for name, value in topic.configs.items()],
    }


def _described(topic: Any) -> TopicDescription:
    partitions = (
        PartitionDescription(
            one.partition_index,
            one.leader_id,
            tuple(one.replica_nodes),
            tuple(one.isr_nodes),
            tuple(one.offline_replicas),
            _nodes(getattr(one, "eligible_leader_replicas", None)),
            _nodes(getattr(one, "last_known_elr", None)),
        )
        for one in topic.partitions
    )
    ordered = tuple(sorted(partitions, key=lambda one: one.number))
    return TopicDescription(topic.name, topic.topic_id, topic.is_internal, ordered)


def _nodes(found: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if found is None else tuple(found)
