"""Messages of allocate_producer_ids; made by `make schema`."""

from typing import Final, final

@final
class AllocateProducerIdsRequest:
    """Versions 0."""

    broker_id: Final[int]
    broker_epoch: Final[int]

@final
class AllocateProducerIdsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    producer_id_start: Final[int]
    producer_id_len: Final[int]
