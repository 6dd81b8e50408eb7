"""Requests of DescribeClientQuotas, versions 0 to 1; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class ComponentData:
    """Versions 0 to 1."""

    entity_type: str
    match_type: int
    match: str | None

@final
@dataclass(frozen=True, kw_only=True)
class DescribeClientQuotasRequest:
    """Versions 0 to 1."""

    components: tuple[ComponentData, ...]
    strict: bool
