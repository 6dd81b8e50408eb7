"""Messages of create_delegation_token; made by `make schema`."""

from typing import Final, final

@final
class CreateDelegationTokenRequest:
    """Versions 0-3.

    Not in every version: owner_principal_type 3, owner_principal_name 3.
    """

    owner_principal_type: Final[str | None]
    owner_principal_name: Final[str | None]
    renewers: Final[tuple[CreatableRenewers, ...]]
    max_lifetime_ms: Final[int]

@final
class CreatableRenewers:
    """Of CreateDelegationTokenRequest."""

    principal_type: Final[str]
    principal_name: Final[str]

@final
class CreateDelegationTokenResponse:
    """Versions 0-3.

    Not in every version: token_requester_principal_type 3, token_requester_principal_name 3.
    """

    error_code: Final[int]
    principal_type: Final[str]
    principal_name: Final[str]
    token_requester_principal_type: Final[str]
    token_requester_principal_name: Final[str]
    issue_timestamp_ms: Final[int]
    expiry_timestamp_ms: Final[int]
    max_timestamp_ms: Final[int]
    token_id: Final[str]
    hmac: Final[bytes]
    throttle_time_ms: Final[int]
