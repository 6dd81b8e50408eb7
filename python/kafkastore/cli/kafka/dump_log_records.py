"""Segments as ``kafka-dump-log`` prints them: a line for each batch, and for each record where that is asked for."""

from __future__ import annotations

import json
import re
import struct
import sys
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore import _core
from kafkastore.cli.dump_batches import line_of, timestamp_type
from kafkastore.cli.dump_records import file_split, scanned_rows
from kafkastore.cli.kafka.dump_log import MOST_BYTES, STRINGS, base_offset
from kafkastore.cli.kafka.flags import is_given
from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kafkastore._core import BatchDescription

    Words = tuple[str | None, str | None]

MOST_DIGITS: Final = 10
"""Of the number of a partition."""
COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers")
HEADER_BYTES: Final = 61
"""Of a batch, in front of its records."""
MAGIC_2: Final = 2
SEQUENCES: Final = 1 << 31
CONTROL_TYPES: Final = (
    "ABORT",
    "COMMIT",
    "LEADER_CHANGE",
    "SNAPSHOT_HEADER",
    "SNAPSHOT_FOOTER",
    "KRAFT_VERSION",
    "KRAFT_VOTERS",
)
END_MARKERS: Final = 2
"""The first control types, those that end a transaction."""
OFFSETS: Final = (
    "LegacyOffsetCommit OffsetCommit GroupMetadata ConsumerGroupMetadata ConsumerGroupPartitionMetadata "
    "ConsumerGroupMemberMetadata ConsumerGroupTargetAssignmentMetadata ConsumerGroupTargetAssignmentMember "
    "ConsumerGroupCurrentMemberAssignment - ShareGroupMemberMetadata ShareGroupMetadata "
    "ShareGroupTargetAssignmentMetadata ShareGroupTargetAssignmentMember ShareGroupCurrentMemberAssignment "
    "ShareGroupStatePartitionMetadata ConsumerGroupRegularExpression StreamsGroupMetadata - "
    "StreamsGroupMemberMetadata StreamsGroupTargetAssignmentMetadata StreamsGroupTargetAssignmentMember "
    "StreamsGroupCurrentMemberAssignment StreamsGroupTopology"
)
"""Kinds of records of __consumer_offsets, in the order of their numbers."""
NUMBERS: Final = {"Long": ">q", "Integer": ">i", "Double": ">d"}
CHECKPOINT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class _Record(NamedTuple):
    offset: int
    timestamp_us: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None


class SegmentDump:
    """Prints segments; keeps the offsets that do not follow one another, for the end."""

    def __init__(self, given: Namespace) -> None:
        self._decode = _decoder(given)
        self._prints_data = given.print_data_log or any(
            is_given(given, name)
            for name in (
                "offsets-decoder",
                "transaction-log-decoder",
                "share-group-state-decoder",
                "key-decoder-class",
                "value-decoder-class",
            )
        )
        self._is_deep = given.deep_iteration or self._prints_data
        self._has_metadata = not given.skip_record_metadata
        self._max_bytes = given.max_bytes
        self._gaps: dict[str, list[tuple[int, int]]] = {}

    def dump(self, path: Path) -> None:
        """Raises KafkastoreError, ScanError, OSError."""
        out = sys.stdout
        if path.suffix == ".log":
            out.write(f"Log starting offset: {base_offset(path)}\n")
        else:
            out.write(f"{_checkpoint_line(path)}\n")
        path.stat()  # an OSError names the file
        headers = _core.BatchHeaders(str(path))
        records = self._records(path) if self._is_deep else iter(())
        pending: _Record | None = None
        last = -1
        with path.open("rb") as file:
            for batch in self._batches(headers):
                out.write(f"{batch_line(batch)}\n")
                if batch.is_control and self._is_deep:
                    file.seek(batch.position + HEADER_BYTES)
                    found = list(_control_records(batch, file.read(batch.size_bytes - HEADER_BYTES)))
                else:
                    found = []
                    pending = pending or next(records, None)
                    while self._is_deep and pending is not None and pending.offset <= batch.last_offset:
                        last = self._print(path, batch, pending, last)
                        pending = next(records, None)
                for record in found:
                    last = self._print(path, batch, record, last)
        rest = headers.rest_bytes
        if rest > 0 and self._max_bytes == MOST_BYTES:
            out.write(f"Found {rest} invalid bytes at the end of {path.name}\n")

    def _batches(self, headers: _core.BatchHeaders) -> Iterator[BatchDescription]:
        while chunk := headers.next_chunk():
            for batch in chunk:
                if batch.position + batch.size_bytes > self._max_bytes:
                    return
                yield batch

    def _records(self, path: Path) -> Iterator[_Record]:
        """Those of the batches that can be read."""
        first, last, end = None, -1, 0
        with suppress(_core.ScanError):
            for batch in self._batches(_core.BatchHeaders(str(path))):
                first = batch.base_offset if first is None else first
                last, end = batch.last_offset, batch.position + batch.size_bytes
        if first is not None:
            scan = _core.Scan(
                [file_split(path, _partition_of(path), (first, last + 1), end)], COLUMNS, check_crcs=False
            )
            yield from map(_Record._make, scanned_rows(scan))

    def _print(self, path: Path, batch: BatchDescription, record: _Record, last: int) -> int:
        """Prints a record behind the one with the offset ``last``; returns its offset."""
        if last not in (-1, record.offset - 1):
            self._gaps.setdefault(str(path.absolute()), []).insert(0, (last, record.offset))
        words = [_metadata(batch, record)] if self._has_metadata else []
        if self._prints_data and not batch.is_control:
            key, payload = self._decode(record)
            words += [] if key is None else [f"key: {key}"]
            words += [] if payload is None else [f"payload: {payload}"]
        sys.stdout.write(f"| {' '.join(words)}\n" if words else "\n")
        return record.offset

    def tell_faults(self) -> None:
        for name, gaps in self._gaps.items():
            sys.stderr.write(f"Non-consecutive offsets in {name}\n")
            sys.stderr.writelines(f"  {first} is followed by {second}\n" for first, second in gaps)


def batch_line(batch: BatchDescription) -> str:
    """A batch of any version; before the last they say less."""
    line = line_of(batch)
    return line if batch.magic >= MAGIC_2 else f"offset: {batch.last_offset}{line[line.index(' position: ') :]}"


def _metadata(batch: BatchDescription, record: _Record) -> str:
    kind = timestamp_type(batch)
    sizes = (-1 if data is None else len(data) for data in (record.key, record.value))
    key_size, value_size = sizes
    text = f"offset: {record.offset} {kind}: {record.timestamp_us // 1000} keySize: {key_size} valueSize: {value_size}"
    if batch.magic < MAGIC_2:
        crc, is_valid = (batch.crc, batch.is_valid) if batch.codec == "none" else (_legacy_crc(batch, record), True)
        return f"{text} isValid: {'true' if is_valid else 'false'} crc: {crc}"
    names = ",".join(name for name, _ in record.headers or ())
    sequence = batch.base_sequence
    if sequence >= 0:
        sequence = (sequence + record.offset - batch.base_offset) % SEQUENCES
    text += f" sequence: {sequence} headerKeys: [{names}]"
    return text + _control_text(record) if batch.is_control else text


def _legacy_crc(batch: BatchDescription, record: _Record) -> int:
    """Of a message within a compressed one, which is read out of it without its CRC; where the broker's time has
    replaced its own, the CRC of the message with that.

    message := magic int8, attributes int8, timestamp int64 (of magic 1), key length int32, key, value length int32,
               value
    """
    data = bytes((batch.magic, 0)) + (struct.pack(">q", record.timestamp_us // 1000) if batch.magic else b"")
    for part in (record.key, record.value):
        data += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return zlib.crc32(data)


def _control_text(record: _Record) -> str:
    kind = struct.unpack_from(">h", record.key or b"\0\0\xff\xff", 2)[0]
    name = CONTROL_TYPES[kind] if 0 <= kind < len(CONTROL_TYPES) else "UNKNOWN"
    if 0 <= kind < END_MARKERS:
        epoch = struct.unpack_from(">i", record.value or b"", 2)[0]
        return f" endTxnMarker: {name} coordinatorEpoch: {epoch}"
    return f" controlType: {name}({kind})"


def _control_records(batch: BatchDescription, body: bytes) -> Iterator[_Record]:
    """The records of a control batch, which is never compressed.

    record := length varint, attributes int8, timestamp delta varint, offset delta varint,
              key length varint, key, value length varint, value, headers varint, ...
    """
    at = 0
    base_timestamp = batch.max_timestamp_ms
    for _ in range(batch.count):
        length, at = _varint(body, at)
        end = at + length
        _, at = _varint(body, at + 1)
        delta, at = _varint(body, at)
        key, at = _sized(body, at)
        value, at = _sized(body, at)
        yield _Record(batch.base_offset + delta, base_timestamp * 1000, key, value, None)
        at = end


def _partition_of(path: Path) -> tuple[str, int]:
    """The partition whose folder the file is in, for errors."""
    topic, _, number = path.absolute().parent.name.rpartition("-")
    return (topic, int(number)) if number.isdecimal() and len(number) < MOST_DIGITS else ("", 0)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7


def _sized(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _varint(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def _checkpoint_line(path: Path) -> str:
    if path.name == "bootstrap.checkpoint":
        return "KRaft bootstrap snapshot"
    named = CHECKPOINT.fullmatch(path.name)
    if named is None:
        raise KafkastoreError(f"{path} is not named as a snapshot of the metadata log")
    return f"Snapshot end offset: {int(named[1])}, epoch: {int(named[2])}"


# ---- keys and values
def _decoder(given: Namespace) -> Callable[[_Record], Words]:
    """Raises KafkastoreError for a class that is not known here."""
    from kafkastore.consuming import coordinator_records

    if given.offsets_decoder:
        kinds = {number: name for number, name in enumerate(OFFSETS.split()) if name != "-"}
        return lambda record: _of_coordinator(record, kinds)
    if given.transaction_log_decoder:
        return lambda record: _of_coordinator(record, coordinator_records.TRANSACTIONS)
    if given.share_group_state_decoder:
        return lambda record: _of_coordinator(record, coordinator_records.SHARE_STATES)
    key, value = (_of_class(name) for name in (given.key_decoder_class, given.value_decoder_class))
    return lambda record: (key(record.key), value(record.value))


def _of_class(name: str | None) -> Callable[[bytes | None], str | None]:
    if not name or name == STRINGS:
        return lambda data: None if data is None else data.decode(errors="replace")
    kind = name.removeprefix("org.apache.kafka.tools.api.").removesuffix("Decoder")
    layout = NUMBERS.get(kind)
    if layout is None:
        raise KafkastoreError(f"Failed to load decoder class {name}: it is none of Kafka's")

    def number(data: bytes | None) -> str | None:
        if data is None:
            return None
        try:
            return str(struct.unpack_from(layout, data)[0])
        except struct.error:
            raise KafkastoreError(f"{name} cannot read {len(data)} bytes") from None

    return number


def _of_coordinator(record: _Record, kinds: dict[int, str]) -> Words:
    from kafkastore.consuming.coordinator_records import record_json

    if record.key is None:
        raise KafkastoreError(
            f"Failed to decode message at offset {record.offset} using offset topic decoder (message had a missing key)"
        )
    try:
        found = record_json(kinds, record.key, record.value)
    except ValueError as error:
        return f"Error at offset {record.offset}, skipping. {error}", None
    if found is None:
        kind = int.from_bytes(record.key[:2], "big", signed=True)
        return f"Unknown record type {kind} at offset {record.offset}, skipping.", None
    key = {"type": str(found["key"]["type"]), "data": found["key"]["data"]}
    if found["value"] is None:
        return _json(key), "<DELETE>"
    data = _readable(found["value"]["data"])
    return _json(key), _json({"version": str(found["value"]["version"]), "data": data})


def _readable(data: dict[str, Any]) -> dict[str, Any]:
    """With subscriptions and assignments of consumers read, too."""
    if data.get("protocolType") == "consumer":
        from kafkastore.consuming.coordinator_records import consumer_protocol_json

        members = [
            member
            | {
                "subscription": consumer_protocol_json("ConsumerProtocolSubscription", member["subscription"]),
                "assignment": consumer_protocol_json("ConsumerProtocolAssignment", member["assignment"]),
            }
            for member in data["members"]
        ]
        return data | {"members": members}
    return data


def _json(found: dict[str, Any]) -> str:
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)
