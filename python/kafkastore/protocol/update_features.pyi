"""Messages of update_features; made by `make schema`."""

from typing import Final, final

@final
class UpdateFeaturesRequest:
    """Versions 0-2.

    Not in every version: validate_only 1+.
    """

    timeout_ms: Final[int]
    feature_updates: Final[tuple[FeatureUpdateKey, ...]]
    validate_only: Final[bool]

@final
class FeatureUpdateKey:
    """Of UpdateFeaturesRequest.

    Not in every version: allow_downgrade 0, upgrade_type 1+.
    """

    feature: Final[str]
    max_version_level: Final[int]
    allow_downgrade: Final[bool]
    upgrade_type: Final[int]

@final
class UpdateFeaturesResponse:
    """Versions 0-2.

    Not in every version: results 0-1.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    results: Final[tuple[UpdatableFeatureResult, ...]]

@final
class UpdatableFeatureResult:
    """Of UpdateFeaturesResponse."""

    feature: Final[str]
    error_code: Final[int]
    error_message: Final[str | None]
