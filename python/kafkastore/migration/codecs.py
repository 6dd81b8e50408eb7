"""The codec in which producers have written a topic of late: the headers of its newest batches say it, and nothing is
decoded. See ``admin_client.py``."""

from __future__ import annotations

import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kafkastore._core import BatchHeaders
from kafkastore.admin.admin_client import KafkaError
from kafkastore.admin.routing import ask_leaders, by_topic
from kafkastore.interbroker.cluster import TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition

BY_NAME: Final = 12
"""The last version of Fetch that names topics."""
LOWEST: Final = 4
LOOKED_AT: Final = 500
"""Offsets before the end of a partition."""
SAMPLE_BYTES: Final = 64 << 10
AT_ONCE: Final = 200
"""Partitions in one request."""
ANSWER_BYTES: Final = AT_ONCE * SAMPLE_BYTES
NO_SESSION: Final = -1
CONSUMER: Final = -1
NONE: Final = "none"


async def codecs(client: AdminClient, ranges: Mapping[Partition, tuple[int, int]]) -> dict[str, str]:
    """The commonest codec of each topic's newest batches, ``none`` only where all have none: producers also write small
    batches without. ``ranges`` are the first and the last offset of partitions. Topics without records are left out.
    """
    starts = {key: max(first, end - LOOKED_AT) for key, (first, end) in ranges.items() if end > first}
    seen: dict[str, Counter[str]] = {}
    keys = list(starts)
    for at in range(0, len(keys), AT_ONCE):
        rows = await ask_leaders(client, keys[at : at + AT_ONCE], _asker(client, starts))
        for (topic, _), row in rows.items():
            if not isinstance(row, KafkaError) and row.records:
                seen.setdefault(topic, Counter()).update(_codecs_of(row.records))
    return {
        topic: max(counted, key=lambda one: (one != NONE, counted[one])) for topic, counted in seen.items() if counted
    }


def _asker(client: AdminClient, starts: Mapping[Partition, int]) -> Any:
    async def ask(node: int, partitions: list[Partition]) -> Mapping[Partition, Any]:
        def fields(version: int) -> dict[str, Any]:
            session = {"session_id": 0, "session_epoch": NO_SESSION, "forgotten_topics_data": ()} if version > 6 else {}
            return {
                "replica_id": CONSUMER,
                "max_wait_ms": 0,
                "min_bytes": 0,
                "max_bytes": ANSWER_BYTES,
                "isolation_level": 0,
                "topics": _topics(partitions, starts),
                **session,
            }

        answer = await client.ask_broker(
            node, "Fetch", fields, timeout_ms=TIMEOUT_MS, lowest=LOWEST, highest=BY_NAME
        )  # fmt: skip
        rows = ((topic.topic, topic.partitions) for topic in answer.responses)
        return {(name, row.partition_index): _Row(row) for name, found in rows for row in found}

    return ask


class _Row:
    """A partition's answer, with the name of an error that other answers have."""

    def __init__(self, row: Any) -> None:
        self.error_code: int = row.error_code
        self.records: bytes | None = row.records


def _topics(partitions: Collection[Partition], starts: Mapping[Partition, int]) -> list[dict[str, Any]]:
    return [
        {
            "topic": topic,
            "partitions": [
                {
                    "partition": number,
                    "fetch_offset": starts[topic, number],
                    "partition_max_bytes": SAMPLE_BYTES,
                }
                for number in numbers
            ],
        }
        for topic, numbers in by_topic(partitions).items()
    ]


def _codecs_of(records: bytes) -> list[str]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(records)
        file.flush()
        headers = BatchHeaders(file.name)
        found = []
        while chunk := headers.next_chunk():
            found += [one.codec for one in chunk if not one.is_control]
    return found
