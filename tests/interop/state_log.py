"""The files of `__transaction_state` of a stopped broker, Kafka's or ours: their records, and further ones at the end.

The layout of a value is in `rust/coordinator/transactions/records.rs`. Appended records are those of a coordinator that
was killed before it did the next step; the log's owner must have been killed too, so that the next start reads them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kafka.record.default_records import DefaultRecordBatchBuilder

from fixtures.offsets.segments import records

STATE_TOPIC = "__transaction_state"
ONGOING, PREPARE_COMMIT, PREPARE_ABORT = 1, 2, 3
EPOCH_AT, STATE_AT = 10, 16
VERSION_2_TAG = b"\x02\x02\x00\x02"
"""Tag 2 of two bytes, the transaction version of the client: 2."""
NO_TAGS, ONE_TAG = b"\0", b"\1"
KEY = struct.Struct(">hh")
BATCH_OFFSET, BATCH_LEADER_EPOCH, BATCH_HEADER_BYTES = 0, 12, 61


class StateRecord(NamedTuple):
    """The record of a transactional id; a tombstone has no value."""

    log: Path
    offset: int
    transactional_id: str
    value: bytes | None


def state_records(log_dir: Path) -> Iterator[StateRecord]:
    """All records, by partition and offset."""
    for log in sorted(log_dir.glob(f"{STATE_TOPIC}-*/*.log")):
        for offset, _, key, value, _ in records(log.read_bytes()):
            assert key is not None
            yield StateRecord(log, offset, key[KEY.size :].decode(), value)


def last_record(log_dir: Path, transactional_id: str) -> StateRecord:
    return [one for one in state_records(log_dir) if one.transactional_id == transactional_id][-1]


def prepared(ongoing: bytes, version: int, *, commits: bool) -> bytes:
    """The value that decides the outcome of an open transaction, but for its time. Version 2 raises the epoch, and
    says so."""
    assert ongoing[STATE_AT] == ONGOING
    decided = PREPARE_COMMIT if commits else PREPARE_ABORT
    value = bytearray(ongoing)
    value[STATE_AT] = decided
    if version == 1:
        return bytes(value)
    (epoch,) = struct.unpack_from(">h", value, EPOCH_AT)
    struct.pack_into(">h", value, EPOCH_AT, epoch + 1)
    if not value.endswith(VERSION_2_TAG):  # Kafka's has the tag from the first partition on, ours from the decision on
        assert value.endswith(NO_TAGS)
        value[-1:] = ONE_TAG + VERSION_2_TAG
    return bytes(value)


def append(log_dir: Path, transactional_id: str, value: bytes | None) -> None:
    """A batch of one record, with the leader epoch of the batch before it."""
    log = last_record(log_dir, transactional_id).log
    written = log.read_bytes()
    *_, (last_offset, timestamp_ms, *_) = records(written)
    key = KEY.pack(0, len(transactional_id)) + transactional_id.encode()
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
    builder.append(0, timestamp_ms, key, value, [])
    batch = bytearray(builder.build())
    struct.pack_into(">q", batch, BATCH_OFFSET, last_offset + 1)
    batch[BATCH_LEADER_EPOCH : BATCH_LEADER_EPOCH + 4] = _last_leader_epoch(written)
    with log.open("ab") as file:
        file.write(batch)


def _last_leader_epoch(written: bytes) -> bytes:
    position = epoch_at = 0
    while position + BATCH_HEADER_BYTES <= len(written):
        epoch_at = position + BATCH_LEADER_EPOCH
        (length,) = struct.unpack_from(">i", written, position + 8)
        position += 12 + length
    return written[epoch_at : epoch_at + 4]
