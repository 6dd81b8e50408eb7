"""Messages of delete_groups; made by `make schema`."""

from typing import Final, final

@final
class DeleteGroupsRequest:
    """Versions 0-3."""

    groups_names: Final[tuple[str, ...]]

@final
class DeleteGroupsResponse:
    """Versions 0-3."""

    throttle_time_ms: Final[int]
    results: Final[tuple[DeletableGroupResult, ...]]

@final
class DeletableGroupResult:
    """Of DeleteGroupsResponse.

    Not in every version: error_message 3.
    """

    group_id: Final[str]
    error_code: Final[int]
    error_message: Final[str | None]
