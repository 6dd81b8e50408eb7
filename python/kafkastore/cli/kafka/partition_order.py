"""The order in which Kafka's tools print partitions that Java keeps in a hash map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.cli.kafka.java_order import java_hash, map_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkastore.admin.admin_client import Partition


def partition_order(partitions: Iterable[Partition]) -> list[Partition]:
    return map_order(partitions, _code)


def _code(partition: Partition) -> int:
    """TopicPartition.hashCode, as 32 bits."""
    topic, number = partition
    return 31 * (31 + number) + java_hash(topic) & 0xFFFFFFFF
