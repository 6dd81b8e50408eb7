"""Offsets of partitions, as their leaders say them: the first, the last, and those of a time. See ``routing.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.admin_client import KafkaError
from kafkastore.admin.routing import ask_leaders, by_topic
from kafkastore.interbroker.cluster import TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
"""What stands in the place of a time (org.apache.kafka.common.requests.ListOffsetsRequest)."""

SINCE: Final = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
"""The first version of ListOffsets that knows it; an older broker would take it for a time."""
ONE_OFFSET: Final = 1
"""The first version with one offset for a partition, not a list."""
UNKNOWN_OFFSET: Final = -1
REPLICA_OF_CLIENTS: Final = -1
READ_UNCOMMITTED: Final = 0


class ListedOffset(NamedTuple):
    """``offset`` is -1 when no record is so young, ``timestamp`` -1 when no record was looked for."""

    offset: int
    timestamp: int
    leader_epoch: int


async def list_offsets(
    client: AdminClient, times: Mapping[Partition, int]
) -> dict[Partition, ListedOffset | KafkaError]:
    """The offset of the first record of each partition that is as young as its time (in ms), or of what stands in the
    place of a time. Raises UnsupportedApiError when a broker does not know it."""
    lowest = max((SINCE.get(time, ONE_OFFSET) for time in times.values()), default=ONE_OFFSET)

    async def ask(node: int, partitions: list[Partition]) -> Mapping[Partition, Any]:
        topics = [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": number, "timestamp": times[topic, number]} for number in sorted(numbers)
                ],
            }
            for topic, numbers in by_topic(partitions).items()
        ]
        fields = {
            "replica_id": REPLICA_OF_CLIENTS,
            "isolation_level": READ_UNCOMMITTED,
            "topics": topics,
            "timeout_ms": TIMEOUT_MS,
        }
        answer = await client.ask_broker(node, "ListOffsets", fields, lowest=lowest)
        return {(topic.name, row.partition_index): row for topic in answer.topics for row in topic.partitions}

    rows = await ask_leaders(client, times, ask)
    return {
        key: row if isinstance(row, KafkaError) else ListedOffset(row.offset, row.timestamp, row.leader_epoch)
        for key, row in rows.items()
    }


async def offsets_at(client: AdminClient, partitions: Iterable[Partition], time: int) -> dict[Partition, int]:
    """The same for one time, as plain offsets. Raises a KafkaError that names the first partition that is refused."""
    listed = await list_offsets(client, dict.fromkeys(partitions, time))
    found = {}
    for (topic, number), row in listed.items():
        if isinstance(row, KafkaError):
            raise KafkaError(row.code, f"{topic}-{number}: {row}")
        found[topic, number] = row.offset
    return found
