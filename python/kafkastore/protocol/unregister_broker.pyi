"""Messages of unregister_broker; made by `make schema`."""

from typing import Final, final

@final
class UnregisterBrokerRequest:
    """Versions 0."""

    broker_id: Final[int]

@final
class UnregisterBrokerResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
