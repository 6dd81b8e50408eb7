"""Messages of expire_delegation_token; made by `make schema`."""

from typing import Final, final

@final
class ExpireDelegationTokenRequest:
    """Versions 0-2."""

    hmac: Final[bytes]
    expiry_time_period_ms: Final[int]

@final
class ExpireDelegationTokenResponse:
    """Versions 0-2."""

    error_code: Final[int]
    expiry_timestamp_ms: Final[int]
    throttle_time_ms: Final[int]
