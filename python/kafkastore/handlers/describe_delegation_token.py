"""DescribeDelegationToken (41): the tokens of some owners, or of all, with their HMACs (KIP-48). As in Kafka the tokens
of an owner are also those that it has asked for or may renew.

A client sees the tokens that it owns, may renew or has asked for, and those that ACLs let it see: whoever has an HMAC
can log in with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.dynamic_config.delegation_tokens import DelegationTokensDisabledError
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.handlers.delegation_token_rules import check_client, may_see, split

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.dynamic_config.delegation_tokens import Token
    from kafkastore.protocol.describe_delegation_token import DescribeDelegationTokenRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DescribeDelegationTokenRequest) -> Unwritten:
    tokens = context.broker.delegation_tokens
    try:
        check_client(context)
        if not tokens.are_enabled:
            raise DelegationTokensDisabledError
    except KafkastoreError as error:
        return context.answer(error_code=error.code, tokens=())
    found = [token for token in tokens.known if may_see(context, token)]
    if request.owners is not None:
        owners = {f"{one.principal_type}:{one.principal_name}" for one in request.owners}
        found = [token for token in found if not owners.isdisjoint((token.owner, token.requester, *token.renewers))]
    return context.answer(error_code=ErrorCode.NONE, tokens=LazyRows(found, lambda token: _row(context, token)))


def _row(context: RequestContext, token: Token) -> bytes:
    owner_type, owner_name = split(token.owner)
    requester_type, requester_name = split(token.requester)
    renewers = [
        context.row("DescribedDelegationTokenRenewer", principal_type=kind, principal_name=name)
        for kind, name in map(split, token.renewers)
    ]
    return context.row(
        "DescribedDelegationToken",
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp=token.issued_ms,
        expiry_timestamp=token.expires_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=context.broker.delegation_tokens.hmac(token.token_id),
        renewers=renewers,
    )
