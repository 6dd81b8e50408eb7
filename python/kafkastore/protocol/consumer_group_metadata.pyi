"""Messages of consumer_group_metadata; made by `make schema`."""

from typing import Final, final

@final
class ConsumerGroupMetadataKey:
    """Versions 0."""

    group_id: Final[str]

@final
class ConsumerGroupMetadataValue:
    """Versions 0."""

    epoch: Final[int]
    metadata_hash: Final[int]
