"""FindCoordinator: which broker is the coordinator of a group or of a transactional id. While the topic of the
coordinators is being created, Kafka answers COORDINATOR_NOT_AVAILABLE and the client tries again; this broker answers
when the topic is created. There is no coordinator of share groups yet: their keys are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore import acl_words
from kafkastore.coordinator.runtime.partitioning import partition_for
from kafkastore.errors import (
    CoordinatorNotAvailableError,
    ErrorCode,
    GroupAuthorizationFailedError,
    InvalidRequestError,
    TransactionalIdAuthorizationFailedError,
)
from kafkastore.handlers.coordinators_topic import coordinators_topic
from kafkastore.internal_topics import GROUP, INTERNAL_TOPICS, TRANSACTION
from kafkastore.requests.authorization import FAILED, allows

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.find_coordinator import FindCoordinatorRequest
    from kafkastore.requests.context import RequestContext

TOPICS: Final = {topic.coordinator: topic.name for topic in INTERNAL_TOPICS.values()}
"""By ``key_type`` the topic in which the coordinators of this kind keep their state."""

SERVED: Final = {GROUP: acl_words.GROUP, TRANSACTION: acl_words.TRANSACTIONAL_ID}
"""Each ``key_type`` that has coordinators, and the type of the resource that the client needs Describe on."""


class CoordinatorLookup(NamedTuple):
    error_code: int
    node_id: int = -1
    host: str = ""
    port: int = -1


async def handle(context: RequestContext, request: FindCoordinatorRequest) -> Unwritten:
    key_type = request.key_type
    if context.api_version >= 4:
        # Kafka has a message for an unknown key type, and none for a known key type that it refuses
        message = InvalidRequestError.text if key_type not in TOPICS else ""
        rows = []
        async for key in context.turn().each(request.coordinator_keys):
            found = await _find(context, key, key_type)
            rows.append(
                context.row(
                    "Coordinator",
                    key=key,
                    node_id=found.node_id,
                    host=found.host,
                    port=found.port,
                    error_code=found.error_code,
                    error_message=message,
                )
            )
        return context.answer(coordinators=rows)
    found = await _find(context, request.key, key_type)
    message = {
        ErrorCode.NONE: "NONE",
        ErrorCode.COORDINATOR_NOT_AVAILABLE: CoordinatorNotAvailableError.text,
        ErrorCode.INVALID_REQUEST: InvalidRequestError.text,
        ErrorCode.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationFailedError.text,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: TransactionalIdAuthorizationFailedError.text,
    }[found.error_code]
    return context.answer(
        error_code=found.error_code, error_message=message, node_id=found.node_id, host=found.host, port=found.port
    )


async def _find(context: RequestContext, key: str, key_type: int) -> CoordinatorLookup:
    if key_type not in SERVED:
        return CoordinatorLookup(ErrorCode.INVALID_REQUEST)
    if not allows(context, acl_words.DESCRIBE, SERVED[key_type], key):
        return CoordinatorLookup(FAILED[SERVED[key_type]])
    broker, name = context.broker, TOPICS[key_type]
    topic = await coordinators_topic(context, name)
    if topic is None:
        return CoordinatorLookup(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    state = broker.image.partition(name, partition_for(key, broker.image.keys_over(topic)))
    leader = None if state is None else broker.image.brokers.get(state.leader)
    if leader is not None:
        for name, host, port in leader.listeners:
            if name == context.request.listener:
                return CoordinatorLookup(ErrorCode.NONE, leader.node_id, host, port)
    return CoordinatorLookup(ErrorCode.COORDINATOR_NOT_AVAILABLE)
