"""Messages of renew_delegation_token; made by `make schema`."""

from typing import Final, final

@final
class RenewDelegationTokenRequest:
    """Versions 0-2."""

    hmac: Final[bytes]
    renew_period_ms: Final[int]

@final
class RenewDelegationTokenResponse:
    """Versions 0-2."""

    error_code: Final[int]
    expiry_timestamp_ms: Final[int]
    throttle_time_ms: Final[int]
