"""One uncompressed v2 record batch, built by hand: what the cases need to have something in a log."""

from __future__ import annotations

import struct

from crc32c import crc32c


def _varint(value: int) -> bytes:
    zigzag = (value << 1) ^ (value >> 63)
    out = bytearray()
    while True:
        if zigzag < 0x80:
            out.append(zigzag)
            return bytes(out)
        out.append((zigzag & 0x7F) | 0x80)
        zigzag >>= 7


IS_TRANSACTIONAL = 0x10


def record_batch(
    count: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    *,
    is_transactional: bool = False,
) -> bytes:
    """``count`` records with value ``b"v"`` and timestamp 1,700,000,000,000 ms."""
    records = b""
    for delta in range(count):
        body = b"\x00" + _varint(0) + _varint(delta) + _varint(-1) + _varint(1) + b"v" + _varint(0)
        records += _varint(len(body)) + body
    timestamp_ms = 1_700_000_000_000
    after_crc = (
        struct.pack(
            ">hiqqqhii",
            IS_TRANSACTIONAL if is_transactional else 0,
            count - 1,
            timestamp_ms,
            timestamp_ms,
            producer_id,
            producer_epoch,
            base_sequence,
            count,
        )
        + records
    )
    after_length = struct.pack(">ib", 0, 2) + struct.pack(">I", crc32c(after_crc)) + after_crc
    return struct.pack(">qi", 0, len(after_length)) + after_length
