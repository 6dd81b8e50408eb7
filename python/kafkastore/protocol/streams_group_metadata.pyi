"""Messages of streams_group_metadata; made by `make schema`."""

from typing import Final, final

@final
class StreamsGroupMetadataKey:
    """Versions 0."""

    group_id: Final[str]

@final
class StreamsGroupMetadataValue:
    """Versions 0."""

    epoch: Final[int]
    metadata_hash: Final[int]
    validated_topology_epoch: Final[int]
    last_assignment_configs: Final[tuple[LastAssignmentConfig, ...] | None]
    stored_description_topology_epoch: Final[int]
    failed_description_topology_epoch: Final[int]

@final
class LastAssignmentConfig:
    """Of StreamsGroupMetadataValue."""

    key: Final[str]
    value: Final[str]
