"""Metadata, as far as it comes to the control plane: requests that create topics, and requests in the first seconds of
a broker.

The data plane answers Metadata from the published metadata. It passes a request to this handler in two cases: the
request names topics that do not exist, and the client and ``auto.create.topics.enable`` allow their creation; or this
broker has no metadata from a controller yet, and must not answer that there are no topics. The handler creates the
topics and gives the request back. It skips a topic that cannot be created: the data plane answers
UNKNOWN_TOPIC_OR_PARTITION or INVALID_TOPIC_EXCEPTION for it. The topics take tokens of the client's quota of
controller mutations; while none are left no topic is created, and as in Kafka the answer says no more than that.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kafkastore.errors import KafkastoreError
from kafkastore.internal_topics import is_internal
from kafkastore.requests.context import SERVED_BY_DATA_PLANE
from kafkastore.topic.new_topic import RequestingClient

if TYPE_CHECKING:
    from kafkastore.protocol.metadata import MetadataRequest
    from kafkastore.requests.context import RequestContext

logger = logging.getLogger("kafkastore.handlers.metadata")

CREATE_LIMIT_S: Final = 10.0
"""After this time no further topics of a request are created: a single topic may wait this long while there is no
controller."""

METADATA_LIMIT_S: Final = 5.0
"""How long a request waits for the first metadata; less than clients wait for an answer. A broker without a controller
then answers without it."""


async def handle(context: RequestContext, request: MetadataRequest) -> object:
    """Creates the topics that do not exist, then gives the request back to the data plane."""
    broker = context.broker
    await broker.assigned.wait_for_metadata(METADATA_LIMIT_S)
    is_allowed = request.allow_auto_topic_creation
    if is_allowed and broker.config.get("auto.create.topics.enable"):
        over_at = broker.loop.time() + CREATE_LIMIT_S
        turn = context.turn()
        by = _requesting_client(context)
        requested = {topic.name: None async for topic in turn.each(request.topics or ()) if topic.name}
        async for name in turn.each(requested):
            if broker.image.topic(name) is None:
                await _create(context, name, by)
                if broker.loop.time() > over_at:  # the client asks again for the topics that do not exist
                    break
    broker.engine.serve_here(context.request.token)
    return SERVED_BY_DATA_PLANE


def _requesting_client(context: RequestContext) -> RequestingClient | None:
    request = context.request
    if context.is_own:
        return None
    quota = context.mutation_quota(strict_from=0)  # as that of the CreateTopics that Kafka makes of the request
    return RequestingClient(request.principal, request.client_id, request.client_host, quota)


async def _create(context: RequestContext, name: str, by: RequestingClient | None) -> None:
    try:
        if is_internal(name):
            await context.broker.topics.create_internal(name, by)
        else:
            await context.broker.topics.create_if_absent(name, by=by)
    except KafkastoreError as error:
        logger.info("Topic %s is not created automatically: %s", name, error)
