"""Messages of incremental_alter_configs; made by `make schema`."""

from typing import Final, final

@final
class IncrementalAlterConfigsRequest:
    """Versions 0-1."""

    resources: Final[tuple[AlterConfigsResource, ...]]
    validate_only: Final[bool]

@final
class AlterConfigsResource:
    """Of IncrementalAlterConfigsRequest."""

    resource_type: Final[int]
    resource_name: Final[str]
    configs: Final[tuple[AlterableConfig, ...]]

@final
class AlterableConfig:
    """Of IncrementalAlterConfigsRequest."""

    name: Final[str]
    config_operation: Final[int]
    value: Final[str | None]

@final
class IncrementalAlterConfigsResponse:
    """Versions 0-1."""

    throttle_time_ms: Final[int]
    responses: Final[tuple[AlterConfigsResourceResponse, ...]]

@final
class AlterConfigsResourceResponse:
    """Of IncrementalAlterConfigsResponse."""

    error_code: Final[int]
    error_message: Final[str | None]
    resource_type: Final[int]
    resource_name: Final[str]
