"""The requests of transactional producers and of the readers of their offsets, as bytes: FindCoordinator 3,
InitProducerId 4, OffsetFetch 7; AddPartitionsToTxn 3, AddOffsetsToTxn 3, Produce 11, TxnOffsetCommit 3 and 4 and
EndTxn 4 of transaction version 1; Produce 13, TxnOffsetCommit 5 and EndTxn 5 of version 2; and what comes back."""

from __future__ import annotations

import struct
from typing import NamedTuple

from simulator.wire import NO_TAGS, NOTHING, NULL, ONE, compact

PRODUCE_VERSIONS = {1: 11, 2: 13}
"""By transaction version; the first names topics by their names."""
FIND_COORDINATOR, FIND_COORDINATOR_VERSION = 10, 3
INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION = 22, 4
ADD_PARTITIONS, ADD_PARTITIONS_VERSION = 24, 3
ADD_OFFSETS, ADD_OFFSETS_VERSION = 25, 3
END_TXN, END_TXN_VERSIONS = 26, {1: 4, 2: 5}
TXN_OFFSET_COMMIT, TXN_OFFSET_COMMIT_VERSIONS = 28, {1: (3, 4), 2: (5,)}
OFFSET_FETCH, OFFSET_FETCH_VERSION = 9, 7
GROUP, TRANSACTION = 0, 1
"""Kinds of keys that have coordinators."""


def find_coordinator_request(key: str, kind: int) -> bytes:
    return compact(key) + struct.pack(">b", kind) + NO_TAGS


class Coordinator(NamedTuple):
    error: int
    node_id: int


def find_coordinator_response(body: bytes) -> Coordinator:
    _, error = struct.unpack_from(">ih", body)
    at = 6 + max(body[6], 1)  # the message, which is short or null
    (node_id,) = struct.unpack_from(">i", body, at)
    return Coordinator(error, node_id)


class Producer(NamedTuple):
    error: int
    producer_id: int
    epoch: int


def init_producer_id_request(transactional_id: str, timeout_ms: int, producer_id: int, epoch: int) -> bytes:
    return compact(transactional_id) + struct.pack(">iqh", timeout_ms, producer_id, epoch) + NO_TAGS


def init_producer_id_response(body: bytes) -> Producer:
    _, error, producer_id, epoch = struct.unpack_from(">ihqh", body)
    return Producer(error, producer_id, epoch)


def add_partitions_request(
    transactional_id: str, producer_id: int, epoch: int, topic: str, partitions: list[int]
) -> bytes:
    indexes = bytes((len(partitions) + 1,)) + struct.pack(f">{len(partitions)}i", *partitions)
    head = compact(transactional_id) + struct.pack(">qh", producer_id, epoch)
    return head + b"\x02" + compact(topic) + indexes + NO_TAGS + NO_TAGS


def add_partitions_response(body: bytes, topic: str) -> list[int]:
    """The error of each partition."""
    at = 4 + 1 + 1 + len(topic)
    return [struct.unpack_from(">ih", body, at + 1 + 7 * number)[1] for number in range(body[at] - 1)]


def add_offsets_request(transactional_id: str, producer_id: int, epoch: int, group: str) -> bytes:
    return compact(transactional_id) + struct.pack(">qh", producer_id, epoch) + compact(group) + NO_TAGS


def add_offsets_response(body: bytes) -> int:
    """The error."""
    error: int
    _, error = struct.unpack_from(">ih", body)
    return error


def txn_offset_commit_request(
    transactional_id: str, producer_id: int, epoch: int, group: str, topic: str, partition: int, offset: int
) -> bytes:
    """One offset, of a group without members."""
    head = compact(transactional_id) + compact(group) + struct.pack(">qh", producer_id, epoch)
    nobody = struct.pack(">i", -1) + NOTHING + NULL
    row = struct.pack(">iqi", partition, offset, -1) + NULL + NO_TAGS
    return head + nobody + ONE + compact(topic) + ONE + row + NO_TAGS + NO_TAGS


def txn_offset_commit_response(body: bytes, topic: str) -> int:
    """The error of the one offset."""
    error: int
    _, error = struct.unpack_from(">ih", body, 4 + 1 + 1 + len(topic) + 1)
    return error


def offset_fetch_request(group: str, topic: str, partition: int) -> bytes:
    """With ``require_stable``."""
    return compact(group) + ONE + compact(topic) + ONE + struct.pack(">i", partition) + NO_TAGS + b"\x01" + NO_TAGS


class FetchedOffset(NamedTuple):
    error: int
    offset: int
    """-1 for none."""


def offset_fetch_response(body: bytes, topic: str) -> FetchedOffset:
    if body[4:5] != ONE:  # the error of the group, without topics
        return FetchedOffset(*struct.unpack_from(">h", body, 5), -1)
    at = 4 + 1 + 1 + len(topic) + 1
    _, offset, _ = struct.unpack_from(">iqi", body, at)
    (error,) = struct.unpack_from(">h", body, at + 16 + max(body[at + 16], 1))  # after the metadata, short or null
    return FetchedOffset(error, offset)


def end_txn_request(transactional_id: str, producer_id: int, epoch: int, *, is_commit: bool) -> bytes:
    return compact(transactional_id) + struct.pack(">qh?", producer_id, epoch, is_commit) + NO_TAGS


def end_txn_response(body: bytes, transaction_version: int) -> Producer:
    """With the producer of the next transaction in version 2."""
    if transaction_version == 1:
        return Producer(struct.unpack_from(">ih", body)[1], -1, -1)
    return init_producer_id_response(body)
