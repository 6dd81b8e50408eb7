"""Transactional ids as the records of ``__transaction_state`` keep them."""

from __future__ import annotations

from typing import NamedTuple

from kafkastore._core import build_batch, message_encoder

from .plain_messages import filled

STATES = ("Empty", "Ongoing", "PrepareCommit")


class Kept(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_ms: int
    partitions: list[tuple[str, int]]


def batch_of(*kept: Kept) -> bytes:
    return build_batch([(_key(one), _value(one)) for one in kept], 0)


def _key(one: Kept) -> bytes:
    return bytes(2) + message_encoder("TransactionLogKey", 0).row({"transactional_id": one.transactional_id})


def _value(one: Kept) -> bytes:
    topics: dict[str, list[int]] = {}
    for topic, partition in one.partitions:
        topics.setdefault(topic, []).append(partition)
    given = {
        "producer_id": one.producer_id,
        "producer_epoch": one.producer_epoch,
        "transaction_timeout_ms": one.timeout_ms,
        "transaction_status": STATES.index(one.state),
        "transaction_partitions": [{"topic": name, "partition_ids": numbers} for name, numbers in topics.items()],
        "transaction_last_update_timestamp_ms": one.start_ms,
        "transaction_start_timestamp_ms": one.start_ms,
    }
    return bytes(2) + message_encoder("TransactionLogValue", 0).row(filled("TransactionLogValue", 0, given))
