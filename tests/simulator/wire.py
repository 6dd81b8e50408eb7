"""The few requests that the simulation's clients send, as bytes: Produce 8, Fetch 11, ListOffsets 5; and what comes back."""

from __future__ import annotations

import struct
from typing import NamedTuple

PRODUCE, FETCH, LIST_OFFSETS = 0, 1, 2
PRODUCE_VERSION, FETCH_VERSION, LIST_OFFSETS_VERSION = 8, 11, 5
LATEST = -1

TIMEOUT_MS = 600
"""How long a produce waits for its replicas."""
FETCH_WAIT_MS = 60
FETCH_BYTES = 1 << 20


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def produce_request(topic: str, partition: int, batch: bytes, acks: int) -> bytes:
    head = struct.pack(">hhi", -1, acks, TIMEOUT_MS)
    rows = struct.pack(">i", 1) + _text(topic) + struct.pack(">iii", 1, partition, len(batch)) + batch
    return head + rows


class Produced(NamedTuple):
    error: int
    base_offset: int


def produce_response(body: bytes, topic: str) -> Produced:
    at = 4 + 2 + len(topic) + 4
    _, error, base_offset = struct.unpack_from(">ihq", body, at)
    return Produced(error, base_offset)


def fetch_request(topic: str, partition: int, offset: int, leader_epoch: int) -> bytes:
    head = struct.pack(">iiiibii", -1, FETCH_WAIT_MS, 1, FETCH_BYTES, 0, 0, -1)
    rows = struct.pack(">i", 1) + _text(topic)
    row = struct.pack(">iiiqqi", 1, partition, leader_epoch, offset, -1, FETCH_BYTES)
    return head + rows + row + struct.pack(">i", 0) + _text("")


class FetchedRecords(NamedTuple):
    error: int
    high_watermark: int
    records: bytes


def fetch_response(body: bytes, topic: str) -> FetchedRecords:
    _, error, _, topics = struct.unpack_from(">ihii", body, 0)
    if error or not topics:
        return FetchedRecords(error, -1, b"")
    at = 14 + 2 + len(topic) + 4
    _, error, high_watermark, _, _, aborted = struct.unpack_from(">ihqqqi", body, at)
    at += 34 + 16 * max(aborted, 0)
    _, length = struct.unpack_from(">ii", body, at)
    at += 8
    return FetchedRecords(error, high_watermark, body[at : at + max(length, 0)])


def list_offsets_request(topic: str, partition: int, leader_epoch: int) -> bytes:
    row = struct.pack(">iiiq", 1, partition, leader_epoch, LATEST)
    return struct.pack(">ibi", -1, 0, 1) + _text(topic) + row


class Ended(NamedTuple):
    error: int
    offset: int


def list_offsets_response(body: bytes, topic: str) -> Ended:
    at = 4 + 4 + 2 + len(topic) + 4
    _, error, _, offset, _ = struct.unpack_from(">ihqqi", body, at)
    return Ended(error, offset)
