"""Messages of get_telemetry_subscriptions; made by `make schema`."""

from typing import Final, final

@final
class GetTelemetrySubscriptionsRequest:
    """Versions 0."""

    client_instance_id: Final[bytes | None]

@final
class GetTelemetrySubscriptionsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    client_instance_id: Final[bytes | None]
    subscription_id: Final[int]
    accepted_compression_types: Final[tuple[int, ...]]
    push_interval_ms: Final[int]
    telemetry_max_bytes: Final[int]
    delta_temporality: Final[bool]
    requested_metrics: Final[tuple[str, ...]]
