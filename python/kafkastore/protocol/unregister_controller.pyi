"""Messages of unregister_controller; made by `make schema`."""

from typing import Final, final

@final
class UnregisterControllerRequest:
    """Versions 0."""

    controller_id: Final[int]

@final
class UnregisterControllerResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
