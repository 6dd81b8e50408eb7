"""The offsets that groups have committed: reading them, setting them anew, deleting them. See ``admin_client.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.admin_client import GROUP_KEY, KafkaError, check, refusals
from kafkastore.admin.routing import ask_coordinators, by_topic
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition

FETCH_OF_GROUPS: Final = 8
"""The first version of OffsetFetch for several groups."""
BY_NAME: Final = 9
"""The last version of OffsetFetch and of OffsetCommit with names of topics; the next ones have ids."""
ALL_SINCE: Final = 2
"""The first version of OffsetFetch that gives all that a group has committed."""
STABLE_SINCE: Final = 7
NO_GENERATION: Final = -1
"""Of a commit by no member of the group: taken while it has none."""
NO_OFFSET: Final = -1


class CommittedOffset(NamedTuple):
    """``leader_epoch`` is -1 where it is not known."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class _Committed(NamedTuple):
    offsets: dict[Partition, CommittedOffset]
    error_code: int = ErrorCode.NONE


async def committed_offsets(
    client: AdminClient, groups: Iterable[str], *, require_stable: bool = False
) -> dict[str, dict[Partition, CommittedOffset] | KafkaError]:
    """What each group has committed, or why that is not said. A group that does not exist has committed nothing. With
    ``require_stable`` an open transaction that may change an offset refuses with UNSTABLE_OFFSET_COMMIT, on brokers
    since Kafka 2.5."""

    async def ask(node: int, names: list[str]) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        while left := [name for name in names if name not in found]:
            answer = await client.ask_broker(
                node, "OffsetFetch", _fetch_fields(left, require_stable), lowest=ALL_SINCE, highest=BY_NAME
            )
            rows = [(row.group_id, row) for row in answer.groups] or [(left[0], answer)]
            refused = refusals(rows)
            found |= {name: refused.get(name) or _committed(row) for name, row in rows}
        return found

    answers = await ask_coordinators(client, GROUP_KEY, groups, ask)
    return {name: one if isinstance(one, KafkaError) else one.offsets for name, one in answers.items()}


def _fetch_fields(groups: list[str], require_stable: bool) -> Any:
    def fields(version: int) -> dict[str, Any]:
        stable = {"require_stable": require_stable} if version >= STABLE_SINCE else {}
        if version < FETCH_OF_GROUPS:
            return {"group_id": groups[0], "topics": None, **stable}
        return {"groups": [{"group_id": group, "topics": None} for group in groups], **stable}

    return fields


def _committed(row: Any) -> _Committed | KafkaError:
    offsets = {}
    for topic in row.topics:
        for one in topic.partitions:
            if one.error_code != ErrorCode.NONE:
                return KafkaError(one.error_code)
            if one.committed_offset != NO_OFFSET:
                committed = CommittedOffset(one.committed_offset, one.committed_leader_epoch, one.metadata or "")
                offsets[topic.name, one.partition_index] = committed
    return _Committed(offsets)


async def alter_offsets(
    client: AdminClient, group: str, offsets: Mapping[Partition, int], metadata: Mapping[Partition, str] | None = None
) -> dict[Partition, KafkaError]:
    """Commits these offsets, some with ``metadata``, for a group without members; those that were refused, with the
    reasons."""
    texts = metadata or {}

    async def attempt(asked: list[Partition]) -> dict[Partition, KafkaError]:
        fields = {
            "group_id": group,
            "generation_id_or_member_epoch": NO_GENERATION,
            "member_id": "",
            "topics": [
                {
                    "name": topic,
                    "partitions": [
                        {
                            "partition_index": number,
                            "committed_offset": offsets[topic, number],
                            "committed_metadata": texts.get((topic, number), ""),
                        }
                        for number in numbers
                    ],
                }
                for topic, numbers in by_topic(asked).items()
            ],
        }
        try:
            answer = await client.ask_coordinator(GROUP_KEY, group, "OffsetCommit", fields, highest=BY_NAME)
        except KafkaError as error:
            return dict.fromkeys(asked, error)
        return refusals(((topic.name, row.partition_index), row) for topic in answer.topics for row in topic.partitions)

    return await client.settled(offsets, attempt)


async def delete_offsets(
    client: AdminClient, group: str, partitions: Collection[Partition]
) -> dict[Partition, KafkaError]:
    """Deletes what a group has committed for these partitions; those that were refused. Raises KafkaError when the
    group refuses."""
    topics = [
        {"name": topic, "partitions": [{"partition_index": number} for number in numbers]}
        for topic, numbers in by_topic(partitions).items()
    ]

    async def attempt() -> dict[Partition, KafkaError]:
        fields = {"group_id": group, "topics": topics}
        answer = await client.ask_coordinator(GROUP_KEY, group, "OffsetDelete", fields)
        check(answer)
        return refusals(((topic.name, row.partition_index), row) for topic in answer.topics for row in topic.partitions)

    return await client.until_done(attempt)
