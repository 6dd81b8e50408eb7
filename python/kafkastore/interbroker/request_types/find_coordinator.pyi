"""Requests of FindCoordinator, versions 0 to 6; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class FindCoordinatorRequestV0:
    """Version 0."""

    key: str

@final
@dataclass(frozen=True, kw_only=True)
class FindCoordinatorRequestV1:
    """Versions 1 to 3."""

    key: str
    key_type: int

@final
@dataclass(frozen=True, kw_only=True)
class FindCoordinatorRequestV4:
    """Versions 4 to 6."""

    key_type: int
    coordinator_keys: tuple[str, ...]

FindCoordinatorRequest: TypeAlias = FindCoordinatorRequestV0 | FindCoordinatorRequestV1 | FindCoordinatorRequestV4
