"""Messages of controlled_shutdown; made by `make schema`."""

from typing import Final, final

@final
class ControlledShutdownRequest:
    """Versions 0-3.

    Not in every version: broker_epoch 2+.
    """

    broker_id: Final[int]
    broker_epoch: Final[int]

@final
class ControlledShutdownResponse:
    """Versions 0-3."""

    error_code: Final[int]
    remaining_partitions: Final[tuple[RemainingPartition, ...]]

@final
class RemainingPartition:
    """Of ControlledShutdownResponse."""

    topic_name: Final[str]
    partition_index: Final[int]
