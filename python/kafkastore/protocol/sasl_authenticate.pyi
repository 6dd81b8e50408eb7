"""Messages of sasl_authenticate; made by `make schema`."""

from typing import Final, final

@final
class SaslAuthenticateRequest:
    """Versions 0-2."""

    auth_bytes: Final[bytes]

@final
class SaslAuthenticateResponse:
    """Versions 0-2.

    Not in every version: session_lifetime_ms 1+.
    """

    error_code: Final[int]
    error_message: Final[str | None]
    auth_bytes: Final[bytes]
    session_lifetime_ms: Final[int]
