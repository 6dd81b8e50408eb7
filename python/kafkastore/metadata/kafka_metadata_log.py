"""Reads topic configurations out of Apache Kafka's own metadata log (``__cluster_metadata-0``), when a directory has one.

A directory that Kafka wrote says everything about a topic but its configuration; without it a compacted topic would be
served, and cleaned, as one with seven days of retention. Nothing is ever written here, and what cannot be understood is
skipped: the formats below are Kafka 4's (KIP-631).

    record value = frame version (uvarint, 0 or 1), api key (uvarint), record version (uvarint), fields, tagged fields
    ConfigRecord (4)      = resource type int8 (2 is a topic), resource name, name, value (compact strings; value nullable)
    RemoveTopicRecord (9) = topic id (uuid)
    TopicRecord (2)       = name (compact string), topic id (uuid)
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kafkastore._core import EngineError

if TYPE_CHECKING:
    from kafkastore._core import Engine

logger = logging.getLogger("kafkastore.metadata.kafka_metadata_log")

TOPIC: Final = "__cluster_metadata"
READ_BYTES: Final = 1 << 20
_TOPIC_RECORD, _CONFIG_RECORD, _REMOVE_TOPIC_RECORD = 2, 4, 9
_TOPIC_RESOURCE = 2


def read_topic_configs(engine: Engine) -> dict[str, dict[str, str]]:
    """Topic -> its own configuration, as of the end of the log; empty when there is no such log. Blocking."""
    if not any(topic == TOPIC for topic, *_ in engine.logs()):
        return {}
    replay = _Replay()
    try:
        offset = next(start for topic, _, _, _, start, _ in engine.logs() if topic == TOPIC)
        records, following = engine.read_records(TOPIC, 0, offset, READ_BYTES)
        while records:
            for _, _, _, value, is_control in records:
                if value and not is_control:
                    replay.apply(value)
            records, following = engine.read_records(TOPIC, 0, following, READ_BYTES)
    except EngineError as error:
        logger.warning("%s cannot be read to its end, topics may lack their configuration: %s", TOPIC, error)
    return replay.configs


class _Replay:
    def __init__(self) -> None:
        self.configs: dict[str, dict[str, str]] = {}
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
        except (IndexError, UnicodeDecodeError):
            logger.warning("A record of %s cannot be understood and is skipped", TOPIC)

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

    def compact_string(self) -> str | None:
        length = self.uvarint()
        return None if length == 0 else self.take(length - 1).decode()
