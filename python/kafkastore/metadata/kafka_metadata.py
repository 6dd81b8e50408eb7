"""What Apache Kafka's metadata log says at its end (KIP-631), for a broker that takes over a directory of Kafka's.

A directory that Kafka wrote says everything about a topic but its configuration, and nothing about who may do what;
both are in ``__cluster_metadata-0``. What cannot be understood is kept as a fault: the caller decides which of them
matter.

    value = frame version (uvarint, 0 or 1), api key (uvarint), record version (uvarint), fields, tagged fields
"""

from __future__ import annotations

import logging
import os
import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.metadata.kafka_metadata_log import DIRECTORY, Reader, record_values

if TYPE_CHECKING:
    from collections.abc import Iterable

logger = logging.getLogger("kafkastore.metadata.kafka_metadata")

_BEGIN, _END, _ABORT = 23, 24, 25
"""The records around a transaction (KIP-868)."""

_BEFORE_NEXT_PRODUCER_ID: Final = 4 + 8
"""Bytes of the broker's id and epoch."""

# org.apache.kafka.common.config.ConfigResource.Type
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32


class AclRecord(NamedTuple):
    """Numbers as in ``org.apache.kafka.common.acl`` and ``.resource``."""

    resource_type: int
    name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


class ScramRecord(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return "ScramRecord(hidden)"


class KafkasMetadata:
    """See the module."""

    def __init__(self) -> None:
        self.topics: dict[bytes, str] = {}
        """Names by topic id."""
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        """By type of resource and name (of a broker: its id, "" for all) the configuration, where there is one."""
        self.next_producer_id = 0
        """No producer has had this id or a higher one; 0 when the log names none."""
        self.acls: dict[bytes, AclRecord] = {}
        self.credentials: dict[tuple[str, int], ScramRecord] = {}
        """By user and number of the mechanism."""
        self.quotas: dict[tuple[tuple[str, str | None], ...], dict[str, float]] = {}
        """By the (type, name) of each part of the entity; the default has no name."""
        self.tokens: dict[str, tuple[str, str, str, tuple[str, ...], int, int, int]] = {}
        """By id: the id, owner, requester, renewers, and in ms when it was issued, ends at the latest, and ends."""
        self.features: dict[str, int] = {}
        self.brokers: set[int] = set()
        """The ids of those that are registered, whether they run or not."""
        self.faults: list[str] = []
        """What could not be read or understood, a sentence each."""

    def topic_configs(self) -> dict[str, dict[str, str]]:
        return {name: found for (kind, name), found in self.configs.items() if kind == TOPIC}


def read_metadata(log_dirs: Iterable[str]) -> KafkasMetadata:
    """Reads the logs of these directories, most of which have none. Blocking."""
    replay = _Replay()
    for log_dir in log_dirs:
        directory = os.path.join(log_dir, DIRECTORY)
        if os.path.isdir(directory):
            for value in record_values(directory, replay.found.faults.append):
                replay.take(value)
    for fault in replay.found.faults:
        logger.warning("%s, and is skipped", fault)
    return replay.found


class _Replay:
    def __init__(self) -> None:
        self.found = KafkasMetadata()
        self._undecided: list[bytes] | None = None
        """The records of a transaction that has not ended."""

    def take(self, value: bytes) -> None:
        reader = Reader(value)
        kind = version = -1
        try:
            reader.uvarint()
            kind, version = reader.uvarint(), reader.uvarint()
            if kind == _BEGIN:
                self._undecided = []
            elif kind in (_END, _ABORT):
                decided, self._undecided = self._undecided or [], None
                for one in decided if kind == _END else ():
                    self.take(one)
            elif self._undecided is not None:
                self._undecided.append(value)
            elif kind in _RECORDS:
                _RECORDS[kind](self, reader)
        except (IndexError, UnicodeDecodeError):
            fault = f"a record of kind {kind}, version {version}, in {DIRECTORY} cannot be understood"
            self.found.faults.append(fault)


# ---- records, all of version 0 or with further fields behind those of it
def _broker(replay: _Replay, reader: Reader) -> None:
    replay.found.brokers.add(reader.number(4))


def _remove_broker(replay: _Replay, reader: Reader) -> None:
    replay.found.brokers.discard(reader.number(4))


def _topic(replay: _Replay, reader: Reader) -> None:
    name = _text(reader)
    replay.found.topics[reader.take(16)] = name
    replay.found.configs.pop((TOPIC, name), None)


def _remove_topic(replay: _Replay, reader: Reader) -> None:
    replay.found.configs.pop((TOPIC, replay.found.topics.pop(reader.take(16), "")), None)


def _config(replay: _Replay, reader: Reader) -> None:
    resource = reader.number(1), _text(reader)
    key, value = _text(reader), reader.compact_string()
    _set(replay.found.configs, resource, key, value)


def _producer_ids(replay: _Replay, reader: Reader) -> None:
    reader.take(_BEFORE_NEXT_PRODUCER_ID)
    replay.found.next_producer_id = reader.number(8)


def _acl(replay: _Replay, reader: Reader) -> None:
    acl_id, resource_type, name = reader.take(16), reader.number(1), _text(reader)
    pattern_type, principal, host = reader.number(1), _text(reader), _text(reader)
    operation, permission = reader.number(1), reader.number(1)
    replay.found.acls[acl_id] = AclRecord(resource_type, name, pattern_type, principal, host, operation, permission)


def _remove_acl(replay: _Replay, reader: Reader) -> None:
    replay.found.acls.pop(reader.take(16), None)


def _scram(replay: _Replay, reader: Reader) -> None:
    who = _text(reader), reader.number(1)
    salt, stored_key, server_key = (reader.compact_bytes() or b"" for _ in range(3))
    replay.found.credentials[who] = ScramRecord(salt, stored_key, server_key, reader.number(4))


def _remove_scram(replay: _Replay, reader: Reader) -> None:
    replay.found.credentials.pop((_text(reader), reader.number(1)), None)


def _quota(replay: _Replay, reader: Reader) -> None:
    parts = []
    for _ in range(reader.uvarint() - 1):
        parts.append((_text(reader), reader.compact_string()))
        reader.tagged_fields()
    key = _text(reader)
    (value,) = struct.unpack(">d", reader.take(8))
    is_removed = reader.number(1) != 0
    _set(replay.found.quotas, tuple(parts), key, None if is_removed else value)


def _token(replay: _Replay, reader: Reader) -> None:
    owner, requester = _text(reader), _text(reader)
    renewers = tuple(_text(reader) for _ in range(reader.uvarint() - 1))
    times = reader.number(8), reader.number(8), reader.number(8)
    token_id = _text(reader)
    replay.found.tokens[token_id] = (token_id, owner, requester, renewers, *times)


def _remove_token(replay: _Replay, reader: Reader) -> None:
    replay.found.tokens.pop(_text(reader), None)


def _feature(replay: _Replay, reader: Reader) -> None:
    name = _text(reader)
    replay.found.features[name] = reader.number(2)


_RECORDS: Final = {
    0: _broker,
    1: _remove_broker,
    2: _topic,
    4: _config,
    9: _remove_topic,
    10: _token,
    11: _scram,
    12: _feature,
    14: _quota,
    15: _producer_ids,
    18: _acl,
    19: _remove_acl,
    22: _remove_scram,
    26: _remove_token,
}


def _text(reader: Reader) -> str:
    return reader.compact_string() or ""


def _set(among: dict[Any, dict[str, Any]], of: object, key: str, value: object | None) -> None:
    """Sets or, for None, removes a value of what has values; nothing is kept of what has none."""
    values = among.setdefault(of, {})
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
    if not values:
        del among[of]
