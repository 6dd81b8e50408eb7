"""The few requests that the simulation's clients send, as bytes: Produce 13, Fetch 13, ListOffsets 5, DeleteRecords 2,
IncrementalAlterConfigs 1; and what comes back. ``transaction_wire.py`` has those of transactions.

Produce and Fetch name a topic by its id (KIP-516), so what was meant for a topic that is gone does not reach another of
its name.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

PRODUCE, FETCH, LIST_OFFSETS = 0, 1, 2
DELETE_RECORDS, DELETE_RECORDS_VERSION = 21, 2
ALTER_CONFIGS, ALTER_CONFIGS_VERSION = 44, 1
OF_TOPIC, OF_BROKER = 2, 4
"""Kinds of resources that have a configuration."""
PRODUCE_VERSION, FETCH_VERSION, LIST_OFFSETS_VERSION = 13, 13, 5
LATEST, EARLIEST = -1, -2
OFFSET_OUT_OF_RANGE = 1

TIMEOUT_MS = 600
"""How long a produce waits for its replicas."""
FETCH_WAIT_MS = 60
FETCH_BYTES = 1 << 20

ONE = b"\x02"
"""The count of a compact array with one element."""
NOTHING = b"\x01"
"""An empty one, or an empty text."""
NULL = b"\x00"
NO_TAGS = b"\x00"


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def _read_varint(body: bytes, at: int) -> tuple[int, int]:
    """The number, and where it ends."""
    number = shift = 0
    while True:
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def produce_request(topic: bytes, partition: int, batch: bytes, acks: int, transactional_id: bytes = NULL) -> bytes:
    """``topic`` is the id, or the compact name before version 13."""
    head = transactional_id + struct.pack(">hi", acks, TIMEOUT_MS)
    row = struct.pack(">i", partition) + _varint(len(batch) + 1) + batch + NO_TAGS
    return head + ONE + topic + ONE + row + NO_TAGS + NO_TAGS


class Produced(NamedTuple):
    error: int
    base_offset: int


def produce_response(body: bytes, topic_bytes: int = 16) -> Produced:
    _, error, base_offset = struct.unpack_from(">ihq", body, 1 + topic_bytes + 1)
    return Produced(error, base_offset)


def fetch_request(topic_id: bytes, partition: int, offset: int, leader_epoch: int, isolation: int = 0) -> bytes:
    head = struct.pack(">iiiibii", -1, FETCH_WAIT_MS, 1, FETCH_BYTES, isolation, 0, -1)
    row = struct.pack(">iiqiqi", partition, leader_epoch, offset, -1, -1, FETCH_BYTES) + NO_TAGS
    return head + ONE + topic_id + ONE + row + NO_TAGS + NOTHING + NOTHING + NO_TAGS


class FetchedRecords(NamedTuple):
    error: int
    high_watermark: int
    records: bytes
    aborted: list[tuple[int, int]]
    """Producer id and first offset of each aborted transaction."""


def fetch_response(body: bytes) -> FetchedRecords:
    _, error, _ = struct.unpack_from(">ihi", body, 0)
    if error or body[10:11] != ONE:
        return FetchedRecords(error, -1, b"", [])
    at = 10 + 1 + 16 + 1
    _, error, high_watermark, _, _ = struct.unpack_from(">ihqqq", body, at)
    count, at = _read_varint(body, at + 30)
    aborted = [struct.unpack_from(">qq", body, at + 17 * number) for number in range(count - 1)]
    length, at = _read_varint(body, at + 17 * len(aborted) + 4)
    return FetchedRecords(error, high_watermark, body[at : at + max(length - 1, 0)], aborted)


def list_offsets_request(
    topic: str, partition: int, leader_epoch: int, timestamp: int = LATEST, isolation: int = 0
) -> bytes:
    row = struct.pack(">iiiq", 1, partition, leader_epoch, timestamp)
    return struct.pack(">ibi", -1, isolation, 1) + _text(topic) + row


class Ended(NamedTuple):
    error: int
    offset: int


def list_offsets_response(body: bytes, topic: str) -> Ended:
    at = 4 + 4 + 2 + len(topic) + 4
    _, error, _, offset, _ = struct.unpack_from(">ihqqi", body, at)
    return Ended(error, offset)


# ---- to the control plane
def compact(text: str) -> bytes:
    return _varint(len(text) + 1) + text.encode()


def delete_records_request(topic: str, partition: int, offset: int, timeout_ms: int) -> bytes:
    row = struct.pack(">iq", partition, offset) + NO_TAGS
    return ONE + compact(topic) + ONE + row + NO_TAGS + struct.pack(">i", timeout_ms) + NO_TAGS


class Deleted(NamedTuple):
    error: int
    low_watermark: int


def delete_records_response(body: bytes, topic: str) -> Deleted:
    _, low_watermark, error = struct.unpack_from(">iqh", body, 4 + 1 + 1 + len(topic) + 1)
    return Deleted(error, low_watermark)


def alter_configs_request(kind: int, name: str, configs: dict[str, str | None]) -> bytes:
    """Each value is set; one that is None is deleted."""
    rows = b"".join(
        compact(key) + (b"\x01" + NULL if value is None else b"\x00" + compact(value)) + NO_TAGS
        for key, value in configs.items()
    )
    resource = struct.pack(">b", kind) + compact(name) + _varint(len(configs) + 1) + rows + NO_TAGS
    return ONE + resource + b"\x00" + NO_TAGS


def alter_configs_response(body: bytes) -> int:
    """The error of the one resource."""
    error: int
    (error,) = struct.unpack_from(">h", body, 4 + 1)
    return error
