"""DeleteTopics (20): deletes topics by name or, from version 6 on, by id.

Translates between the wire and ``topic/topics.py``. This module checks the request as a whole, in Kafka's order:
(A) whether topics may be deleted at all; (B) an entry with neither name nor id, or with both; (C) names and ids that
the request has more than once; (D) topics that the client may not describe or delete, ids and names that do not exist;
(E) a name and an id that mean the same topic. One
topic's error never fails the others.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kafkastore.acl_words import DELETE, DESCRIBE, TOPIC
from kafkastore.errors import (
    ErrorCode,
    InvalidRequestError,
    KafkastoreError,
    RequestTimedOutError,
    TopicAuthorizationFailedError,
    TopicDeletionDisabledError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from kafkastore.requests.authorization import allows, allows_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkastore._core import Unwritten
    from kafkastore.metadata.image import TopicImage
    from kafkastore.protocol.delete_topics import DeleteTopicsRequest
    from kafkastore.requests.context import RequestContext

FIRST_VERSION_WITH_DELETION_DISABLED: Final = 3
"""Older clients do not know TOPIC_DELETION_DISABLED."""

STRICT_QUOTA_FROM: Final = 5
"""Older clients do not know THROTTLING_QUOTA_EXCEEDED (KIP-599)."""

RequestedTopic = tuple["str | None", "bytes | None"]
"""A topic as the request names it."""


async def handle(context: RequestContext, request: DeleteTopicsRequest) -> Unwritten:
    _check_enabled(context)
    if request.timeout_ms <= 0:
        raise RequestTimedOutError
    results = []
    found: list[TopicImage] = []
    ids: dict[str, bytes] = {}  # of the topics that the request names by id
    turn = context.turn()
    requested: Counter[RequestedTopic] = Counter()
    async for run in turn.runs(_requested_topics(request, context.api_version)):
        requested.update(run)
    authorize = _DeletionRights(context)
    async for (name, topic_id), count in turn.each(_counted(requested)):
        try:
            topic = _find(context, name, topic_id, count, authorize)
            found.append(topic)
            if topic_id is not None:
                ids[topic.name] = topic.topic_id
        except _HiddenTopicError as error:
            results.append(_result(context, error.shown_name, topic_id, error))
        except KafkastoreError as error:
            results.append(_result(context, name, topic_id, error))
    counts = Counter(found)
    errors: dict[TopicImage, KafkastoreError | None] = {}
    for topic, count in counts.items():
        if count > 1:
            errors[topic] = InvalidRequestError("The provided topic name maps to an ID that was already supplied.")  # E
    quota = context.mutation_quota(strict_from=STRICT_QUOTA_FROM)
    for topic in [topic for topic in counts if topic not in errors]:
        try:
            quota.take(len(topic.partitions))
        except KafkastoreError as error:
            errors[topic] = error.with_traceback(None)
    doomed = [topic for topic in counts if topic not in errors]
    deleted = await context.broker.topics.delete_all([topic.name for topic in doomed], ids)
    errors.update(zip(doomed, deleted, strict=True))
    results += [_result(context, topic.name, topic.topic_id, errors[topic]) async for topic in turn.each(counts)]
    return context.answer(throttle_time_ms=quota.throttle_time_ms, responses=results)


def _requested_topics(request: DeleteTopicsRequest, version: int) -> Iterator[RequestedTopic]:
    if version >= 6:
        for topic in request.topics:
            yield topic.name, topic.topic_id
    else:
        for name in request.topic_names:
            yield name, None


def _check_enabled(context: RequestContext) -> None:
    """(A) fails the request as a whole."""
    if not context.broker.config.get("delete.topic.enable"):
        if context.api_version < FIRST_VERSION_WITH_DELETION_DISABLED:
            raise InvalidRequestError(TopicDeletionDisabledError.text)
        raise TopicDeletionDisabledError


def _counted(requested: Counter[RequestedTopic]) -> Iterator[tuple[RequestedTopic, int]]:
    """Each name or id with how often the request has it. Entries with neither are not counted together: each stands for
    itself."""
    for one, count in requested.items():
        if one == (None, None):
            yield from [(one, 1)] * count
        else:
            yield one, count


class _HiddenTopicError(TopicAuthorizationFailedError):
    """The client may not delete the topic. ``shown_name``: its name, when the client named it or may describe it."""

    def __init__(self, shown_name: str | None) -> None:
        super().__init__()
        self.shown_name = shown_name


class _DeletionRights:
    """Whether the client may delete topics. Whoever may delete the cluster may delete each topic."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._has_all = allows_cluster(context, DELETE, is_logged=False)

    def may_describe(self, name: str) -> bool:
        return self._has_all or allows(self._context, DESCRIBE, TOPIC, name)

    def may_delete(self, name: str) -> bool:
        return self._has_all or allows(self._context, DELETE, TOPIC, name)


def _find(
    context: RequestContext, name: str | None, topic_id: bytes | None, count: int, authorize: _DeletionRights
) -> TopicImage:
    """The topic that a request's entry means. Raises the errors of B to D."""
    if name is None and topic_id is None:
        raise InvalidRequestError("Neither topic name nor id were specified.")  # B
    if name is not None and topic_id is not None:
        raise InvalidRequestError("You may not specify both topic name and topic id.")  # B
    if count > 1:
        raise InvalidRequestError(f"Duplicate topic {'id' if name is None else 'name'}.")  # C
    image = context.broker.image
    if topic_id is not None:
        found = image.topic_by_id(topic_id)
        if found is None:
            raise UnknownTopicIdError  # D
        if not authorize.may_delete(found.name):
            raise _HiddenTopicError(found.name if authorize.may_describe(found.name) else None)  # D
    else:
        assert name is not None
        if not authorize.may_describe(name):
            raise _HiddenTopicError(name)  # D
        found = image.topic(name)
        if found is None:
            raise UnknownTopicOrPartitionError  # D
        if not authorize.may_delete(name):
            raise _HiddenTopicError(name)  # D
    return found


def _result(context: RequestContext, name: str | None, topic_id: bytes | None, error: KafkastoreError | None) -> bytes:
    return context.row(
        "DeletableTopicResult",
        name=name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.client_message,
    )
