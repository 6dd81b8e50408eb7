"""DeleteAclsRequest and DeleteAclsResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class DeleteAclsRequest:
    """Versions 0-3."""

    filters: Final[tuple[DeleteAclsFilter, ...]]

@final
class DeleteAclsFilter:
    """Of DeleteAclsRequest.

    Not in every version: pattern_type_filter 1+.
    """

    resource_type_filter: Final[int]
    resource_name_filter: Final[str | None]
    pattern_type_filter: Final[int]
    principal_filter: Final[str | None]
    host_filter: Final[str | None]
    operation: Final[int]
    permission_type: Final[int]

@final
class DeleteAclsResponse:
    """Versions 0-3."""

    throttle_time_ms: Final[int]
    filter_results: Final[tuple[DeleteAclsFilterResult, ...]]

@final
class DeleteAclsFilterResult:
    """Of DeleteAclsResponse."""

    error_code: Final[int]
    error_message: Final[str | None]
    matching_acls: Final[tuple[DeleteAclsMatchingAcl, ...]]

@final
class DeleteAclsMatchingAcl:
    """Of DeleteAclsResponse.

    Not in every version: pattern_type 1+.
    """

    error_code: Final[int]
    error_message: Final[str | None]
    resource_type: Final[int]
    resource_name: Final[str]
    pattern_type: Final[int]
    principal: Final[str]
    host: Final[str]
    operation: Final[int]
    permission_type: Final[int]
