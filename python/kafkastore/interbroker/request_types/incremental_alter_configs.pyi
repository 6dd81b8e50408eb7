"""Requests of IncrementalAlterConfigs, versions 0 to 1; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class AlterableConfig:
    """Versions 0 to 1."""

    name: str
    config_operation: int
    value: str | None

@final
@dataclass(frozen=True, kw_only=True)
class AlterConfigsResource:
    """Versions 0 to 1."""

    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]

@final
@dataclass(frozen=True, kw_only=True)
class IncrementalAlterConfigsRequest:
    """Versions 0 to 1."""

    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool
