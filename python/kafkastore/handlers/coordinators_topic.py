"""The topic in which coordinators keep their state, for requests that may be the first to need it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from kafkastore.metadata.image import TopicImage
    from kafkastore.requests.context import RequestContext

logger = logging.getLogger("kafkastore.handlers.coordinators_topic")

REPORTED_S: Final = 60.0
"""Between two lines about a topic: clients ask again several times a second."""


async def coordinators_topic(context: RequestContext, name: str) -> TopicImage | None:
    """The topic, created when absent; None when it cannot be, which the log says once in a while."""
    broker = context.broker
    try:
        return broker.image.topic(name) or await broker.topics.create_internal(name)
    except KafkastoreError as error:
        now_s, reported = asyncio.get_running_loop().time(), broker.topics.reported
        if now_s - reported.get(name, float("-inf")) >= REPORTED_S:
            reported[name] = now_s
            logger.warning("Cannot create %s: %s", name, error)
        return None
