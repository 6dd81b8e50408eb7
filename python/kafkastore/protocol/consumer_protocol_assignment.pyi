"""ConsumerProtocolAssignment; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class ConsumerProtocolAssignment:
    """Versions 0-3."""

    assigned_partitions: Final[tuple[TopicPartition, ...]]
    user_data: Final[bytes | None]

@final
class TopicPartition:
    """Of ConsumerProtocolAssignment."""

    topic: Final[str]
    partitions: Final[tuple[int, ...]]
