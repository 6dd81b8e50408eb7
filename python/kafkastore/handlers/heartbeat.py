"""Heartbeat: the most frequent request of the control plane. Its answers are few, and made once for each version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext

_responses: dict[tuple[int, int], Any] = {}  # (version, error code) -> response; kio's entities are immutable


async def handle(context: RequestContext, request: Any) -> Any:
    version = context.request.api_version
    error_code = context.broker.group_coordinator.heartbeat(
        request.group_id,
        request.member_id,
        request.group_instance_id if version >= 3 else None,
        request.generation_id,
    )
    response = _responses.get((version, error_code))
    if response is None:
        response = _responses[version, error_code] = context.response(error_code=error_code)
    return response
