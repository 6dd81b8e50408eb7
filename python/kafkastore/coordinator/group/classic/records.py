"""The records of groups in ``__consumer_offsets``, byte for byte as Apache Kafka's. The data plane handles the records
of offsets (``rust/coordinator/records.rs``).

::

    key     := 2:int16 group:string
    group   := 0-3 protocol_type:string generation:int32 protocol:nullable leader:nullable
                   (2+ current_state_timestamp:int64) members:array(member)
             | 4   the same with compact strings, bytes and arrays, and tags
    member  := member_id:string (3+ group_instance_id:nullable) client_id:string client_host:string
                   (1+ rebalance_timeout:int32) session_timeout:int32 subscription:bytes assignment:bytes

Apache Kafka 4.4 writes value 3. A null value is a tombstone. Never: allocates by a declared count; truncated bytes
raise ``MalformedRecordError``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_TIMESTAMP: Final = -1


class MalformedRecordError(ValueError):
    """A key or value that does not follow its own version's grammar."""


class MemberValue(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class GroupValue(NamedTuple):
    protocol_type: str
    generation_id: int
    protocol_name: str | None
    leader_id: str | None
    state_timestamp_ms: int
    members: tuple[MemberValue, ...]


# ---- writing


def group_key(group_id: str) -> bytes:
    return b"\0\2" + _string(group_id)


def group_value(value: GroupValue) -> bytes:
    parts = [
        b"\0\3",
        _string(value.protocol_type),
        struct.pack(">i", value.generation_id),
        _nullable(value.protocol_name),
        _nullable(value.leader_id),
        struct.pack(">qi", value.state_timestamp_ms, len(value.members)),
    ]
    for member in value.members:
        parts += (
            _string(member.member_id),
            _nullable(member.group_instance_id),
            _string(member.client_id),
            _string(member.client_host),
            struct.pack(">ii", member.rebalance_timeout_ms, member.session_timeout_ms),
            _bytes(member.subscription),
            _bytes(member.assignment),
        )
    return b"".join(parts)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _nullable(text: str | None) -> bytes:
    return b"\xff\xff" if text is None else _string(text)


def _bytes(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


# ---- reading


def read_group_value(data: bytes) -> GroupValue:
    value, reader = read_group_head(data)
    return value._replace(members=tuple(read_members(reader)))


def read_group_head(data: bytes) -> tuple[GroupValue, _Reader]:
    """Returns the value without its members, and the reader from which ``read_members`` continues."""
    reader = _Reader(data)
    version = reader.version = reader.integer(">h")
    if not 0 <= version <= 4:
        raise MalformedRecordError(f"unknown version {version} of a group metadata value")
    reader.is_flexible = version >= 4
    protocol_type = reader.string()
    generation_id = reader.integer(">i")
    protocol_name = reader.nullable()
    leader_id = reader.nullable()
    state_timestamp_ms = reader.integer(">q") if version >= 2 else NO_TIMESTAMP
    return GroupValue(protocol_type, generation_id, protocol_name, leader_id, state_timestamp_ms, ()), reader


def read_members(reader: _Reader) -> Iterator[MemberValue]:
    """Reads the members one by one: a record may have ten thousand."""
    for _ in range(reader.count()):
        yield _read_member(reader, reader.version)


def _read_member(reader: _Reader, version: int) -> MemberValue:
    member_id = reader.string()
    group_instance_id = reader.nullable() if version >= 3 else None
    client_id = reader.string()
    client_host = reader.string()
    rebalance_timeout_ms = reader.integer(">i") if version >= 1 else -1
    session_timeout_ms = reader.integer(">i")
    subscription = reader.blob()
    assignment = reader.blob()
    if version >= 4:
        reader.tags()
    return MemberValue(
        member_id,
        group_instance_id,
        client_id,
        client_host,
        session_timeout_ms if rebalance_timeout_ms < 0 else rebalance_timeout_ms,
        session_timeout_ms,
        subscription,
        assignment,
    )


class _Reader:
    __slots__ = ("data", "is_flexible", "position", "version")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.version = 0
        self.is_flexible = False

    def take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0 or end > len(self.data):
            raise MalformedRecordError(f"{size} bytes wanted at {self.position} of {len(self.data)}")
        taken = self.data[self.position : end]
        self.position = end
        return taken

    def integer(self, form: str) -> int:
        value: int = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return value

    def varint(self) -> int:
        result = shift = 0
        while shift < 35:
            byte = self.take(1)[0]
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7
        raise MalformedRecordError("a variable length integer of more than five bytes")

    def size(self, form: str) -> int:
        return self.varint() - 1 if self.is_flexible else self.integer(form)

    def nullable(self) -> str | None:
        size = self.size(">h")
        if size < 0:
            return None
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise MalformedRecordError("text that is not UTF-8") from error

    def string(self) -> str:
        text = self.nullable()
        if text is None:
            raise MalformedRecordError("null where a text must be")
        return text

    def blob(self) -> bytes:
        return self.take(max(self.size(">i"), 0))

    def count(self) -> int:
        count = max(self.size(">i"), 0)
        if count > len(self.data) - self.position:
            raise MalformedRecordError(f"{count} items declared in {len(self.data) - self.position} bytes")
        return count

    def tags(self) -> dict[int, bytes]:
        tags = {}
        for _ in range(self.varint()):
            tag = self.varint()
            tags[tag] = self.take(self.varint())
        return tags
