"""RenewDelegationToken (39): a token ends later, at its longest lifetime at the latest (KIP-48)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.handlers.delegation_token_rules import check_client

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.renew_delegation_token import RenewDelegationTokenRequest
    from kafkastore.requests.context import RequestContext

NO_TIME = -1


async def handle(context: RequestContext, request: RenewDelegationTokenRequest) -> Unwritten:
    try:
        check_client(context)
        period_ms = request.renew_period_ms
        ends_ms = await context.broker.delegation_tokens.renew(request.hmac, context.request.principal, period_ms)
    except KafkastoreError as error:
        return context.answer(error_code=error.code, expiry_timestamp_ms=NO_TIME)
    return context.answer(error_code=ErrorCode.NONE, expiry_timestamp_ms=ends_ms)
