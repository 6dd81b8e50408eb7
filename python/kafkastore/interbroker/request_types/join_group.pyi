"""Requests of JoinGroup, versions 0 to 9; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class JoinGroupRequestProtocol:
    """Versions 0 to 9."""

    name: str
    metadata: bytes

@final
@dataclass(frozen=True, kw_only=True)
class JoinGroupRequestV0:
    """Version 0."""

    group_id: str
    session_timeout: timedelta
    member_id: str
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]

@final
@dataclass(frozen=True, kw_only=True)
class JoinGroupRequestV1:
    """Versions 1 to 4."""

    group_id: str
    session_timeout: timedelta
    rebalance_timeout: timedelta
    member_id: str
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]

@final
@dataclass(frozen=True, kw_only=True)
class JoinGroupRequestV5:
    """Versions 5 to 7."""

    group_id: str
    session_timeout: timedelta
    rebalance_timeout: timedelta
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]

@final
@dataclass(frozen=True, kw_only=True)
class JoinGroupRequestV8:
    """Versions 8 to 9."""

    group_id: str
    session_timeout: timedelta
    rebalance_timeout: timedelta
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: tuple[JoinGroupRequestProtocol, ...]
    reason: str | None

JoinGroupRequest: TypeAlias = JoinGroupRequestV0 | JoinGroupRequestV1 | JoinGroupRequestV5 | JoinGroupRequestV8
