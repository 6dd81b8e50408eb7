"""Messages of list_config_resources; made by `make schema`."""

from typing import Final, final

@final
class ListConfigResourcesRequest:
    """Versions 0-1.

    Not in every version: resource_types 1.
    """

    resource_types: Final[tuple[int, ...]]

@final
class ListConfigResourcesResponse:
    """Versions 0-1."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    config_resources: Final[tuple[ConfigResource, ...]]

@final
class ConfigResource:
    """Of ListConfigResourcesResponse.

    Not in every version: resource_type 1.
    """

    resource_name: Final[str]
    resource_type: Final[int]
