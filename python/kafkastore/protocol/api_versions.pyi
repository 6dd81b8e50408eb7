"""ApiVersionsRequest and ApiVersionsResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class ApiVersionsRequest:
    """Versions 0-5.

    Not in every version: client_software_name 3+, client_software_version 3+, cluster_id 5, node_id 5.
    """

    client_software_name: Final[str]
    client_software_version: Final[str]
    cluster_id: Final[str | None]
    node_id: Final[int]

@final
class ApiVersionsResponse:
    """Versions 0-5.

    Not in every version: throttle_time_ms 1+, supported_features 3+, finalized_features_epoch 3+,
    finalized_features 3+, zk_migration_ready 3+.
    """

    error_code: Final[int]
    api_keys: Final[tuple[ApiVersion, ...]]
    throttle_time_ms: Final[int]
    supported_features: Final[tuple[SupportedFeatureKey, ...]]
    finalized_features_epoch: Final[int]
    finalized_features: Final[tuple[FinalizedFeatureKey, ...]]
    zk_migration_ready: Final[bool]

@final
class ApiVersion:
    """Of ApiVersionsResponse."""

    api_key: Final[int]
    min_version: Final[int]
    max_version: Final[int]

@final
class SupportedFeatureKey:
    """Of ApiVersionsResponse.

    Not in every version: name 3+, min_version 3+, max_version 3+.
    """

    name: Final[str]
    min_version: Final[int]
    max_version: Final[int]

@final
class FinalizedFeatureKey:
    """Of ApiVersionsResponse.

    Not in every version: name 3+, max_version_level 3+, min_version_level 3+.
    """

    name: Final[str]
    max_version_level: Final[int]
    min_version_level: Final[int]
