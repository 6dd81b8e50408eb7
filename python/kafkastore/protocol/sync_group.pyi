"""SyncGroupRequest and SyncGroupResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class SyncGroupRequest:
    """Versions 0-5.

    Not in every version: group_instance_id 3+, protocol_type 5, protocol_name 5.
    """

    group_id: Final[str]
    generation_id: Final[int]
    member_id: Final[str]
    group_instance_id: Final[str | None]
    protocol_type: Final[str | None]
    protocol_name: Final[str | None]
    assignments: Final[tuple[SyncGroupRequestAssignment, ...]]

@final
class SyncGroupRequestAssignment:
    """Of SyncGroupRequest."""

    member_id: Final[str]
    assignment: Final[bytes]

@final
class SyncGroupResponse:
    """Versions 0-5.

    Not in every version: throttle_time_ms 1+, protocol_type 5, protocol_name 5.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    protocol_type: Final[str | None]
    protocol_name: Final[str | None]
    assignment: Final[bytes]
