"""The topic in which coordinators keep their state, for requests that may be the first to need it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from kafkastore.metadata.image import TopicImage
    from kafkastore.requests.context import RequestContext

logger = logging.getLogger("kafkastore.handlers.coordinators_topic")


async def coordinators_topic(context: RequestContext, name: str) -> TopicImage | None:
    """The topic, created when absent; None when it cannot be, which the log says."""
    broker = context.broker
    try:
        return broker.image.topic(name) or await broker.topics.create_internal(name)
    except KafkastoreError as error:
        logger.warning("Cannot create %s: %s", name, error)
        return None
