"""Requests of AlterClientQuotas, versions 0 to 1; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class EntityData:
    """Versions 0 to 1."""

    entity_type: str
    entity_name: str | None

@final
@dataclass(frozen=True, kw_only=True)
class OpData:
    """Versions 0 to 1."""

    key: str
    value: float
    remove: bool

@final
@dataclass(frozen=True, kw_only=True)
class EntryData:
    """Versions 0 to 1."""

    entity: tuple[EntityData, ...]
    ops: tuple[OpData, ...]

@final
@dataclass(frozen=True, kw_only=True)
class AlterClientQuotasRequest:
    """Versions 0 to 1."""

    entries: tuple[EntryData, ...]
    validate_only: bool
