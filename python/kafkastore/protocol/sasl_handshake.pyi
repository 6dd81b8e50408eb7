"""Messages of sasl_handshake; made by `make schema`."""

from typing import Final, final

@final
class SaslHandshakeRequest:
    """Versions 0-1."""

    mechanism: Final[str]

@final
class SaslHandshakeResponse:
    """Versions 0-1."""

    error_code: Final[int]
    mechanisms: Final[tuple[str, ...]]
