"""Messages of share_group_heartbeat; made by `make schema`."""

from typing import Final, final

@final
class ShareGroupHeartbeatRequest:
    """Versions 1."""

    group_id: Final[str]
    member_id: Final[str]
    member_epoch: Final[int]
    rack_id: Final[str | None]
    subscribed_topic_names: Final[tuple[str, ...] | None]

@final
class ShareGroupHeartbeatResponse:
    """Versions 1."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    member_id: Final[str | None]
    member_epoch: Final[int]
    heartbeat_interval_ms: Final[int]
    assignment: Final[Assignment | None]

@final
class Assignment:
    """Of ShareGroupHeartbeatResponse."""

    topic_partitions: Final[tuple[TopicPartitions, ...]]

@final
class TopicPartitions:
    """Of ShareGroupHeartbeatResponse."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[int, ...]]
