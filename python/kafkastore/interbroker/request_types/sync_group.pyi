"""Requests of SyncGroup, versions 0 to 5; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class SyncGroupRequestAssignment:
    """Versions 0 to 5."""

    member_id: str
    assignment: bytes

@final
@dataclass(frozen=True, kw_only=True)
class SyncGroupRequestV0:
    """Versions 0 to 2."""

    group_id: str
    generation_id: int
    member_id: str
    assignments: tuple[SyncGroupRequestAssignment, ...]

@final
@dataclass(frozen=True, kw_only=True)
class SyncGroupRequestV3:
    """Versions 3 to 4."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    assignments: tuple[SyncGroupRequestAssignment, ...]

@final
@dataclass(frozen=True, kw_only=True)
class SyncGroupRequestV5:
    """Version 5."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: tuple[SyncGroupRequestAssignment, ...]

SyncGroupRequest: TypeAlias = SyncGroupRequestV0 | SyncGroupRequestV3 | SyncGroupRequestV5
