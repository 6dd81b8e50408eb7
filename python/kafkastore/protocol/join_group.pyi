"""JoinGroupRequest and JoinGroupResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class JoinGroupRequest:
    """Versions 0-9.

    Not in every version: rebalance_timeout_ms 1+, group_instance_id 5+, reason 8+.
    """

    group_id: Final[str]
    session_timeout_ms: Final[int]
    rebalance_timeout_ms: Final[int]
    member_id: Final[str]
    group_instance_id: Final[str | None]
    protocol_type: Final[str]
    protocols: Final[tuple[JoinGroupRequestProtocol, ...]]
    reason: Final[str | None]

@final
class JoinGroupRequestProtocol:
    """Of JoinGroupRequest."""

    name: Final[str]
    metadata: Final[bytes]

@final
class JoinGroupResponse:
    """Versions 0-9.

    Not in every version: throttle_time_ms 2+, protocol_type 7+, skip_assignment 9.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    generation_id: Final[int]
    protocol_type: Final[str | None]
    protocol_name: Final[str | None]
    leader: Final[str]
    skip_assignment: Final[bool]
    member_id: Final[str]
    members: Final[tuple[JoinGroupResponseMember, ...]]

@final
class JoinGroupResponseMember:
    """Of JoinGroupResponse.

    Not in every version: group_instance_id 5+.
    """

    member_id: Final[str]
    group_instance_id: Final[str | None]
    metadata: Final[bytes]
