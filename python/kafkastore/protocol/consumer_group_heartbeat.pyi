"""Messages of consumer_group_heartbeat; made by `make schema`."""

from typing import Final, final

@final
class ConsumerGroupHeartbeatRequest:
    """Versions 0-1.

    Not in every version: subscribed_topic_regex 1.
    """

    group_id: Final[str]
    member_id: Final[str]
    member_epoch: Final[int]
    instance_id: Final[str | None]
    rack_id: Final[str | None]
    rebalance_timeout_ms: Final[int]
    subscribed_topic_names: Final[tuple[str, ...] | None]
    subscribed_topic_regex: Final[str | None]
    server_assignor: Final[str | None]
    topic_partitions: Final[tuple[ConsumerGroupHeartbeatRequestTopicPartitions, ...] | None]

@final
class ConsumerGroupHeartbeatRequestTopicPartitions:
    """Of ConsumerGroupHeartbeatRequest."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[int, ...]]

@final
class ConsumerGroupHeartbeatResponse:
    """Versions 0-1."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    member_id: Final[str | None]
    member_epoch: Final[int]
    heartbeat_interval_ms: Final[int]
    assignment: Final[Assignment | None]

@final
class Assignment:
    """Of ConsumerGroupHeartbeatResponse."""

    topic_partitions: Final[tuple[ConsumerGroupHeartbeatResponseTopicPartitions, ...]]

@final
class ConsumerGroupHeartbeatResponseTopicPartitions:
    """Of ConsumerGroupHeartbeatResponse."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[int, ...]]
