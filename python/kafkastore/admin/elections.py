"""Elections of leaders (KIP-183, KIP-460). See ``admin_client.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.admin.admin_client import NONE, KafkaError, check

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafkastore.admin.admin_client import AdminClient

    Partition = tuple[str, int]

PREFERRED, UNCLEAN = 0, 1
"""org.apache.kafka.common.ElectionType"""
TYPED = 1
"""The first version of ElectLeaders that says which type is meant (Kafka 2.4)."""


async def elect_leaders(
    client: AdminClient, election_type: int, partitions: Collection[Partition] | None = None
) -> dict[Partition, KafkaError | None]:
    """Elects leaders of these partitions, or of all that need it; what became of each. ELECTION_NOT_NEEDED is the
    refusal of a partition that has that leader already. Raises KafkaError, AdminError."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions or ():
        numbers.setdefault(topic, []).append(number)
    topics = [{"topic": topic, "partitions": tuple(found)} for topic, found in numbers.items()]
    fields: dict[str, Any] = {"topic_partitions": None if partitions is None else topics}

    async def attempt() -> dict[Partition, KafkaError | None]:
        is_typed = election_type != PREFERRED or await client.serves("ElectLeaders", TYPED)
        typed = {**fields, "election_type": election_type} if is_typed else fields
        answer = await client.ask_controller_to("ElectLeaders", typed)
        check(answer)
        return {
            (topic.topic, one.partition_id): None
            if one.error_code == NONE
            else KafkaError(one.error_code, one.error_message)
            for topic in answer.replica_election_results
            for one in topic.partition_result
        }

    return await client.until_done(attempt)
