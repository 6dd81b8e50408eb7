"""Delegation tokens (KIP-48). See ``admin_client.py``. Brokers speak of them only with a client that has logged in, and
not by a token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.admin_client import WORK_MS, check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.admin.admin_client import AdminClient

WITH_OWNERS: Final = 3
"""The first version of CreateDelegationToken for another owner (Kafka 3.3)."""
USER: Final = "User"


class Principal(NamedTuple):
    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


class DelegationToken(NamedTuple):
    """Times in milliseconds since 1970. ``hmac`` is the secret that a client logs in with. ``requester`` is None from
    brokers before Kafka 3.3: there it is the owner."""

    token_id: str
    hmac: bytes
    owner: Principal
    requester: Principal | None
    renewers: tuple[Principal, ...]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int


def principal_of(text: str) -> Principal | None:
    """``User:alice``; None for what is none."""
    kind, colon, name = text.partition(":")
    return Principal(kind, name) if colon and kind and name else None


async def create_token(
    client: AdminClient,
    renewers: Sequence[Principal] = (),
    owner: Principal | None = None,
    max_lifetime_ms: int = -1,
) -> DelegationToken:
    """Makes a token, the caller's or ``owner``'s; -1: the broker's delegation.token.max.lifetime.ms. Raises
    KafkaError."""
    rows = [{"principal_type": one.type, "principal_name": one.name} for one in renewers]
    fields: dict[str, Any] = {"renewers": rows, "max_lifetime_ms": max_lifetime_ms}
    if owner is not None or await client.serves("CreateDelegationToken", WITH_OWNERS):
        kind, name = owner or (None, None)
        fields |= {"owner_principal_type": kind, "owner_principal_name": name}
    answer = await client.ask_any("CreateDelegationToken", fields, timeout_ms=WORK_MS)
    check(answer)
    return DelegationToken(
        answer.token_id,
        answer.hmac,
        Principal(answer.principal_type, answer.principal_name),
        _requester(answer),
        tuple(renewers),
        answer.issue_timestamp_ms,
        answer.expiry_timestamp_ms,
        answer.max_timestamp_ms,
    )


async def renew_token(client: AdminClient, hmac: bytes, period_ms: int = -1) -> int:
    """Lengthens a token's life to so long from now (-1: the broker's delegation.token.expiry.time.ms). Returns when it
    expires. Raises KafkaError."""
    fields = {"hmac": hmac, "renew_period_ms": period_ms}
    answer = await client.ask_any("RenewDelegationToken", fields, timeout_ms=WORK_MS)
    check(answer)
    return int(answer.expiry_timestamp_ms)


async def expire_token(client: AdminClient, hmac: bytes, period_ms: int = -1) -> int:
    """Ends a token so long from now, or with -1 at once. Returns when it expires. Raises KafkaError."""
    fields = {"hmac": hmac, "expiry_time_period_ms": period_ms}
    answer = await client.ask_any("ExpireDelegationToken", fields, timeout_ms=WORK_MS)
    check(answer)
    return int(answer.expiry_timestamp_ms)


async def describe_tokens(client: AdminClient, owners: Sequence[Principal] | None = None) -> list[DelegationToken]:
    """The tokens of these owners, or all that the caller may see, in the broker's order. Raises KafkaError."""
    rows = None if owners is None else [{"principal_type": one.type, "principal_name": one.name} for one in owners]

    async def attempt() -> list[DelegationToken]:
        answer = await client.ask_any("DescribeDelegationToken", {"owners": rows})
        check(answer)
        return [_token(row) for row in answer.tokens]

    return await client.until_done(attempt)


def _token(row: Any) -> DelegationToken:
    return DelegationToken(
        row.token_id,
        row.hmac,
        Principal(row.principal_type, row.principal_name),
        _requester(row),
        tuple(Principal(one.principal_type, one.principal_name) for one in row.renewers),
        row.issue_timestamp,
        row.expiry_timestamp,
        row.max_timestamp,
    )


def _requester(row: Any) -> Principal | None:
    kind = row.token_requester_principal_type
    return Principal(kind, row.token_requester_principal_name) if kind else None
