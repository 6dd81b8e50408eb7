"""Messages of adopt_segments; made by `make schema`."""

from typing import Final, final

@final
class AdoptSegmentsRequest:
    """Versions 0."""

    topic: Final[str]
    partition: Final[int]
    producer_id: Final[int]
    producer_epoch: Final[int]
    first_sequence: Final[int]
    record_count: Final[int]
    is_new: Final[bool]
    timeout_ms: Final[int]

@final
class AdoptSegmentsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    base_offset: Final[int]
    last_offset: Final[int]
    records: Final[int]
