"""The most expensive forms of requests, as bytes: a row is encoded once and repeated, so that a million rows cost
nothing to make.

string := int16 bytes; array := int32 items, as in the versions before the flexible ones, which every broker here
serves.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from peer.wire_socket import frame, request_header

NULL_ARRAY = struct.pack(">i", -1)


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def array(items: Iterable[bytes]) -> bytes:
    rows = list(items)
    return struct.pack(">i", len(rows)) + b"".join(rows)


def repeated(item: bytes, count: int) -> bytes:
    return struct.pack(">i", count) + item * count


def request(api_key: int, version: int, body: bytes) -> bytes:
    """A whole frame with correlation id 1."""
    return frame(request_header(api_key, version) + body)


def metadata(names: bytes) -> bytes:
    """v8: names, no auto creation, no operations."""
    return request(3, 8, names + b"\0\0\0")


def describe_configs(resources: bytes) -> bytes:
    """v2: with synonyms."""
    return request(32, 2, resources + b"\1")


def config_resource(kind: int, name: str) -> bytes:
    return struct.pack(">b", kind) + string(name) + NULL_ARRAY


def incremental_alter_configs(resources: bytes) -> bytes:
    return request(44, 0, resources + b"\0")


def altered(topic: str, key: str, value: str) -> bytes:
    return struct.pack(">b", 2) + string(topic) + array([string(key) + b"\0" + string(value)])


def describe_groups(groups: bytes) -> bytes:
    return request(15, 0, groups)


def delete_topics(names: Iterable[str], timeout_ms: int = 60_000) -> bytes:
    return request(20, 1, array(map(string, names)) + struct.pack(">i", timeout_ms))


def list_offsets(topic: str, rows: int) -> bytes:
    """v1: the same partition in every row, by a timestamp."""
    return request(2, 1, struct.pack(">i", -1) + array([string(topic) + repeated(struct.pack(">iq", 0, 1), rows)]))


def fetch(topic: str, rows: int) -> bytes:
    """v4: the same partition in every row, answered without waiting."""
    row = struct.pack(">iqi", 0, 0, 1 << 20)
    bounds = struct.pack(">iiiib", -1, 0, 0, 1 << 20, 0)
    return request(1, 4, bounds + array([string(topic) + repeated(row, rows)]))


def fetch_some(topic: str, max_bytes: int) -> bytes:
    """v4: one partition, at most ``max_bytes``."""
    bounds = struct.pack(">iiiib", -1, 0, 1, max_bytes, 0)
    return request(1, 4, bounds + array([string(topic) + array([struct.pack(">iqi", 0, 0, max_bytes)])]))


def fetch_old(topic: str, max_bytes: int) -> bytes:
    """v2: one partition, whose batches become messages of magic 1 first."""
    bounds = struct.pack(">iii", -1, 0, 0)
    return request(1, 2, bounds + array([string(topic) + array([struct.pack(">iqi", 0, 0, max_bytes)])]))


def fetch_session(topic: str, rows: int) -> bytes:
    """v7: a new session of ``rows`` partitions, answered without waiting."""
    bounds = struct.pack(">iiiibii", -1, 0, 0, 1 << 20, 0, 0, 0)
    partitions = array(struct.pack(">iqqi", index, 0, -1, 1 << 20) for index in range(rows))
    return request(1, 7, bounds + array([string(topic) + partitions]) + array([]))


def offset_fetch(group: str, topic: str, rows: int) -> bytes:
    return request(9, 1, string(group) + array([string(topic) + repeated(struct.pack(">i", 0), rows)]))


def produce(rows: Iterable[tuple[int, bytes]], topic: str) -> bytes:
    """v7, the first version that may carry zstd: (partition, batch) rows of one topic, acks=1."""
    partitions = array(struct.pack(">ii", index, len(batch)) + batch for index, batch in rows)
    return request(0, 7, struct.pack(">hhi", -1, 1, 30_000) + array([string(topic) + partitions]))


def join_group(group: str, metadata: bytes) -> bytes:
    """v2: a new member that waits for the rebalance."""
    protocols = array([string("range") + struct.pack(">i", len(metadata)) + metadata])
    return request(
        11, 2, string(group) + struct.pack(">ii", 30_000, 30_000) + string("") + string("consumer") + protocols
    )
