"""Messages of broker_heartbeat; made by `make schema`."""

from typing import Final, final

@final
class BrokerHeartbeatRequest:
    """Versions 0-2.

    Not in every version: offline_log_dirs 1+, cordoned_log_dirs 2.
    """

    broker_id: Final[int]
    broker_epoch: Final[int]
    current_metadata_offset: Final[int]
    want_fence: Final[bool]
    want_shut_down: Final[bool]
    offline_log_dirs: Final[tuple[bytes | None, ...]]
    cordoned_log_dirs: Final[tuple[bytes | None, ...] | None]

@final
class BrokerHeartbeatResponse:
    """Versions 0-2."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    is_caught_up: Final[bool]
    is_fenced: Final[bool]
    should_shut_down: Final[bool]
