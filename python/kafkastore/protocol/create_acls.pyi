"""CreateAclsRequest and CreateAclsResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class CreateAclsRequest:
    """Versions 0-3."""

    creations: Final[tuple[AclCreation, ...]]

@final
class AclCreation:
    """Of CreateAclsRequest.

    Not in every version: resource_pattern_type 1+.
    """

    resource_type: Final[int]
    resource_name: Final[str]
    resource_pattern_type: Final[int]
    principal: Final[str]
    host: Final[str]
    operation: Final[int]
    permission_type: Final[int]

@final
class CreateAclsResponse:
    """Versions 0-3."""

    throttle_time_ms: Final[int]
    results: Final[tuple[AclCreationResult, ...]]

@final
class AclCreationResult:
    """Of CreateAclsResponse."""

    error_code: Final[int]
    error_message: Final[str | None]
