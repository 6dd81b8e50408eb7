"""Record batches of format 2 in every codec, written and read by these tests alone.

Neither broker's code is used, so that the reader can judge between them. The layout is docs/internals/storage.md's.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cramjam
import lz4.frame
import zstandard
from crc32c import crc32c

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CODEC_MASK, APPEND_TIME, TRANSACTIONAL, CONTROL, HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40
ABORT, COMMIT = 0, 1
HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size
AFTER_LENGTH, AFTER_CRC = 12, 21
SNAPPY_MAGIC = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
NO_PRODUCER = (-1, -1, -1)


@dataclass(frozen=True)
class Record:
    """A record with its own offset and timestamp; ``delta_ms`` is what is stored, also where it does not count."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


@dataclass(frozen=True)
class Batch:
    """A batch as its header says, with its records."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    codec: str
    flags: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    records: tuple[Record, ...]

    @property
    def is_control(self) -> bool:
        return bool(self.flags & CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        return self.base_timestamp if self.flags & HORIZON else None


def varint(value: int) -> bytes:
    zigzag = (value << 1) ^ (value >> 63)
    out = bytearray()
    while zigzag >= 0x80:
        out.append((zigzag & 0x7F) | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


def _bytes(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def compress(codec: str, data: bytes) -> bytes:
    if codec == "gzip":
        return gzip.compress(data, 6, mtime=0)
    if codec == "snappy":
        pieces = (bytes(cramjam.snappy.compress_raw(data[at : at + 32768])) for at in range(0, len(data), 32768))
        return SNAPPY_MAGIC + b"".join(struct.pack(">i", len(piece)) + piece for piece in pieces)
    if codec == "lz4":
        size = lz4.frame.BLOCKSIZE_MAX64KB
        return bytes(lz4.frame.compress(data, block_size=size, block_linked=False, store_size=False))
    if codec == "zstd":
        return zstandard.ZstdCompressor(level=3).compress(data)
    return data


def decompress(codec: str, data: bytes) -> bytes:
    if codec == "gzip":
        return gzip.decompress(data)
    if codec == "snappy":
        return b"".join(_snappy_pieces(data)) if data.startswith(SNAPPY_MAGIC[:8]) else _snappy(data)
    if codec == "lz4":
        return bytes(lz4.frame.decompress(data))
    if codec == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


def _snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.decompress_raw(data))


def _snappy_pieces(data: bytes) -> Iterator[bytes]:
    at = len(SNAPPY_MAGIC)
    while at < len(data):
        (length,) = struct.unpack_from(">i", data, at)
        yield _snappy(data[at + 4 : at + 4 + length])
        at += 4 + length


def build(
    records: Sequence[Record],
    *,
    codec: str = "none",
    flags: int = 0,
    leader_epoch: int = 0,
    producer: tuple[int, int, int] = NO_PRODUCER,
    append_time: int | None = None,
) -> bytes:
    """A batch of these records, at least one, with ascending offsets; the first record's offset is the base offset.
    ``producer`` is id, epoch and base sequence. ``append_time`` makes it a batch of LogAppendTime."""
    base_offset, base_timestamp = records[0].offset, records[0].timestamp
    payload = bytearray()
    for record in records:
        body = b"\x00" + varint(record.timestamp - base_timestamp) + varint(record.offset - base_offset)
        body += _bytes(record.key) + _bytes(record.value) + varint(len(record.headers))
        body += b"".join(_bytes(name) + _bytes(value) for name, value in record.headers)
        payload += varint(len(body)) + body
    max_timestamp = max(record.timestamp for record in records)
    if append_time is not None:
        flags, max_timestamp = flags | APPEND_TIME, append_time
    last_delta = records[-1].offset - base_offset
    after_crc = struct.pack(
        ">hiqqqhii", flags | CODECS.index(codec), last_delta, base_timestamp, max_timestamp, *producer, len(records)
    )
    after_crc += compress(codec, bytes(payload))
    head = struct.pack(">qiibI", base_offset, len(after_crc) + 9, leader_epoch, 2, crc32c(after_crc))
    return head + after_crc


def build_marker(
    offset: int, timestamp: int, producer_id: int, producer_epoch: int, kind: int, *, leader_epoch: int = 0
) -> bytes:
    """A transaction marker: ABORT or COMMIT."""
    record = Record(offset, timestamp, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0))
    producer = (producer_id, producer_epoch, -1)
    return build([record], flags=TRANSACTIONAL | CONTROL, leader_epoch=leader_epoch, producer=producer)


def parse(data: bytes) -> list[Batch]:
    """Every batch of a segment. AssertionError where it is not whole or its checksum is wrong."""
    batches = []
    at = 0
    while at < len(data):
        assert at + HEADER_BYTES <= len(data), f"{at}: half a header"
        base, length, epoch, magic, crc, attributes, last_delta, base_time, max_time, *rest = HEADER.unpack_from(
            data, at
        )
        end = at + AFTER_LENGTH + length
        assert end <= len(data), f"{at}: half a batch"
        assert magic == 2, f"{at}: magic {magic}"
        assert crc32c(data[at + AFTER_CRC : end]) == crc, f"{at}: checksum"
        producer_id, producer_epoch, base_sequence, count = rest
        codec = CODECS[attributes & CODEC_MASK]
        payload = decompress(codec, data[at + HEADER_BYTES : end]) if count else b""
        append_time = max_time if attributes & APPEND_TIME else None
        records = tuple(_records(payload, count, base, base_time, append_time))
        flags = attributes & ~CODEC_MASK
        place = base, base + last_delta, epoch, codec, flags, base_time, max_time
        batches.append(Batch(*place, producer_id, producer_epoch, base_sequence, count, records))
        at = end
    return batches


def _records(payload: bytes, count: int, base: int, base_time: int, append_time: int | None) -> Iterator[Record]:
    cursor = _Cursor(payload)
    for _ in range(count):
        length = cursor.varint()
        end = cursor.at + length
        assert cursor.take(1) == b"\x00", "attributes of a record"
        timestamp, offset = base_time + cursor.varint(), base + cursor.varint()
        key, value = cursor.field(), cursor.field()
        headers = tuple((cursor.field() or b"", cursor.field()) for _ in range(cursor.varint()))
        assert cursor.at == end, "the length of a record"
        yield Record(offset, timestamp if append_time is None else append_time, key, value, headers)
    assert cursor.at == len(payload), "bytes behind the last record"


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        assert self.at + count <= len(self._data), "the payload ends within a record"
        self.at += count
        return self._data[self.at - count : self.at]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7

    def field(self) -> bytes | None:
        length = self.varint()
        return None if length < 0 else self.take(length)
