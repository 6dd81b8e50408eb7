"""Messages of share_group_metadata; made by `make schema`."""

from typing import Final, final

@final
class ShareGroupMetadataKey:
    """Versions 0."""

    group_id: Final[str]

@final
class ShareGroupMetadataValue:
    """Versions 0."""

    epoch: Final[int]
    metadata_hash: Final[int]
