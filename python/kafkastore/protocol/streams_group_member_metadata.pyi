"""Messages of streams_group_member_metadata; made by `make schema`."""

from typing import Final, final

@final
class StreamsGroupMemberMetadataKey:
    """Versions 0."""

    group_id: Final[str]
    member_id: Final[str]

@final
class StreamsGroupMemberMetadataValue:
    """Versions 0."""

    instance_id: Final[str | None]
    rack_id: Final[str | None]
    client_id: Final[str]
    client_host: Final[str]
    rebalance_timeout_ms: Final[int]
    topology_epoch: Final[int]
    process_id: Final[str]
    user_endpoint: Final[Endpoint | None]
    client_tags: Final[tuple[KeyValue, ...]]

@final
class Endpoint:
    """Of StreamsGroupMemberMetadataValue."""

    host: Final[str]
    port: Final[int]

@final
class KeyValue:
    """Of StreamsGroupMemberMetadataValue."""

    key: Final[str]
    value: Final[str]
