"""Messages of describe_acls; made by `make schema`."""

from typing import Final, final

@final
class DescribeAclsRequest:
    """Versions 0-3.

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
class DescribeAclsResponse:
    """Versions 0-3."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    resources: Final[tuple[DescribeAclsResource, ...]]

@final
class DescribeAclsResource:
    """Of DescribeAclsResponse.

    Not in every version: pattern_type 1+.
    """

    resource_type: Final[int]
    resource_name: Final[str]
    pattern_type: Final[int]
    acls: Final[tuple[AclDescription, ...]]

@final
class AclDescription:
    """Of DescribeAclsResponse."""

    principal: Final[str]
    host: Final[str]
    operation: Final[int]
    permission_type: Final[int]
