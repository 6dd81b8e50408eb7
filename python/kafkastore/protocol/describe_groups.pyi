"""Messages of describe_groups; made by `make schema`."""

from typing import Final, final

@final
class DescribeGroupsRequest:
    """Versions 0-6.

    Not in every version: include_authorized_operations 3+.
    """

    groups: Final[tuple[str, ...]]
    include_authorized_operations: Final[bool]

@final
class DescribeGroupsResponse:
    """Versions 0-6.

    Not in every version: throttle_time_ms 1+.
    """

    throttle_time_ms: Final[int]
    groups: Final[tuple[DescribedGroup, ...]]

@final
class DescribedGroup:
    """Of DescribeGroupsResponse.

    Not in every version: error_message 6, authorized_operations 3+.
    """

    error_code: Final[int]
    error_message: Final[str | None]
    group_id: Final[str]
    group_state: Final[str]
    protocol_type: Final[str]
    protocol_data: Final[str]
    members: Final[tuple[DescribedGroupMember, ...]]
    authorized_operations: Final[int]

@final
class DescribedGroupMember:
    """Of DescribeGroupsResponse.

    Not in every version: group_instance_id 4+.
    """

    member_id: Final[str]
    group_instance_id: Final[str | None]
    client_id: Final[str]
    client_host: Final[str]
    member_metadata: Final[bytes]
    member_assignment: Final[bytes]
