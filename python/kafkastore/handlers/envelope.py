"""Envelope (58, KIP-590): a request of a client, passed on by the broker that the client asked. Served by the
controller alone.

The answer is NOT_CONTROLLER when this broker is not the controller and nothing was done, INVALID_REQUEST for a request
that may not be passed on. An Envelope without a request asks whether this broker is the controller and its loop runs.
``requests/forwarding.py`` does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import ErrorCode, KafkastoreError, NotControllerError

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.envelope import EnvelopeRequest
    from kafkastore.requests.context import RequestContext

CLIENT_ID = "broker-"
"""The client id of a broker that asks another broker, before its node id."""


async def handle(context: RequestContext, request: EnvelopeRequest) -> Unwritten:
    broker = context.broker
    try:
        if not broker.controller.is_active:
            raise NotControllerError
        if not request.request_data:
            return context.answer(error_code=ErrorCode.NONE, response_data=b"")
        data = await broker.forwarding.serve_envelope(request, _asker(context.request.client_id or ""))
    except KafkastoreError as error:
        return context.answer(error_code=error.code, response_data=None)
    return context.answer(error_code=ErrorCode.NONE, response_data=data)


def _asker(client_id: str) -> int:
    """The node id of the broker that sent the Envelope; -1 when its client id has none."""
    node = client_id.removeprefix(CLIENT_ID)
    return int(node) if node.isascii() and node.isdigit() else -1
