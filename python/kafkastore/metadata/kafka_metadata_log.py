"""Reads topic configurations and the next producer id out of Apache Kafka's own metadata log
(``__cluster_metadata-0``), when a directory has one.

A directory that Kafka wrote says everything about a topic but its configuration; without it a compacted topic would be
served, and cleaned, as one with seven days of retention. Nothing is ever written here, and what cannot be understood is
skipped: the formats below are Kafka 4's (KIP-631). The engine leaves the directory to Kafka, so its files are read
here, once, when topics are adopted: the latest snapshot, then the batches after it.

    file   = batch*               ``<end offset>-<epoch>.checkpoint`` (snapshot), ``<base offset>.log``
    batch  = base offset int64, length int32, … attributes int16 (at 21), … record count int32 (at 57), record*
    record = length, attributes int8, timestamp delta, offset delta, key length, key, value length, value, …
             (zigzag varints)
    value  = frame version (uvarint, 0 or 1), api key (uvarint), record version (uvarint), fields, tagged fields
    ConfigRecord (4)      = resource type int8 (2 is a topic), resource name, name, value
                            (compact strings; value nullable)
    RemoveTopicRecord (9) = topic id (uuid)
    TopicRecord (2)       = name (compact string), topic id (uuid)
    ProducerIdsRecord (15) = broker id int32, broker epoch int64, next producer id int64
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.plain_files import open_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

logger = logging.getLogger("kafkastore.metadata.kafka_metadata_log")

DIRECTORY: Final = "__cluster_metadata-0"
_TOPIC_RECORD, _CONFIG_RECORD, _REMOVE_TOPIC_RECORD, _PRODUCER_IDS_RECORD = 2, 4, 9, 15
_BEFORE_NEXT_PRODUCER_ID = 4 + 8
"""Bytes of the broker's id and epoch."""
_TOPIC_RESOURCE = 2
_BATCH_HEADER, _LOG_OVERHEAD = 61, 12
_CODEC_OR_CONTROL = 0x07 | 0x20
"""Attributes of batches without metadata records: control batches; and compressed ones, which Kafka does not write
here."""


class KafkasMetadata(NamedTuple):
    """What the end of the log says."""

    configs: dict[str, dict[str, str]]
    """The configuration of each topic that has one of its own."""
    next_producer_id: int
    """No producer has had this id or a higher one; 0 when the log names none."""


def read_metadata(log_dirs: Iterable[str]) -> KafkasMetadata:
    """Reads the logs of these directories, most of which have none. Blocking."""
    replay = _Replay()
    for log_dir in log_dirs:
        directory = os.path.join(log_dir, DIRECTORY)
        if os.path.isdir(directory):
            for value in _values(directory):
                replay.apply(value)
    return KafkasMetadata(replay.configs, replay.next_producer_id)


def _values(directory: str) -> Iterator[bytes]:
    """Record values in order."""
    names = sorted(os.listdir(directory))
    snapshots = [name for name in names if name.endswith(".checkpoint") and name[:20].isdigit()]
    start = 0
    if snapshots:
        start = int(snapshots[-1][:20])
        yield from _values_of_file(os.path.join(directory, snapshots[-1]), 0)
    for name in names:
        if name.endswith(".log"):
            yield from _values_of_file(os.path.join(directory, name), start)


def _values_of_file(path: str, start_offset: int) -> Iterator[bytes]:
    """Record values of the batches from ``start_offset`` on; a torn batch at the end is the end."""
    try:
        with open(path, "rb", opener=open_plain) as file:
            data = file.read()
    except OSError as error:
        logger.warning("%s cannot be read, topics may lack their configuration: %s", path, error.strerror)
        return
    position = 0
    while position + _BATCH_HEADER <= len(data):
        end = position + _LOG_OVERHEAD + int.from_bytes(data[position + 8 : position + 12], "big")
        if not position + _BATCH_HEADER <= end <= len(data):
            return
        attributes = int.from_bytes(data[position + 21 : position + 23], "big")
        is_after = int.from_bytes(data[position : position + 8], "big") >= start_offset
        if is_after and not attributes & _CODEC_OR_CONTROL:
            yield from _values_of_batch(data[position:end])
        position = end


def _values_of_batch(batch: bytes) -> Iterator[bytes]:
    reader = _Reader(batch)
    reader.position = _BATCH_HEADER
    try:
        for _ in range(int.from_bytes(batch[57:61], "big")):
            length = reader.varint()
            following = reader.position + length
            reader.take(1)
            reader.varint()
            reader.varint()
            reader.take(max(reader.varint(), 0))
            yield reader.take(max(reader.varint(), 0))
            reader.position = following
    except IndexError:
        logger.warning("A batch of %s cannot be understood and is skipped", DIRECTORY)


class _Replay:
    def __init__(self) -> None:
        self.configs: dict[str, dict[str, str]] = {}
        self.next_producer_id = 0
        self._names: dict[bytes, str] = {}

    def apply(self, value: bytes) -> None:
        reader = _Reader(value)
        try:
            reader.uvarint()
            kind = reader.uvarint()
            reader.uvarint()
            if kind == _TOPIC_RECORD:
                name = reader.compact_string() or ""
                self._names[reader.take(16)] = name
                self.configs.pop(name, None)
            elif kind == _REMOVE_TOPIC_RECORD:
                self.configs.pop(self._names.pop(reader.take(16), ""), None)
            elif kind == _CONFIG_RECORD and reader.take(1)[0] == _TOPIC_RESOURCE:
                topic, key, text = reader.compact_string(), reader.compact_string(), reader.compact_string()
                self._set(topic or "", key or "", text)
            elif kind == _PRODUCER_IDS_RECORD:
                reader.take(_BEFORE_NEXT_PRODUCER_ID)
                self.next_producer_id = int.from_bytes(reader.take(8), "big", signed=True)
        except (IndexError, UnicodeDecodeError):
            logger.warning("A record of %s cannot be understood and is skipped", DIRECTORY)

    def _set(self, topic: str, key: str, value: str | None) -> None:
        configs = self.configs.setdefault(topic, {})
        if value is None:
            configs.pop(key, None)
        else:
            configs[key] = value


class _Reader:
    """Raises IndexError at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        found = self.data[self.position : self.position + count]
        if len(found) < count:
            raise IndexError
        self.position += count
        return found

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

    def compact_string(self) -> str | None:
        length = self.uvarint()
        return None if length == 0 else self.take(length - 1).decode()
