"""Requests of LeaveGroup, versions 0 to 5; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class LeaveGroupRequestV0:
    """Versions 0 to 2."""

    group_id: str
    member_id: str

@final
@dataclass(frozen=True, kw_only=True)
class LeaveGroupRequestV3:
    """Versions 3 to 5."""

    group_id: str
    members: tuple[MemberIdentity, ...]

LeaveGroupRequest: TypeAlias = LeaveGroupRequestV0 | LeaveGroupRequestV3

@final
@dataclass(frozen=True, kw_only=True)
class MemberIdentityV3:
    """Versions 3 to 4."""

    member_id: str
    group_instance_id: str | None

@final
@dataclass(frozen=True, kw_only=True)
class MemberIdentityV5:
    """Version 5."""

    member_id: str
    group_instance_id: str | None
    reason: str | None

MemberIdentity: TypeAlias = MemberIdentityV3 | MemberIdentityV5
