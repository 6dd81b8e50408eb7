"""Messages of alter_configs; made by `make schema`."""

from typing import Final, final

@final
class AlterConfigsRequest:
    """Versions 0-2."""

    resources: Final[tuple[AlterConfigsResource, ...]]
    validate_only: Final[bool]

@final
class AlterConfigsResource:
    """Of AlterConfigsRequest."""

    resource_type: Final[int]
    resource_name: Final[str]
    configs: Final[tuple[AlterableConfig, ...]]

@final
class AlterableConfig:
    """Of AlterConfigsRequest."""

    name: Final[str]
    value: Final[str | None]

@final
class AlterConfigsResponse:
    """Versions 0-2."""

    throttle_time_ms: Final[int]
    responses: Final[tuple[AlterConfigsResourceResponse, ...]]

@final
class AlterConfigsResourceResponse:
    """Of AlterConfigsResponse."""

    error_code: Final[int]
    error_message: Final[str | None]
    resource_type: Final[int]
    resource_name: Final[str]
