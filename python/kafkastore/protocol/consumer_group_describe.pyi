"""Messages of consumer_group_describe; made by `make schema`."""

from typing import Final, final

@final
class ConsumerGroupDescribeRequest:
    """Versions 0-1."""

    group_ids: Final[tuple[str, ...]]
    include_authorized_operations: Final[bool]

@final
class ConsumerGroupDescribeResponse:
    """Versions 0-1."""

    throttle_time_ms: Final[int]
    groups: Final[tuple[DescribedGroup, ...]]

@final
class DescribedGroup:
    """Of ConsumerGroupDescribeResponse."""

    error_code: Final[int]
    error_message: Final[str | None]
    group_id: Final[str]
    group_state: Final[str]
    group_epoch: Final[int]
    assignment_epoch: Final[int]
    assignor_name: Final[str]
    members: Final[tuple[Member, ...]]
    authorized_operations: Final[int]

@final
class Member:
    """Of ConsumerGroupDescribeResponse.

    Not in every version: member_type 1.
    """

    member_id: Final[str]
    instance_id: Final[str | None]
    rack_id: Final[str | None]
    member_epoch: Final[int]
    client_id: Final[str]
    client_host: Final[str]
    subscribed_topic_names: Final[tuple[str, ...]]
    subscribed_topic_regex: Final[str | None]
    assignment: Final[Assignment]
    target_assignment: Final[Assignment]
    member_type: Final[int]

@final
class TopicPartitions:
    """Of ConsumerGroupDescribeResponse."""

    topic_id: Final[bytes | None]
    topic_name: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class Assignment:
    """Of ConsumerGroupDescribeResponse."""

    topic_partitions: Final[tuple[TopicPartitions, ...]]
