"""DeleteAcls (31): as Apache Kafka answers without an authorizer; nothing is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.errors import SecurityDisabledError

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    del context, request
    raise SecurityDisabledError
