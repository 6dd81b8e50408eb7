"""Messages of push_telemetry; made by `make schema`."""

from typing import Final, final

@final
class PushTelemetryRequest:
    """Versions 0."""

    client_instance_id: Final[bytes | None]
    subscription_id: Final[int]
    terminating: Final[bool]
    compression_type: Final[int]
    metrics: Final[bytes]

@final
class PushTelemetryResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
