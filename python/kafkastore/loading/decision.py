"""The decision of a load that several tasks have staged: which segments belong to it. Kafka keeps it, as offsets of the
group ``load_id`` that were committed in a transaction of the transactional id ``load_id``.

Before the decision nothing is in a log, and a load that begins again stages anew. After it the same segments are
adopted until all are, however often the driver dies, and whatever order its rows would come in a second time. A driver
that was thought dead cannot decide any more: the next one has fenced it.

The offset of a partition is the number of its records, the metadata has the parts: ``producer id.epoch.records``, with
commas between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore.loading.cluster import GROUP_KEY, TRANSACTION_KEY, FencedError, LoadClient, LoadError
from kafkastore.messages import OutgoingRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NO_GENERATION = -1
NO_LEADER_EPOCH = -1
NO_OFFSET = -1
MAX_METADATA = 4096
"""offset.metadata.max.bytes, by default."""


class StagedPartition(NamedTuple):
    """What one task has staged for a partition."""

    producer: tuple[int, int]
    """Producer id and epoch."""
    records: int


Parts = dict[int, list[StagedPartition]]
"""By partition of the topic, in the order in which they are adopted."""


def _encoded(parts: Sequence[StagedPartition]) -> str:
    return ",".join(f"{one.producer[0]}.{one.producer[1]}.{one.records}" for one in parts)


def _decoded(text: str) -> list[StagedPartition]:
    found = []
    for one in text.split(","):
        producer_id, epoch, records = one.split(".")
        found.append(StagedPartition((int(producer_id), int(epoch)), int(records)))
    return found


async def begin(client: LoadClient, load_id: str, topic: str) -> tuple[tuple[int, int], Parts | None]:
    """The driver's producer, which fences earlier drivers of the load, and the decision if one was made. Raises
    LoadError."""
    producer = await client.producer(load_id)
    request = OutgoingRequest("OffsetFetch", 7, {"group_id": load_id, "topics": None, "require_stable": True})
    answer = await client.ask_coordinator(load_id, GROUP_KEY, request, codes_of=_fetch_codes)
    found: Parts = {}
    for of_topic in answer.topics:
        if of_topic.name != topic:
            raise LoadError(f"load_id {load_id} was used for topic {of_topic.name}; give topic {topic} another one")
        for one in of_topic.partitions:
            if one.committed_offset != NO_OFFSET:
                try:
                    found[int(one.partition_index)] = _decoded(one.metadata or "")
                except ValueError:
                    raise LoadError(f"load_id {load_id} is a consumer group's name; give another one") from None
    return producer, found or None


async def check(client: LoadClient, load_id: str, producer: tuple[int, int]) -> None:
    """Raises FencedError when another driver has begun since the one with this producer."""
    request = OutgoingRequest("DescribeTransactions", 0, {"transactional_ids": (load_id,)})
    answer = await client.ask_coordinator(load_id, TRANSACTION_KEY, request, codes_of=_state_codes)
    (state,) = answer.transaction_states
    if (state.producer_id, state.producer_epoch) != producer:
        raise FencedError(load_id)


async def make(client: LoadClient, load_id: str, topic: str, producer: tuple[int, int], parts: Parts) -> None:
    """Makes the decision durable. Raises LoadError; when the brokers have not confirmed it, it may be made or not,
    which the next call with this ``load_id`` finds out."""
    texts = {partition: _encoded(of_partition) for partition, of_partition in parts.items()}
    longest = max(map(len, texts.values()), default=0)
    if longest > MAX_METADATA:
        raise LoadError(
            f"the tasks of load {load_id} are more than offset.metadata.max.bytes ({MAX_METADATA}) describes "
            f"({longest} bytes); give fewer tasks"
        )
    named: Mapping[str, Any] = {
        "transactional_id": load_id,
        "producer_id": producer[0],
        "producer_epoch": producer[1],
    }
    add = OutgoingRequest("AddOffsetsToTxn", 3, {**named, "group_id": load_id})
    await client.ask_coordinator(load_id, TRANSACTION_KEY, add)
    partitions = [
        {
            "partition_index": partition,
            "committed_offset": sum(one.records for one in parts[partition]),
            "committed_metadata": text,
        }
        for partition, text in texts.items()
    ]
    topics = [{"name": topic, "partitions": partitions}]
    commit = OutgoingRequest("TxnOffsetCommit", 3, {**named, "group_id": load_id, "topics": topics})
    await client.ask_coordinator(load_id, GROUP_KEY, commit, codes_of=_commit_codes)
    end = OutgoingRequest("EndTxn", 3, {**named, "committed": True})
    await client.ask_coordinator(load_id, TRANSACTION_KEY, end)


def _fetch_codes(answer: Any) -> set[int]:
    codes = {int(one.error_code) for topic in answer.topics for one in topic.partitions}
    return codes | {int(answer.error_code)}


def _state_codes(answer: Any) -> set[int]:
    return {int(one.error_code) for one in answer.transaction_states}


def _commit_codes(answer: Any) -> set[int]:
    return {int(one.error_code) for topic in answer.topics for one in topic.partitions}
