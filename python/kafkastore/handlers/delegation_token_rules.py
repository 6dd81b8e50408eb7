"""Who may ask about delegation tokens, and which principals they may name (KIP-48).

A client must have proven who it is, and not by a token: a token must not give a longer one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import CREATE_TOKENS, DELEGATION_TOKEN, DESCRIBE, DESCRIBE_TOKENS
from kafkastore.acl_words import USER as USER_RESOURCE
from kafkastore.dynamic_config.delegation_tokens import MAX_NAME, USER
from kafkastore.errors import DelegationTokenRequestNotAllowedError, ErrorCode, KafkastoreError
from kafkastore.requests.authorization import allows

if TYPE_CHECKING:
    from kafkastore.dynamic_config.delegation_tokens import Token
    from kafkastore.protocol.create_delegation_token import CreateDelegationTokenRequest
    from kafkastore.requests.context import RequestContext

ANONYMOUS = "User:ANONYMOUS"
MAX_RENEWERS = 1000


class InvalidPrincipalTypeError(KafkastoreError):
    code = ErrorCode.INVALID_PRINCIPAL_TYPE
    text = "Supplied principalType is not supported."


def check_client(context: RequestContext) -> None:
    """Raises DelegationTokenRequestNotAllowedError."""
    request = context.request
    if request.principal == ANONYMOUS or request.is_token_authenticated:
        raise DelegationTokenRequestNotAllowedError


def principal(kind: str, name: str) -> str:
    """``User:name``. Raises InvalidPrincipalTypeError for another kind, and for a name that is none."""
    if kind != USER.rstrip(":") or not name or len(name) > MAX_NAME:
        raise InvalidPrincipalTypeError
    return USER + name


def check_owner(context: RequestContext, owner: str) -> None:
    """Raises KafkastoreError when the client asks for a token of somebody else, without an ACL for it (KIP-373)."""
    if owner != context.request.principal and not _may(context, CREATE_TOKENS, USER_RESOURCE, owner):
        raise KafkastoreError("Delegation Token authorization failed.", ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)


def may_see(context: RequestContext, token: Token) -> bool:
    """Whether a token is the client's own, or an ACL lets the client see it or the tokens of its owner."""
    asker = context.request.principal
    if token.may_be_changed_by(asker) or token.requester == asker:
        return True
    return _may(context, DESCRIBE_TOKENS, USER_RESOURCE, token.owner) or _may(
        context, DESCRIBE, DELEGATION_TOKEN, token.token_id
    )


def _may(context: RequestContext, operation: int, resource_type: int, name: str) -> bool:
    """Whether an ACL allows this. Without an authorizer nothing does: an HMAC is a password."""
    return context.broker.acls is not None and allows(context, operation, resource_type, name, is_logged=False)


def renewers_of(request: CreateDelegationTokenRequest) -> list[str]:
    """Raises InvalidPrincipalTypeError, and KafkastoreError for too many."""
    if len(request.renewers) > MAX_RENEWERS:
        raise KafkastoreError(f"A token may have {MAX_RENEWERS} renewers", ErrorCode.INVALID_REQUEST)
    return [principal(one.principal_type, one.principal_name) for one in request.renewers]


def split(text: str) -> tuple[str, str]:
    """(type, name) of ``User:name``."""
    kind, _, name = text.partition(":")
    return kind, name
