"""EnvelopeRequest and EnvelopeResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class EnvelopeRequest:
    """Versions 0."""

    request_data: Final[bytes]
    request_principal: Final[bytes | None]
    client_host_address: Final[bytes]

@final
class EnvelopeResponse:
    """Versions 0."""

    response_data: Final[bytes | None]
    error_code: Final[int]
