"""ConsumerProtocolSubscription; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class ConsumerProtocolSubscription:
    """Versions 0-3.

    Not in every version: owned_partitions 1+, generation_id 2+, rack_id 3.
    """

    topics: Final[tuple[str, ...]]
    user_data: Final[bytes | None]
    owned_partitions: Final[tuple[TopicPartition, ...]]
    generation_id: Final[int]
    rack_id: Final[str | None]

@final
class TopicPartition:
    """Of ConsumerProtocolSubscription.

    Not in every version: topic 1+, partitions 1+.
    """

    topic: Final[str]
    partitions: Final[tuple[int, ...]]
