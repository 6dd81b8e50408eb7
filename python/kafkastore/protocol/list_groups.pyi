"""ListGroupsRequest and ListGroupsResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class ListGroupsRequest:
    """Versions 0-5.

    Not in every version: states_filter 4+, types_filter 5.
    """

    states_filter: Final[tuple[str, ...]]
    types_filter: Final[tuple[str, ...]]

@final
class ListGroupsResponse:
    """Versions 0-5.

    Not in every version: throttle_time_ms 1+.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    groups: Final[tuple[ListedGroup, ...]]

@final
class ListedGroup:
    """Of ListGroupsResponse.

    Not in every version: group_state 4+, group_type 5.
    """

    group_id: Final[str]
    protocol_type: Final[str]
    group_state: Final[str]
    group_type: Final[str]
