"""CreateTopics (19): creates topics, or with ``validate_only`` answers as if it had created them.

Translates between the wire and ``topic/topics.py``, which owns the rules. This module checks the request as a whole: a
name that the request has more than once fails, with one row in the answer. One topic's error never fails the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore._core import LazyRows
from kafkastore.acl_words import CREATE, DESCRIBE_CONFIGS, TOPIC
from kafkastore.config import TopicConfig, topic_keys
from kafkastore.errors import (
    ErrorCode,
    InvalidReplicaAssignmentError,
    InvalidRequestError,
    KafkastoreError,
    PolicyViolationError,
    RequestTimedOutError,
    TopicAuthorizationFailedError,
)
from kafkastore.requests.authorization import EVERYTHING, allowed, allows_cluster
from kafkastore.topic.new_topic import NewTopic
from kafkastore.topic.planner import MAX_PARTITIONS_PER_REQUEST
from kafkastore.topic_names import CLUSTER_METADATA_TOPIC, check_not_reserved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore._core import Unwritten
    from kafkastore.metadata.image import TopicImage
    from kafkastore.protocol.create_topics import CreatableTopic, CreateTopicsRequest
    from kafkastore.purgatory.turns import Turn
    from kafkastore.requests.context import RequestContext

FIRST_VERSION_WITH_CONFIGS: Final = 5

STRICT_QUOTA_FROM: Final = 6
"""Older clients do not know THROTTLING_QUOTA_EXCEEDED (KIP-599)."""


async def handle(context: RequestContext, request: CreateTopicsRequest) -> Unwritten:
    if request.timeout_ms <= 0:
        raise RequestTimedOutError
    turn = context.turn()
    await _check_size(context, request.topics, turn)
    counts: dict[str, int] = {}
    async for topic in turn.each(request.topics):
        counts[topic.name] = counts.get(topic.name, 0) + 1
    names = [name for name, count in counts.items() if count == 1 and name != CLUSTER_METADATA_TOPIC]
    may_create_all = allows_cluster(context, CREATE, is_logged=False)
    may_create = EVERYTHING if may_create_all else allowed(context, CREATE, TOPIC, names)
    outcomes: dict[str, TopicImage | KafkastoreError] = {}  # in the order of the request
    requested: list[NewTopic] = []
    async for topic in turn.each(request.topics):
        if topic.name in outcomes:
            continue  # the first topic of this name has failed, with one row for all of them
        try:
            new = _new_topic(topic, counts[topic.name])
            if topic.name not in may_create:
                raise TopicAuthorizationFailedError("Authorization failed.")
            requested.append(new)
        except KafkastoreError as error:
            outcomes[topic.name] = error.with_traceback(None)
        else:
            outcomes[topic.name] = KafkastoreError()  # holds the place until the topic is created
    validate_only = request.validate_only
    quota = context.mutation_quota(strict_from=STRICT_QUOTA_FROM)
    made = await context.broker.topics.create_all(requested, validate_only=validate_only, turn=turn, quota=quota)
    outcomes.update((one.name, outcome) for one, outcome in zip(requested, made, strict=True))
    may_describe = allowed(context, DESCRIBE_CONFIGS, TOPIC, names, is_logged=False)
    describe = _ConfigDescriber(context)
    return context.answer(
        throttle_time_ms=quota.throttle_time_ms,
        topics=LazyRows(
            outcomes.items(),
            lambda one: (
                _failed(context, one[0], one[1])
                if isinstance(one[1], KafkastoreError)
                else _created(context, one[1], describe, is_described=one[0] in may_describe)
            ),
        ),
    )


async def _check_size(context: RequestContext, topics: Sequence[CreatableTopic], turn: Turn) -> None:
    """Raises PolicyViolationError for too many partitions, before any topic is created. Topics that will be refused
    count too, as in Kafka. A topic of no partitions counts as one partition."""
    default, count = context.broker.config.get_int("num.partitions"), 0
    async for topic in turn.each(topics):
        requested = default if topic.num_partitions == -1 else topic.num_partitions
        count += max(len(topic.assignments) or requested, 1)
        if count > MAX_PARTITIONS_PER_REQUEST:
            raise PolicyViolationError("Excessively large number of partitions per request.")


def _new_topic(topic: CreatableTopic, count: int) -> NewTopic:
    """The topic to create; ``count`` is how often the request has its name. Raises KafkastoreError."""
    if count > 1:
        raise InvalidRequestError("Duplicate topic name.")
    check_not_reserved(topic.name)  # before any question of rights, as in Kafka
    configs = {config.name: config.value for config in topic.configs}
    return NewTopic(topic.name, topic.num_partitions, topic.replication_factor, _assignments(topic), configs)


def _assignments(topic: CreatableTopic) -> Mapping[int, tuple[int, ...]] | None:
    """The replicas by partition. A partition given twice is refused here, since a mapping cannot hold it. Kafka checks
    first whether counts are given beside assignments: then the refusal is left to ``topic/topics.py``."""
    if not topic.assignments:
        return None
    found: dict[int, tuple[int, ...]] = {}
    for assignment in topic.assignments:
        is_first = found.setdefault(assignment.partition_index, assignment.broker_ids) is assignment.broker_ids
        if not is_first and topic.num_partitions == topic.replication_factor == -1:
            raise InvalidReplicaAssignmentError(
                f"Found multiple manual partition assignments for partition {assignment.partition_index}"
            )
    return found


def _failed(context: RequestContext, name: str, error: KafkastoreError) -> bytes:
    return context.row(
        "CreatableTopicResult",
        name=name,
        topic_id=None,
        error_code=error.code,
        error_message=error.client_message,
        configs=(),
    )


def _created(context: RequestContext, topic: TopicImage, describe: _ConfigDescriber, *, is_described: bool) -> bytes:
    """``is_described``: whether the client may read the topic's configuration."""
    has_configs = is_described and context.api_version >= FIRST_VERSION_WITH_CONFIGS
    return context.row(
        "CreatableTopicResult",
        name=topic.name,
        topic_id=topic.topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(topic.partitions) if is_described else -1,
        replication_factor=len(topic.partitions[0].replicas) if is_described else -1,
        configs=describe(topic.configs) if has_configs else (),
        topic_config_error_code=ErrorCode.NONE if is_described else ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    )


class _ConfigDescriber:
    """Makes the list of a created topic's effective configurations. Entries without an override are made once for all
    topics of the request."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._inherited: dict[str, bytes] = {}

    def __call__(self, overrides: Mapping[str, str]) -> list[bytes]:
        config = TopicConfig(self._context.broker.config, overrides)
        if not self._inherited:
            bare = TopicConfig(self._context.broker.config, {})
            self._inherited = {
                name: self._entry(bare, name) for name, key in topic_keys().items() if not key.is_internal
            }
        own = {name: self._entry(config, name) for name in overrides}
        return [own.get(name, inherited) for name, inherited in self._inherited.items()]

    def _entry(self, config: TopicConfig, name: str) -> bytes:
        _, value, source = config.layers(name)[0]
        return self._context.row(
            "CreatableTopicConfigs", name=name, value=value, read_only=False, config_source=source, is_sensitive=False
        )
