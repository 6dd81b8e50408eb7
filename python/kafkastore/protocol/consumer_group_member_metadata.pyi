"""Messages of consumer_group_member_metadata; made by `make schema`."""

from typing import Final, final

@final
class ConsumerGroupMemberMetadataKey:
    """Versions 0."""

    group_id: Final[str]
    member_id: Final[str]

@final
class ConsumerGroupMemberMetadataValue:
    """Versions 0."""

    instance_id: Final[str | None]
    rack_id: Final[str | None]
    client_id: Final[str]
    client_host: Final[str]
    subscribed_topic_names: Final[tuple[str, ...]]
    subscribed_topic_regex: Final[str | None]
    rebalance_timeout_ms: Final[int]
    server_assignor: Final[str | None]
    classic_member_metadata: Final[ClassicMemberMetadata | None]

@final
class ClassicMemberMetadata:
    """Of ConsumerGroupMemberMetadataValue."""

    session_timeout_ms: Final[int]
    supported_protocols: Final[tuple[ClassicProtocol, ...]]

@final
class ClassicProtocol:
    """Of ConsumerGroupMemberMetadataValue."""

    name: Final[str]
    metadata: Final[bytes]
