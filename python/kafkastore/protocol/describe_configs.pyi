"""Messages of describe_configs; made by `make schema`."""

from typing import Final, final

@final
class DescribeConfigsRequest:
    """Versions 0-4.

    Not in every version: include_synonyms 1+, include_documentation 3+.
    """

    resources: Final[tuple[DescribeConfigsResource, ...]]
    include_synonyms: Final[bool]
    include_documentation: Final[bool]

@final
class DescribeConfigsResource:
    """Of DescribeConfigsRequest."""

    resource_type: Final[int]
    resource_name: Final[str]
    configuration_keys: Final[tuple[str, ...] | None]

@final
class DescribeConfigsResponse:
    """Versions 0-4."""

    throttle_time_ms: Final[int]
    results: Final[tuple[DescribeConfigsResult, ...]]

@final
class DescribeConfigsResult:
    """Of DescribeConfigsResponse."""

    error_code: Final[int]
    error_message: Final[str | None]
    resource_type: Final[int]
    resource_name: Final[str]
    configs: Final[tuple[DescribeConfigsResourceResult, ...]]

@final
class DescribeConfigsResourceResult:
    """Of DescribeConfigsResponse.

    Not in every version: is_default 0, config_source 1+, synonyms 1+, config_type 3+, documentation 3+.
    """

    name: Final[str]
    value: Final[str | None]
    read_only: Final[bool]
    is_default: Final[bool]
    config_source: Final[int]
    is_sensitive: Final[bool]
    synonyms: Final[tuple[DescribeConfigsSynonym, ...]]
    config_type: Final[int]
    documentation: Final[str | None]

@final
class DescribeConfigsSynonym:
    """Of DescribeConfigsResponse.

    Not in every version: name 1+, value 1+, source 1+.
    """

    name: Final[str]
    value: Final[str | None]
    source: Final[int]
