"""OffsetFetch: one group before version 8, several since; topics by name, by id from version 10 on.

``require_stable`` (since version 7) refuses offsets of open transactions; plain commits show only when they are durable.
A group, topic or partition is answered once, however often it is named (see docs/differences.md).
Giving way: the coordinator reads row by row (``Offsets.fetch``); making the answer of its result needs nothing of it any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.coordinator.group.offsets import NOTHING_COMMITTED, FetchedPartition
from kafkastore.errors import ErrorCode
from kafkastore.interbroker.request_types.since import since

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol, TypeVar
    from uuid import UUID

    from kafkastore.coordinator.group.offsets import FetchResult
    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.interbroker.request_types.offset_fetch import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchRequestTopics,
    )
    from kafkastore.purgatory.turns import Turn
    from kafkastore.requests.context import RequestContext

    class Asked(Protocol):
        """A topic of any version."""

        @property
        def partition_indexes(self) -> tuple[int, ...]: ...

    Topic = TypeVar("Topic", bound=Asked)
    Key = TypeVar("Key")

Topics = dict[str, dict[int, None]]
"""Topic name -> the partitions asked for, each once."""


async def handle(context: RequestContext, request: OffsetFetchRequest) -> Unwritten:
    turn = context.turn()
    if since(request, 8):
        groups = _groups_by_ids if context.api_version >= 10 else _groups
        return context.answer(groups=await groups(context, request.groups, request.require_stable, turn))
    wanted = await _merged({}, request.topics, lambda topic: topic.name, turn)
    result = await _fetch(context, request.group_id, wanted, request.require_stable if since(request, 7) else False)
    found = result.topics
    if result.error_code and context.api_version < 2:  # no field for an error of the group yet
        failed = FetchedPartition(0, *NOTHING_COMMITTED)._replace(error_code=result.error_code)
        found = [
            (name, [failed._replace(partition=index) for index in indexes]) for name, indexes in (wanted or {}).items()
        ]
    topics_told = [
        context.row("OffsetFetchResponseTopic", name=name, partitions=await _partitions(context, partitions, turn))
        async for name, partitions in turn.each(found)
    ]
    return context.answer(topics=topics_told, error_code=result.error_code)


async def _merged(
    known: dict[Key, dict[int, None]] | None, topics: Iterable[Topic] | None, key_of: Callable[[Topic], Key], turn: Turn
) -> dict[Key, dict[int, None]] | None:
    """What is known to be wanted, and these topics; ``None`` is every topic."""
    if known is None or topics is None:
        return None
    async for topic in turn.each(topics):
        indexes = known.setdefault(key_of(topic), {})
        async for index in turn.each(topic.partition_indexes):
            indexes[index] = None
    return known


async def _fetch(context: RequestContext, group_id: str, wanted: Topics | None, require_stable: bool) -> FetchResult:
    topics = None if wanted is None else [(name, None, list(indexes)) for name, indexes in wanted.items()]
    found: FetchResult = await context.broker.group_coordinator.fetch_offsets(group_id, topics, require_stable)
    return found


async def _groups(
    context: RequestContext, groups: Iterable[OffsetFetchRequestGroup], require_stable: bool, turn: Turn
) -> list[bytes]:
    wanted: dict[str, Topics | None] = {}
    async for asked in turn.each(groups):
        wanted[asked.group_id] = await _merged(wanted.get(asked.group_id, {}), asked.topics, _name, turn)
    return [await _group(context, group_id, topics, require_stable, turn) for group_id, topics in wanted.items()]


def _name(topic: OffsetFetchRequestTopics) -> str:
    assert not since(topic, 10)
    return topic.name


async def _group(
    context: RequestContext, group_id: str, wanted: Topics | None, require_stable: bool, turn: Turn
) -> bytes:
    result = await _fetch(context, group_id, wanted, require_stable)
    rows = [
        context.row("OffsetFetchResponseTopics", name=name, partitions=await _partitions(context, partitions, turn))
        async for name, partitions in turn.each(result.topics)
    ]
    return context.row("OffsetFetchResponseGroup", group_id=group_id, topics=rows, error_code=result.error_code)


async def _groups_by_ids(
    context: RequestContext, groups: Iterable[OffsetFetchRequestGroup], require_stable: bool, turn: Turn
) -> list[bytes]:
    wanted: dict[str, dict[UUID | None, dict[int, None]] | None] = {}
    async for asked in turn.each(groups):
        wanted[asked.group_id] = await _merged(wanted.get(asked.group_id, {}), asked.topics, _topic_id, turn)
    return [await _group_by_ids(context, group_id, topics, require_stable, turn) for group_id, topics in wanted.items()]


def _topic_id(topic: OffsetFetchRequestTopics) -> UUID | None:
    assert since(topic, 10)
    return topic.topic_id


async def _group_by_ids(
    context: RequestContext,
    group_id: str,
    wanted: dict[UUID | None, dict[int, None]] | None,
    require_stable: bool,
    turn: Turn,
) -> bytes:
    """By topic id: unknown ids are answered one by one; of all topics, those that are gone are left out."""
    image = context.broker.image
    rows: list[tuple[UUID | bytes | None, Iterable[FetchedPartition]]] = []
    if wanted is None:
        result = await _fetch(context, group_id, None, require_stable)
        for name, partitions in result.topics:
            topic = image.topic(name)
            if topic is not None:
                rows.append((topic.topic_id, partitions))
    else:
        topics = [None if topic_id is None else image.topic_by_id(topic_id.bytes) for topic_id in wanted]
        known = [
            (topic.name, topic.topic_id, list(indexes))
            for topic, indexes in zip(topics, wanted.values(), strict=True)
            if topic is not None
        ]
        result = await context.broker.group_coordinator.fetch_offsets(group_id, known, require_stable)
        found = iter(result.topics)
        for topic, (topic_id, indexes) in zip(topics, wanted.items(), strict=True):
            if topic is None:
                rows.append((topic_id, _unknown(indexes)))
            elif not result.error_code:
                rows.append((topic_id, next(found)[1]))
    if result.error_code:
        rows = []
    entities = [
        context.row(
            "OffsetFetchResponseTopics", topic_id=topic_id, partitions=await _partitions(context, partitions, turn)
        )
        async for topic_id, partitions in turn.each(rows)
    ]
    return context.row("OffsetFetchResponseGroup", group_id=group_id, topics=entities, error_code=result.error_code)


def _unknown(partitions: Iterable[int]) -> list[FetchedPartition]:
    nothing = FetchedPartition(0, *NOTHING_COMMITTED)._replace(error_code=ErrorCode.UNKNOWN_TOPIC_ID)
    return [nothing._replace(partition=partition) for partition in partitions]


async def _partitions(context: RequestContext, rows: Iterable[FetchedPartition], turn: Turn) -> list[bytes]:
    name = "OffsetFetchResponsePartitions" if context.api_version >= 8 else "OffsetFetchResponsePartition"
    return [
        context.row(
            name,
            partition_index=row.partition,
            committed_offset=row.offset,
            committed_leader_epoch=row.leader_epoch,
            metadata=row.metadata,
            error_code=row.error_code,
        )
        async for row in turn.each(rows)
    ]
