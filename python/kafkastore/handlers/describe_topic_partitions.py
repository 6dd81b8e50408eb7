"""DescribeTopicPartitions (75): topics with their partitions, a page at a time (KIP-966).

Reads the metadata image; knows nothing else. Topics come sorted by name. A page holds at most
``response_partition_limit`` partitions (and never more than ``max.request.partition.size.limit``); the next page begins
at the cursor that the answer returns. When the cursor's topic was deleted, a page begins at the topic after it. Topics
that the request names and that do not exist are listed with their error. Topics that the client may not describe are
listed with TOPIC_AUTHORIZATION_FAILED when the request names them, else they are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.acl_words import DESCRIBE, TOPIC
from kafkastore.errors import ErrorCode, InvalidRequestError, InvalidTopicError
from kafkastore.requests.authorization import allowed, operations
from kafkastore.topic_names import validate_topic_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafkastore._core import Unwritten
    from kafkastore.metadata.image import TopicImage
    from kafkastore.protocol.describe_topic_partitions import DescribeTopicPartitionsRequest
    from kafkastore.requests.context import RequestContext

NO_OPERATIONS: Final = -(2**31)
"""What a row without operations has."""


async def handle(context: RequestContext, request: DescribeTopicPartitionsRequest) -> Unwritten:
    cursor = request.cursor
    is_listing_all = not request.topics
    turn = context.turn()
    names: Collection[str] = context.broker.image.topics.keys()
    if not is_listing_all:
        names = {topic.name async for topic in turn.each(request.topics)}
    if cursor is not None:
        if not (is_listing_all or cursor.topic_name in names):
            raise InvalidRequestError(
                f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {cursor.topic_name}"
            )
        if cursor.partition_index < 0:
            raise InvalidRequestError("DescribeTopicPartitionsRequest cursor partition must be valid.")
    hard_limit = context.broker.config.get("max.request.partition.size.limit")
    remaining = max(min(hard_limit, request.response_partition_limit), 1)
    first = "" if cursor is None else cursor.topic_name
    may_describe = allowed(context, DESCRIBE, TOPIC, names, is_logged=not is_listing_all)
    topics: list[bytes] = []
    next_cursor: tuple[str, int] | None = None
    async for name in turn.each(await turn.sorted([name for name in names if name >= first])):
        if name not in may_describe:  # asked before the page's end: a cursor would name a hidden topic
            if not is_listing_all:
                topics.append(_refused(context, name, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            continue
        if remaining == 0:
            next_cursor = (name, 0)
            break
        found = context.broker.image.topic(name)
        if found is None:
            if not is_listing_all:
                topics.append(_unknown(context, name))
            continue
        start = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        end = min(len(found.partitions), start + remaining)
        topics.append(_described(context, name, found, range(start, end)))
        if end < len(found.partitions):
            next_cursor = (name, end)
            break
        remaining -= max(end - start, 0)
    return context.answer(topics=topics, next_cursor=_cursor(context, next_cursor))


def _described(context: RequestContext, name: str, found: TopicImage, indexes: range) -> bytes:
    image = context.broker.image
    partitions = []
    for index in indexes:
        partition = found.partitions[index]
        partitions.append(
            context.row(
                "DescribeTopicPartitionsResponsePartition",
                error_code=ErrorCode.NONE,
                partition_index=index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=partition.replicas,
                isr_nodes=partition.isr,
                eligible_leader_replicas=(),
                last_known_elr=(),
                offline_replicas=[
                    node for node in partition.replicas if node not in image.brokers or node in partition.offline
                ],
            )
        )
    return context.row(
        "DescribeTopicPartitionsResponseTopic",
        error_code=ErrorCode.NONE,
        name=name,
        topic_id=found.topic_id,
        is_internal=found.is_internal,
        partitions=partitions,
        topic_authorized_operations=operations(context, TOPIC, name),
    )


def _unknown(context: RequestContext, name: str) -> bytes:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        validate_topic_name(name)
    except InvalidTopicError:
        code = ErrorCode.INVALID_TOPIC_EXCEPTION
    return _refused(context, name, code, operations(context, TOPIC, name))


def _refused(context: RequestContext, name: str, code: int, may_do: int = NO_OPERATIONS) -> bytes:
    return context.row(
        "DescribeTopicPartitionsResponseTopic",
        error_code=code,
        name=name,
        topic_id=None,
        partitions=(),
        topic_authorized_operations=may_do,
    )


def _cursor(context: RequestContext, position: tuple[str, int] | None) -> bytes | None:
    return None if position is None else context.row("Cursor", topic_name=position[0], partition_index=position[1])
