"""Deleting records from the beginning of partitions, by their leaders. See ``routing.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkastore.admin.admin_client import WORK_MS, KafkaError
from kafkastore.admin.routing import ask_leaders, by_topic
from kafkastore.interbroker.cluster import TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition

HIGH_WATERMARK: Final = -1
"""In the place of an offset: all records."""


async def delete_records(client: AdminClient, offsets: Mapping[Partition, int]) -> dict[Partition, int | KafkaError]:
    """Deletes the records before these offsets; the lowest offset that each partition has now, or why it refused."""

    async def ask(node: int, partitions: list[Partition]) -> Mapping[Partition, Any]:
        topics = [
            {
                "name": topic,
                "partitions": [{"partition_index": number, "offset": offsets[topic, number]} for number in numbers],
            }
            for topic, numbers in by_topic(partitions).items()
        ]
        fields = {"topics": topics, "timeout_ms": WORK_MS}
        answer = await client.ask_broker(node, "DeleteRecords", fields, timeout_ms=WORK_MS + TIMEOUT_MS)
        return {(topic.name, row.partition_index): row for topic in answer.topics for row in topic.partitions}

    rows = await ask_leaders(client, offsets, ask)
    return {key: row if isinstance(row, KafkaError) else row.low_watermark for key, row in rows.items()}
