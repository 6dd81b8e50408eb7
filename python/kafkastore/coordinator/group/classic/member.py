"""One member of a classic group: its metadata, and its requests that wait for an answer.

Invariants: at most one JoinGroup and one SyncGroup of a member wait; each is answered exactly once. When a member sends
a request again while its earlier request still waits (the client gave up that connection), the earlier request is
answered REBALANCE_IN_PROGRESS.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, NamedTuple

from kafkastore.coordinator.group.classic.budget import member_bytes
from kafkastore.errors import ErrorCode

NO_GENERATION: Final = -1
UNKNOWN_MEMBER_ID: Final = ""
NO_LEADER: Final = ""

Protocols = tuple[tuple[str, bytes], ...]  # (name, metadata), the member's favourite first


class JoinedMember(NamedTuple):
    """One member in the JoinGroup answer of the leader."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinResult(NamedTuple):
    error_code: int
    member_id: str
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = NO_LEADER
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


class SyncResult(NamedTuple):
    error_code: int
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


JoinRespond = Callable[[JoinResult], None]
SyncRespond = Callable[[SyncResult], None]


class Member:
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "held_bytes",
        "is_new",
        "join_respond",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync_respond",
    )

    def __init__(
        self,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.set_protocols(protocols)
        self.assignment = b""
        self.is_new = False  # has no generation yet: its session may expire although its join waits
        self.join_respond: JoinRespond | None = None
        self.sync_respond: SyncRespond | None = None

    def set_protocols(self, protocols: Protocols) -> None:
        self.protocols = protocols
        names = (self.member_id, self.group_instance_id, self.client_id, self.client_host)
        self.held_bytes = member_bytes(names, protocols)

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        return self.join_respond is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Whether the member needs no heartbeat: it cannot send one while its request waits here. A new member's
        session runs all the same."""
        return not self.is_new and (self.join_respond is not None or self.sync_respond is not None)

    def metadata(self, protocol_name: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        return b""

    def vote(self, candidates: set[str]) -> str:
        """The member's first choice among the candidates; every member supports at least one of them."""
        return next(name for name, _ in self.protocols if name in candidates)

    def await_sync(self, respond: SyncRespond) -> None:
        self.complete_sync(SyncResult(ErrorCode.REBALANCE_IN_PROGRESS))
        self.sync_respond = respond

    def complete_sync(self, result: SyncResult) -> bool:
        """Answers the member's waiting SyncGroup, if there is one."""
        respond, self.sync_respond = self.sync_respond, None
        if respond is None:
            return False
        respond(result)
        return True


def new_member_id(prefix: str) -> str:
    """``<prefix>-<uuid>``; the prefix is the client id, or the group instance id of a static member."""
    random = bytearray(os.urandom(16))
    random[6] = random[6] & 0x0F | 0x40
    random[8] = random[8] & 0x3F | 0x80
    digits = random.hex()
    return f"{prefix}-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
