"""Reads Apache Kafka's own metadata log (``__cluster_metadata-0``, KIP-631) when a directory has one: record values in
order, for ``kafka_metadata.py``, which knows what they say.

Nothing is ever written here. The engine leaves the directory to Kafka, so its files are read here, when a directory
that Kafka wrote is taken over: the latest snapshot, then the batches after it.

    file   = batch*               ``<end offset>-<epoch>.checkpoint`` (snapshot), ``<base offset>.log``
    batch  = base offset int64, length int32, … attributes int16 (at 21), … record count int32 (at 57), record*
    record = length, attributes int8, timestamp delta, offset delta, key length, key, value length, value, …
             (zigzag varints)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from kafkastore.plain_files import open_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkastore.config import BrokerConfig

DIRECTORY: Final = "__cluster_metadata-0"
_BATCH_HEADER, _LOG_OVERHEAD = 61, 12
_CODEC_OR_CONTROL = 0x07 | 0x20
"""Attributes of batches without metadata records: control batches; and compressed ones, which Kafka does not write
here."""


def metadata_places(config: BrokerConfig) -> list[str]:
    """The directories in which Kafka may have kept its metadata."""
    own: str | None = config.get("metadata.log.dir")
    return list(dict.fromkeys([*([own] if own else []), *config.log_dirs]))


def record_values(directory: str, fault: Callable[[str], object]) -> Iterator[bytes]:
    """Record values in order. ``fault`` is called with a sentence for each part that cannot be read. Blocking."""
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        fault(f"{directory} cannot be read: {error.strerror}")
        return
    snapshots = [name for name in names if name.endswith(".checkpoint") and name[:20].isdigit()]
    start = 0
    if snapshots:
        start = int(snapshots[-1][:20])
        yield from _values_of_file(os.path.join(directory, snapshots[-1]), 0, fault)
    for name in names:
        if name.endswith(".log"):
            yield from _values_of_file(os.path.join(directory, name), start, fault)


def _values_of_file(path: str, start_offset: int, fault: Callable[[str], object]) -> Iterator[bytes]:
    """Record values of the batches from ``start_offset`` on; a torn batch at the end is the end."""
    try:
        with open(path, "rb", opener=open_plain) as file:
            data = file.read()
    except OSError as error:
        fault(f"{path} cannot be read: {error.strerror}")
        return
    position = 0
    while position + _BATCH_HEADER <= len(data):
        end = position + _LOG_OVERHEAD + int.from_bytes(data[position + 8 : position + 12], "big")
        if not position + _BATCH_HEADER <= end <= len(data):
            return
        attributes = int.from_bytes(data[position + 21 : position + 23], "big")
        is_after = int.from_bytes(data[position : position + 8], "big") >= start_offset
        if is_after and not attributes & _CODEC_OR_CONTROL:
            try:
                yield from _values_of_batch(data[position:end])
            except IndexError:
                fault(f"a batch of {path} cannot be understood")
        position = end


def _values_of_batch(batch: bytes) -> Iterator[bytes]:
    reader = Reader(batch)
    reader.position = _BATCH_HEADER
    for _ in range(int.from_bytes(batch[57:61], "big")):
        length = reader.varint()
        following = reader.position + length
        reader.take(1)
        reader.varint()
        reader.varint()
        reader.take(max(reader.varint(), 0))
        yield reader.take(max(reader.varint(), 0))
        reader.position = following


class Reader:
    """Raises IndexError at the end of the bytes, and UnicodeDecodeError."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        found = self.data[self.position : self.position + count]
        if len(found) < count:
            raise IndexError
        self.position += count
        return found

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big", signed=True)

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7

    def varint(self) -> int:
        zigzag = self.uvarint()
        return zigzag >> 1 ^ -(zigzag & 1)

    def compact_bytes(self) -> bytes | None:
        length = self.uvarint()
        return None if length == 0 else self.take(length - 1)

    def compact_string(self) -> str | None:
        found = self.compact_bytes()
        return None if found is None else found.decode()

    def tagged_fields(self) -> None:
        for _ in range(self.uvarint()):
            self.uvarint()
            self.take(self.uvarint())
