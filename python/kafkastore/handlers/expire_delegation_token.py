"""ExpireDelegationToken (40): a token ends sooner, or at once (KIP-48)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.handlers.delegation_token_rules import check_client

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.expire_delegation_token import ExpireDelegationTokenRequest
    from kafkastore.requests.context import RequestContext

NO_TIME = -1


async def handle(context: RequestContext, request: ExpireDelegationTokenRequest) -> Unwritten:
    try:
        check_client(context)
        period_ms = request.expiry_time_period_ms
        ends_ms = await context.broker.delegation_tokens.expire(request.hmac, context.request.principal, period_ms)
    except KafkastoreError as error:
        return context.answer(error_code=error.code, expiry_timestamp_ms=NO_TIME)
    return context.answer(error_code=ErrorCode.NONE, expiry_timestamp_ms=ends_ms)
