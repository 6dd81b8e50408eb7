"""ListConfigResources (74): which resources have or may have configurations (KIP-1142).

Reads the metadata image, and the store for groups and subscriptions to clients' metrics. Version 0 is the older
ListClientMetricsResources and lists client metrics only. A request without types means every type; an unknown type is
UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.acl_words import DESCRIBE_CONFIGS
from kafkastore.errors import ErrorCode
from kafkastore.handlers.config_resources import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    NAMED_KINDS,
    RESOURCE_TYPES,
    TOPIC,
)
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkastore._core import Unwritten
    from kafkastore.protocol.list_config_resources import ListConfigResourcesRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: ListConfigResourcesRequest) -> Unwritten:
    require_cluster(context, DESCRIBE_CONFIGS)
    requested = (request.resource_types or RESOURCE_TYPES) if context.api_version >= 1 else (CLIENT_METRICS,)
    if any(resource_type not in RESOURCE_TYPES for resource_type in requested):
        return context.answer(error_code=ErrorCode.UNSUPPORTED_VERSION, config_resources=())
    named = [(name, kind) for kind in sorted(set(requested)) for name in await _names(context, kind)]
    return context.answer(
        error_code=ErrorCode.NONE,
        config_resources=LazyRows(
            named, lambda one: context.row("ConfigResource", resource_name=one[0], resource_type=one[1])
        ),
    )


async def _names(context: RequestContext, resource_type: int) -> Iterable[str]:
    if resource_type in NAMED_KINDS:
        return await context.broker.named_configs.names(NAMED_KINDS[resource_type])
    image = context.broker.image
    if resource_type == TOPIC:
        return image.topics
    if resource_type in (BROKER, BROKER_LOGGER):
        return (str(node_id) for node_id in image.brokers)
    return ()
