"""RequestHeader and ResponseHeader; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class RequestHeader:
    """Versions 0-2.

    Not in every version: client_id 1+.
    """

    request_api_key: Final[int]
    request_api_version: Final[int]
    correlation_id: Final[int]
    client_id: Final[str | None]

@final
class ResponseHeader:
    """Versions 0-1."""

    correlation_id: Final[int]
