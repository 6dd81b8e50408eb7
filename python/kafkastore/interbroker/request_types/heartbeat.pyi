"""Requests of Heartbeat, versions 0 to 4; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class HeartbeatRequestV0:
    """Versions 0 to 2."""

    group_id: str
    generation_id: int
    member_id: str

@final
@dataclass(frozen=True, kw_only=True)
class HeartbeatRequestV3:
    """Versions 3 to 4."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None

HeartbeatRequest: TypeAlias = HeartbeatRequestV0 | HeartbeatRequestV3
