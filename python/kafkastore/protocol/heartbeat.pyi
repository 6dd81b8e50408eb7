"""HeartbeatRequest and HeartbeatResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class HeartbeatRequest:
    """Versions 0-4.

    Not in every version: group_instance_id 3+.
    """

    group_id: Final[str]
    generation_id: Final[int]
    member_id: Final[str]
    group_instance_id: Final[str | None]

@final
class HeartbeatResponse:
    """Versions 0-4.

    Not in every version: throttle_time_ms 1+.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
