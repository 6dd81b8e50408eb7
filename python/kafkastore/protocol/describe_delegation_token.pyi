"""Messages of describe_delegation_token; made by `make schema`."""

from typing import Final, final

@final
class DescribeDelegationTokenRequest:
    """Versions 0-3."""

    owners: Final[tuple[DescribeDelegationTokenOwner, ...] | None]

@final
class DescribeDelegationTokenOwner:
    """Of DescribeDelegationTokenRequest."""

    principal_type: Final[str]
    principal_name: Final[str]

@final
class DescribeDelegationTokenResponse:
    """Versions 0-3."""

    error_code: Final[int]
    tokens: Final[tuple[DescribedDelegationToken, ...]]
    throttle_time_ms: Final[int]

@final
class DescribedDelegationToken:
    """Of DescribeDelegationTokenResponse.

    Not in every version: token_requester_principal_type 3, token_requester_principal_name 3.
    """

    principal_type: Final[str]
    principal_name: Final[str]
    token_requester_principal_type: Final[str]
    token_requester_principal_name: Final[str]
    issue_timestamp: Final[int]
    expiry_timestamp: Final[int]
    max_timestamp: Final[int]
    token_id: Final[str]
    hmac: Final[bytes]
    renewers: Final[tuple[DescribedDelegationTokenRenewer, ...]]

@final
class DescribedDelegationTokenRenewer:
    """Of DescribeDelegationTokenResponse."""

    principal_type: Final[str]
    principal_name: Final[str]
