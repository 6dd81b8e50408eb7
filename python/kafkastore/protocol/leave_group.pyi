"""LeaveGroupRequest and LeaveGroupResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class LeaveGroupRequest:
    """Versions 0-5.

    Not in every version: member_id 0-2, members 3+.
    """

    group_id: Final[str]
    member_id: Final[str]
    members: Final[tuple[MemberIdentity, ...]]

@final
class MemberIdentity:
    """Of LeaveGroupRequest.

    Not in every version: member_id 3+, group_instance_id 3+, reason 5.
    """

    member_id: Final[str]
    group_instance_id: Final[str | None]
    reason: Final[str | None]

@final
class LeaveGroupResponse:
    """Versions 0-5.

    Not in every version: throttle_time_ms 1+, members 3+.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    members: Final[tuple[MemberResponse, ...]]

@final
class MemberResponse:
    """Of LeaveGroupResponse.

    Not in every version: member_id 3+, group_instance_id 3+, error_code 3+.
    """

    member_id: Final[str]
    group_instance_id: Final[str | None]
    error_code: Final[int]
