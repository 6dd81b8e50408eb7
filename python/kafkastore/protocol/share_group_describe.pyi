"""Messages of share_group_describe; made by `make schema`."""

from typing import Final, final

@final
class ShareGroupDescribeRequest:
    """Versions 1."""

    group_ids: Final[tuple[str, ...]]
    include_authorized_operations: Final[bool]

@final
class ShareGroupDescribeResponse:
    """Versions 1."""

    throttle_time_ms: Final[int]
    groups: Final[tuple[DescribedGroup, ...]]

@final
class DescribedGroup:
    """Of ShareGroupDescribeResponse."""

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
    """Of ShareGroupDescribeResponse."""

    member_id: Final[str]
    rack_id: Final[str | None]
    member_epoch: Final[int]
    client_id: Final[str]
    client_host: Final[str]
    subscribed_topic_names: Final[tuple[str, ...]]
    assignment: Final[Assignment]

@final
class TopicPartitions:
    """Of ShareGroupDescribeResponse."""

    topic_id: Final[bytes | None]
    topic_name: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class Assignment:
    """Of ShareGroupDescribeResponse."""

    topic_partitions: Final[tuple[TopicPartitions, ...]]
