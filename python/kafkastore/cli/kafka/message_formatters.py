"""Records as ``kafka-console-consumer`` prints them: Kafka's formatters by the names of their classes, each a function
from fetched records to bytes."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kafkastore.cli.kafka.deserializers import DeserializeError, deserializer_of
from kafkastore.cli.kafka.flags import FlagsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kafkastore._core import FetchedRecord, FetchedRecords
    from kafkastore.cli.kafka.deserializers import Deserializer

    OneRecord = Callable[[FetchedRecords, FetchedRecord], bytes]

PACKAGES: Final = (
    "org.apache.kafka.tools.consumer.",
    "org.apache.kafka.tools.consumer.group.share.",
    "kafka.tools.",
)
DEFAULT: Final = "DefaultMessageFormatter"
NO_TIMESTAMP: Final = "NoTimestampType"


class FormatError(Exception):
    """A record that cannot be printed: the sentence."""


class Formatter(Protocol):
    """``whole`` are the bytes of all records at once, where no record can fail; None where each is to be asked for."""

    def whole(self, fetched: FetchedRecords) -> bytes | None: ...

    def one(self, fetched: FetchedRecords, record: FetchedRecord) -> bytes:
        """Raises FormatError."""
        ...


def formatter_of(name: str, configs: Mapping[str, str], warn: Callable[[str], None]) -> Formatter:
    """Raises FlagsError for a class that is none of Kafka's formatters."""
    from kafkastore.consuming import coordinator_records as kinds

    short = next((name.removeprefix(package) for package in PACKAGES if name.startswith(package)), "")
    if short == DEFAULT:
        return TextFormatter(configs, warn)
    if short == "LoggingMessageFormatter":
        return LoggingFormatter(configs, warn)
    if short == "NoOpMessageFormatter":
        return NoFormatter()
    of_coordinators = {
        "OffsetsMessageFormatter": kinds.OFFSETS,
        "GroupMetadataMessageFormatter": kinds.GROUPS,
        "TransactionLogMessageFormatter": kinds.TRANSACTIONS,
        "ShareGroupMessageFormatter": kinds.SHARE_GROUPS,
        "ShareGroupStateMessageFormatter": kinds.SHARE_STATES,
    }
    if short in of_coordinators:
        return CoordinatorFormatter(of_coordinators[short])
    raise FlagsError(name)


class _Fields(NamedTuple):
    """What of a record is printed, in this order."""

    timestamp: bool
    partition: bool
    offset: bool
    delivery: bool
    epoch: bool
    headers: bool
    key: bool
    value: bool


ONLY_VALUE: Final = _Fields(*[name == "value" for name in _Fields._fields])


class TextFormatter:
    """Fields of a record, separated; Kafka's DefaultMessageFormatter."""

    def __init__(self, configs: Mapping[str, str], warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._fields = _Fields(
            *(_is_true(configs.get(f"print.{name}", str(name == "value"))) for name in _Fields._fields)
        )
        self._between = configs.get("key.separator", "\t").encode(errors="surrogateescape")
        self._behind = configs.get("line.separator", "\n").encode(errors="surrogateescape")
        self._between_headers = configs.get("headers.separator", ",").encode(errors="surrogateescape")
        self._null = configs.get("null.literal", "null").encode(errors="surrogateescape")
        self._key, self._value, self._header = (
            self._deserializer(configs, key)
            for key in ("key.deserializer", "value.deserializer", "headers.deserializer")
        )
        self._is_plain = self._fields == ONLY_VALUE and self._value is None

    def _deserializer(self, configs: Mapping[str, str], key: str) -> Deserializer | None:
        name = configs.get(key)
        if not name:
            return None
        own = {one.removeprefix(f"{key}."): value for one, value in configs.items() if one.startswith(f"{key}.")}
        found = deserializer_of(name, own)
        if found is None:
            self._warn(f"Unable to instantiate a deserializer from {name}: it is none of Kafka's")
        return found

    def whole(self, fetched: FetchedRecords) -> bytes | None:
        if not self._is_plain:
            return None
        values = fetched.values()
        lines = [self._null if value is None else value for value in values]
        lines.append(b"")
        return self._behind.join(lines)

    def one(self, fetched: FetchedRecords, record: FetchedRecord) -> bytes:
        try:
            words = list(self._words(fetched, record))
        except DeserializeError as error:
            raise FormatError(str(error)) from None
        return self._between.join(words) + (self._behind if words else b"")

    def _words(self, fetched: FetchedRecords, record: FetchedRecord) -> Iterator[bytes]:
        fields = self._fields
        if fields.timestamp:
            kind = record.timestamp_type
            yield b"NO_TIMESTAMP" if kind == NO_TIMESTAMP else f"{kind}:{record.timestamp_ms}".encode()
        if fields.partition:
            yield b"Partition:%d" % fetched.partition
        if fields.offset:
            yield b"Offset:%d" % record.offset
        if fields.delivery:
            yield b"Delivery:NOT_PRESENT"
        if fields.epoch:  # Kafka's tool does not pass it on
            yield b"Epoch:NOT_PRESENT"
        if fields.headers:
            headers = [name.encode() + b":" + self._text(self._header, value) for name, value in record.headers]
            yield self._between_headers.join(headers) if headers else b"NO_HEADERS"
        if fields.key:
            yield self._text(self._key, record.key)
        if fields.value:
            yield self._text(self._value, record.value)

    def _text(self, deserializer: Deserializer | None, data: bytes | None) -> bytes:
        given = self._null if data is None else data
        return given if deserializer is None else deserializer(given)


class LoggingFormatter(TextFormatter):
    """The same, and each record in the log, which is stderr here."""

    def whole(self, fetched: FetchedRecords) -> bytes | None:  # noqa: ARG002 - each is logged
        return None

    def one(self, fetched: FetchedRecords, record: FetchedRecord) -> bytes:
        printed = super().one(fetched, record)
        kind = record.timestamp_type
        time = "" if kind == NO_TIMESTAMP else f"{kind}:{record.timestamp_ms}, "
        key = "key:null " if record.key is None else f"key:{record.key.decode(errors='replace')}, "
        value = "null" if record.value is None else record.value.decode(errors="replace")
        self._warn(f"[{datetime.now().astimezone():%Y-%m-%d %H:%M:%S},000] INFO {time}{key}value:{value}")
        return printed


class NoFormatter:
    """Nothing."""

    def whole(self, fetched: FetchedRecords) -> bytes | None:  # noqa: ARG002 - nothing is printed of them
        return b""

    def one(self, fetched: FetchedRecords, record: FetchedRecord) -> bytes:  # noqa: ARG002 - as above
        return b""


class CoordinatorFormatter:
    """Records of a coordinator's topic as JSON; records of other kinds are left out. There is nothing between them."""

    def __init__(self, kinds: dict[int, str]) -> None:
        self._kinds = kinds

    def whole(self, fetched: FetchedRecords) -> bytes | None:  # noqa: ARG002 - each may be malformed
        return None

    def one(self, fetched: FetchedRecords, record: FetchedRecord) -> bytes:  # noqa: ARG002 - its place is not printed
        from kafkastore.consuming.coordinator_records import record_json

        if record.key is None:
            return b""
        try:
            found = record_json(self._kinds, record.key, record.value)
        except ValueError as error:
            raise FormatError(f"Could not read record at offset {record.offset} due to: {error}") from None
        return b"" if found is None else json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def _is_true(text: str) -> bool:
    return text.strip().lower() == "true"
