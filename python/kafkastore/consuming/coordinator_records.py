"""Records of ``__consumer_offsets``, ``__transaction_state`` and ``__share_group_state`` as the JSON that Kafka's own
formatters make of them: a key with its type, a value with its version."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any, Final

from kafkastore._core import decode_message, message_fields

OFFSETS: Final = {0: "LegacyOffsetCommit", 1: "OffsetCommit"}
GROUPS: Final = {2: "GroupMetadata"}
TRANSACTIONS: Final = {0: "TransactionLog"}
SHARE_GROUPS: Final = {
    10: "ShareGroupMemberMetadata",
    11: "ShareGroupMetadata",
    12: "ShareGroupTargetAssignmentMetadata",
    13: "ShareGroupTargetAssignmentMember",
    14: "ShareGroupCurrentMemberAssignment",
    15: "ShareGroupStatePartitionMetadata",
}
SHARE_STATES: Final = {0: "ShareSnapshot", 1: "ShareUpdate"}
TAGGED: Final = frozenset(
    (
        ("OffsetCommitValue", "topic_id"),
        ("TransactionLogValue", "previous_producer_id"),
        ("TransactionLogValue", "next_producer_id"),
        ("TransactionLogValue", "next_producer_epoch"),
        ("TransactionLogValue", "client_transaction_version"),
        ("ShareGroupTargetAssignmentMetadataValue", "assignment_timestamp"),
    )
)
"""Fields that are not written when they have their default: -1, 0 or nothing."""
TRANSACTION_STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
"""Shown by their names, which Kafka does from 4.4 on."""
NOTHING: Final = (-1, 0, None, b"\0" * 16)


def record_json(kinds: dict[int, str], key: bytes, value: bytes | None) -> dict[str, Any] | None:
    """A record whose key is of one of these kinds, by the type that it begins with; None for others. Raises ValueError
    for bytes that are no such record."""
    kind = int.from_bytes(key[:2], "big", signed=True)
    if kind not in kinds:
        return None
    name = kinds[kind]
    made: dict[str, Any] = {"key": {"type": kind, "data": _message_json(f"{name}Key", 0, key[2:])}}
    if value is None:
        return made | {"value": None}
    version = int.from_bytes(value[:2], "big", signed=True)
    try:
        data = _message_json(f"{name}Value", version, value[2:])
    except KeyError:
        raise ValueError(f"{name}Value has no version {version} that is known here") from None
    return made | {"value": {"version": version, "data": data}}


def _message_json(message: str, version: int, body: bytes) -> dict[str, Any]:
    return _struct_json(message, version, None, decode_message(message, version, body))


def _struct_json(message: str, version: int, struct: str | None, found: Any) -> dict[str, Any]:
    made = {}
    for name, key, kind, is_array, below in _fields(message, version, struct):
        value = getattr(found, name)
        if (message, name) in TAGGED and value in NOTHING:
            continue
        if is_array and value is not None:
            made[key] = [_value_json(message, version, name, kind, below, one) for one in value]
        else:
            made[key] = _value_json(message, version, name, kind, below, value)
    return made


def _value_json(message: str, version: int, name: str, kind: str, struct: str | None, value: Any) -> Any:
    if value is None:
        return None
    if (message, name) == ("TransactionLogValue", "transaction_status") and 0 <= value < len(TRANSACTION_STATES):
        return TRANSACTION_STATES[value]
    if kind == "struct":
        return _struct_json(message, version, struct, value)
    if kind == "bytes":
        return base64.b64encode(value).decode()
    if kind == "uuid":
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    return value


@cache
def _fields(message: str, version: int, struct: str | None) -> list[tuple[str, str, str, bool, str | None]]:
    """(name, name in JSON, kind, whether it is an array, its struct)."""
    return [
        (one.name, _camel(one.name), one.kind, one.is_array, one.struct_name)
        for one in message_fields(message, version, struct)
    ]


def _camel(name: str) -> str:
    first, *words = name.split("_")
    return first + "".join(word.capitalize() for word in words)


def consumer_protocol_json(message: str, data_base64: str) -> Any:
    """What a member of a consumer group says of itself, or is told, as the JSON of its base64; that itself where it is
    of no version that is known here."""
    data = base64.b64decode(data_base64)
    version = int.from_bytes(data[:2], "big", signed=True)
    try:
        return _message_json(message, version, data[2:])
    except (KeyError, ValueError):
        return data_base64
