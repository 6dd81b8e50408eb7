"""CreateDelegationToken (38): a token for the client itself (KIP-48).

A token for another user makes its requester that user, which nobody may do without an ACL (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.handlers.delegation_token_rules import check_client, check_owner, principal, renewers_of, split

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.dynamic_config.delegation_tokens import Token
    from kafkastore.protocol.create_delegation_token import CreateDelegationTokenRequest
    from kafkastore.requests.context import RequestContext

NO_TIME = -1


async def handle(context: RequestContext, request: CreateDelegationTokenRequest) -> Unwritten:
    requester = owner = context.request.principal
    tokens = context.broker.delegation_tokens
    try:
        check_client(context)
        if request.owner_principal_name:
            owner = principal(request.owner_principal_type or "", request.owner_principal_name)
        check_owner(context, owner)
        renewers = renewers_of(request)
        token = await tokens.create(owner, requester, renewers, request.max_lifetime_ms)
    except KafkastoreError as error:
        return _answer(context, error.code, owner, requester, None, b"")
    return _answer(context, ErrorCode.NONE, owner, requester, token, tokens.hmac(token.token_id))


def _answer(
    context: RequestContext, code: int, owner: str, requester: str, token: Token | None, hmac: bytes
) -> Unwritten:
    owner_type, owner_name = split(owner)
    requester_type, requester_name = split(requester)
    return context.answer(
        error_code=code,
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp_ms=NO_TIME if token is None else token.issued_ms,
        expiry_timestamp_ms=NO_TIME if token is None else token.expires_ms,
        max_timestamp_ms=NO_TIME if token is None else token.max_ms,
        token_id="" if token is None else token.token_id,
        hmac=hmac,
    )
