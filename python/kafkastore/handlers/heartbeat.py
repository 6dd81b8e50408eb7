"""Heartbeat: the most frequent request of the control plane. Its answers are few, and made once for each version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.interbroker.request_types.since import since

if TYPE_CHECKING:
    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.interbroker.request_types.heartbeat import HeartbeatRequest
    from kafkastore.requests.context import RequestContext

_responses: dict[tuple[int, int], Unwritten] = {}  # (version, error code) -> response, which may be written again


async def handle(context: RequestContext, request: HeartbeatRequest) -> Unwritten:
    version = context.request.api_version
    error_code = context.broker.group_coordinator.heartbeat(
        request.group_id,
        request.member_id,
        request.group_instance_id if since(request, 3) else None,
        request.generation_id,
    )
    response = _responses.get((version, error_code))
    if response is None:
        response = _responses[version, error_code] = context.answer(error_code=error_code)
    return response
