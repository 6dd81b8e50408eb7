"""Requests of AlterConfigs, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class AlterableConfig:
    """Versions 0 to 2."""

    name: str
    value: str | None

@final
@dataclass(frozen=True, kw_only=True)
class AlterConfigsResource:
    """Versions 0 to 2."""

    resource_type: int
    resource_name: str
    configs: tuple[AlterableConfig, ...]

@final
@dataclass(frozen=True, kw_only=True)
class AlterConfigsRequest:
    """Versions 0 to 2."""

    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool
