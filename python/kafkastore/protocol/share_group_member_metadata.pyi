"""Messages of share_group_member_metadata; made by `make schema`."""

from typing import Final, final

@final
class ShareGroupMemberMetadataKey:
    """Versions 0."""

    group_id: Final[str]
    member_id: Final[str]

@final
class ShareGroupMemberMetadataValue:
    """Versions 0."""

    rack_id: Final[str | None]
    client_id: Final[str]
    client_host: Final[str]
    subscribed_topic_names: Final[tuple[str, ...]]
