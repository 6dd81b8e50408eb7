"""The files beside segments as ``kafka-dump-log`` prints them: indexes by offset and by time, compared with their
segment, indexes of aborted transactions, and snapshots of producers.

index     := (offset - base offset int32, position int32)*
timeindex := (timestamp int64, offset - base offset int32)*
txnindex  := (version int16, producer id, first offset, last offset, last stable offset int64)*
snapshot  := version int16, crc uint32, count int32, (producer id int64, epoch int16, last sequence int32,
             last offset int64, offset delta int32, timestamp int64, coordinator epoch int32,
             first offset of its transaction int64)*

Nothing here changes a file. What is wrong goes to stderr.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, Final

from kafkastore import _core
from kafkastore.cli.kafka.dump_log import base_offset
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from kafkastore._core import BatchDescription

INDEX: Final = struct.Struct(">ii")
TIME_INDEX: Final = struct.Struct(">qi")
TRANSACTION: Final = struct.Struct(">hqqqq")
SNAPSHOT: Final = struct.Struct(">hIi")
PRODUCER: Final = struct.Struct(">qhiqiqiq")
BATCH: Final = struct.Struct(">qiib")
"""The head of a batch: offset, length, leader epoch, magic."""
LAST_OFFSET_DELTA: Final = 23
"""Where a batch of magic 2 has it."""
MAGIC_2: Final = 2
CHECKED_FROM: Final = 6
"""Where the bytes of a snapshot that its CRC is of begin."""
SEQUENCES: Final = 1 << 31


class IndexDump:
    """Prints indexes; keeps what does not fit their segments, for the end."""

    def __init__(self, given: Namespace) -> None:
        self._is_sanity_only = given.index_sanity_check
        self._prints = not given.verify_index_only
        self._max_message_size = given.max_message_size
        self._mismatches: dict[str, list[tuple[int, int]]] = {}
        self._wrong_times: dict[str, list[tuple[int, int]]] = {}
        self._unordered: dict[str, list[tuple[int, int]]] = {}
        self._not_found: dict[str, list[tuple[int, int]]] = {}

    def dump_index(self, path: Path) -> None:
        """Raises KafkastoreError, OSError."""
        base, data = base_offset(path), path.read_bytes()
        entries = list(_entries(INDEX, data))
        with path.with_suffix(".log").open("rb") as segment:
            if not entries:
                sys.stdout.write(f"{path} is empty.\n")
                return
            if self._is_sanity_only:
                _check_sanity(path, len(data) % INDEX.size, entries[-1][0] + base < base)
                return
            for number, (relative, position) in enumerate(entries):
                if relative == 0 and number > 0:  # zeros that were allocated ahead
                    return
                last = self._last_offset_at(path, segment, position)
                if last != base + relative:
                    name = str(path.absolute())
                    self._mismatches.setdefault(name, []).insert(0, (base + relative, last))
                if self._prints:
                    sys.stdout.write(f"offset: {base + relative} position: {position}\n")

    def _last_offset_at(self, path: Path, segment: BinaryIO, position: int) -> int:
        segment.seek(position)
        head = segment.read(LAST_OFFSET_DELTA + 4)
        if len(head) < BATCH.size or BATCH.unpack_from(head)[1] + 12 > self._max_message_size:
            raise KafkastoreError(
                f"{path} names position {position}, where no batch of at most {self._max_message_size} bytes begins; "
                "see --max-message-size"
            )
        first, _, _, magic = BATCH.unpack_from(head)
        delta = struct.unpack_from(">i", head, LAST_OFFSET_DELTA)[0] if magic >= MAGIC_2 else 0
        return int(first + delta)

    def dump_time_index(self, path: Path) -> None:
        """Raises KafkastoreError, ScanError, OSError."""
        base, data = base_offset(path), path.read_bytes()
        entries = list(_entries(TIME_INDEX, data))
        if self._is_sanity_only:
            is_wrong = bool(entries) and (entries[-1][1] < 0 or entries[-1][0] < entries[0][0])
            _check_sanity(path, len(data) % TIME_INDEX.size, is_wrong)
            return
        name, previous = str(path.absolute()), -1
        batches = _Ahead(path.with_suffix(".log"))
        for number, (timestamp, relative) in enumerate(entries):
            offset = base + relative
            if relative == 0 and number > 0:
                return
            batch = batches.holding(offset)
            if batch is None or batch.last_offset != offset:
                self._not_found.setdefault(name, []).append((offset, -1 if batch is None else batch.last_offset))
            else:
                if batch.max_timestamp_ms != timestamp:
                    self._wrong_times.setdefault(name, []).append((timestamp, batch.max_timestamp_ms))
                if previous >= timestamp:
                    self._unordered.setdefault(name, []).append((timestamp, previous))
            if self._prints:
                sys.stdout.write(f"timestamp: {timestamp} offset: {offset}\n")
            previous = timestamp

    def tell_faults(self) -> None:
        for found, head, line in (
            (self._mismatches, "Mismatches in :{}", "  Index offset: {}, log offset: {}"),
            (self._wrong_times, "Found timestamp mismatch in :{}", "  Index timestamp: {}, log timestamp: {}"),
            (
                self._unordered,
                "Found out of order timestamp in :{}",
                "  Index timestamp: {}, Previously indexed timestamp: {}",
            ),
            (
                self._not_found,
                "The following indexed offsets are not found in :{}",
                "Indexed offset: {}, found log offset: {}",
            ),
        ):
            for name, pairs in found.items():
                sys.stderr.write(f"{head.format(name)}\n")
                sys.stderr.writelines(f"{line.format(*pair)}\n" for pair in pairs)


class _Ahead:
    """The batches of a segment, passed once: offsets are looked up in ascending order. Raises ScanError, OSError."""

    def __init__(self, path: Path) -> None:
        path.stat()  # an OSError names the file
        self._batches = _walk(_core.BatchHeaders(str(path)))
        self._current = next(self._batches, None)

    def holding(self, offset: int) -> BatchDescription | None:
        """The first batch that ends at the offset or behind it."""
        while self._current is not None and self._current.last_offset < offset:
            self._current = next(self._batches, None)
        return self._current


def _walk(headers: _core.BatchHeaders) -> Iterator[BatchDescription]:
    while chunk := headers.next_chunk():
        yield from chunk


def _entries(layout: struct.Struct, data: bytes) -> Iterator[tuple[int, int]]:
    whole = len(data) // layout.size * layout.size
    yield from layout.iter_unpack(data[:whole])


def _check_sanity(path: Path, rest_bytes: int, is_wrong: bool) -> None:
    if rest_bytes or is_wrong:
        raise KafkastoreError(
            f"Corrupt index found, index file ({path}) is not whole or not in order; a broker mends it"
        )
    sys.stdout.write(f"{path} passed sanity check.\n")


def dump_transaction_index(path: Path) -> None:
    """Raises KafkastoreError, OSError."""
    data = path.read_bytes()
    if len(data) % TRANSACTION.size:
        raise KafkastoreError(f"{path} ends within an entry")
    for version, producer_id, first, last, stable in TRANSACTION.iter_unpack(data):
        sys.stdout.write(
            f"version: {version} producerId: {producer_id} firstOffset: {first} lastOffset: {last} "
            f"lastStableOffset: {stable}\n"
        )


def dump_snapshot(path: Path) -> None:
    """Raises OSError; a snapshot that is not whole is a line on stderr."""
    data = path.read_bytes()
    version, crc, count = SNAPSHOT.unpack_from(data) if len(data) >= SNAPSHOT.size else (0, 0, 0)
    if version != 1 or len(data) < SNAPSHOT.size + count * PRODUCER.size:
        sys.stderr.write(f"Snapshot file '{path}' is corrupted (its version or its length)\n")
        return
    if (computed := crc32c(data[CHECKED_FROM:])) != crc:
        sys.stderr.write(f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}\n")
        return
    for at in range(count):
        producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, first = (
            PRODUCER.unpack_from(data, SNAPSHOT.size + at * PRODUCER.size)
        )
        transaction = "OptionalLong.empty" if first < 0 else f"OptionalLong[{first}]"
        line = (
            f"producerId: {producer_id} producerEpoch: {epoch} coordinatorEpoch: {coordinator_epoch} "
            f"currentTxnFirstOffset: {transaction} lastTimestamp: {timestamp} "
        )
        if last_offset >= 0:
            line += (
                f"firstSequence: {(last_sequence - delta) % SEQUENCES} lastSequence: {last_sequence} "
                f"lastOffset: {last_offset} offsetDelta: {delta} timestamp: {timestamp}"
            )
        sys.stdout.write(f"{line}\n")


def crc32c(data: bytes) -> int:
    """The CRC-32C (RFC 3720) of Kafka's files."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF
