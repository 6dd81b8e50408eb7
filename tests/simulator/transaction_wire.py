"""The requests of transactional producers, as bytes: FindCoordinator 3, InitProducerId 4, AddPartitionsToTxn 3,
Produce 11 and EndTxn 4 of transaction version 1, Produce 13 and EndTxn 5 of version 2; and what comes back."""

from __future__ import annotations

import struct
from typing import NamedTuple

from simulator.wire import NO_TAGS, compact

PRODUCE_VERSIONS = {1: 11, 2: 13}
"""By transaction version; the first names topics by their names."""
FIND_COORDINATOR, FIND_COORDINATOR_VERSION = 10, 3
INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION = 22, 4
ADD_PARTITIONS, ADD_PARTITIONS_VERSION = 24, 3
END_TXN, END_TXN_VERSIONS = 26, {1: 4, 2: 5}
TRANSACTION = 1
"""The kind of key of a transactional id."""


def find_coordinator_request(transactional_id: str) -> bytes:
    return compact(transactional_id) + struct.pack(">b", TRANSACTION) + NO_TAGS


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


def end_txn_request(transactional_id: str, producer_id: int, epoch: int, *, is_commit: bool) -> bytes:
    return compact(transactional_id) + struct.pack(">qh?", producer_id, epoch, is_commit) + NO_TAGS


def end_txn_response(body: bytes, transaction_version: int) -> Producer:
    """With the producer of the next transaction in version 2."""
    if transaction_version == 1:
        return Producer(struct.unpack_from(">ih", body)[1], -1, -1)
    return init_producer_id_response(body)
