"""Requests of UpdateFeatures, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class FeatureUpdateKeyV0:
    """Version 0."""

    feature: str
    max_version_level: int
    allow_downgrade: bool

@final
@dataclass(frozen=True, kw_only=True)
class FeatureUpdateKeyV1:
    """Versions 1 to 2."""

    feature: str
    max_version_level: int
    upgrade_type: int

FeatureUpdateKey: TypeAlias = FeatureUpdateKeyV0 | FeatureUpdateKeyV1

@final
@dataclass(frozen=True, kw_only=True)
class UpdateFeaturesRequestV0:
    """Version 0."""

    timeout: timedelta
    feature_updates: tuple[FeatureUpdateKey, ...]

@final
@dataclass(frozen=True, kw_only=True)
class UpdateFeaturesRequestV1:
    """Versions 1 to 2."""

    timeout: timedelta
    feature_updates: tuple[FeatureUpdateKey, ...]
    validate_only: bool

UpdateFeaturesRequest: TypeAlias = UpdateFeaturesRequestV0 | UpdateFeaturesRequestV1
