"""A line as a record, as Kafka's LineMessageReader takes it apart: headers, a key and a value with separators between
them, and a text that stands for null. Keys are that reader's properties."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    Headers = list[tuple[str, bytes | None]]

SEPARATORS: Final = (
    ("null.marker", "key.separator"),
    ("null.marker", "headers.separator"),
    ("null.marker", "headers.delimiter"),
    ("null.marker", "headers.key.separator"),
    ("headers.delimiter", "headers.separator"),
    ("headers.delimiter", "headers.key.separator"),
    ("headers.separator", "headers.key.separator"),
)
"""Properties that may not be equal."""


class LineError(KafkastoreError):
    """A line that is no record: one sentence, Kafka's own."""


class ParsedLine(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: Headers


class LineParser:
    """See the module."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Raises LineError for separators that cannot be told from each other."""
        given = {
            "key.separator": "\t",
            "headers.delimiter": "\t",
            "headers.separator": ",",
            "headers.key.separator": ":",
            **properties,
        }
        for one, other in SEPARATORS:
            if given.get(one) == given[other]:
                raise LineError(f"{one} and {other} may not be equal")
        self.has_key, self.has_headers, self._ignores_errors = (
            given.get(key, "").strip().lower() == "true" for key in ("parse.key", "parse.headers", "ignore.error")
        )
        self._key_separator = given["key.separator"].encode(errors="surrogateescape")
        self._headers_end = given["headers.delimiter"].encode(errors="surrogateescape")
        try:
            self._between_headers = re.compile(given["headers.separator"])
        except re.error as error:
            raise LineError(f"headers.separator {given['headers.separator']}: {error}") from None
        self._behind_name = given["headers.key.separator"]
        self._null = given.get("null.marker")
        self._null_bytes = None if self._null is None else self._null.encode(errors="surrogateescape")

    @property
    def is_plain(self) -> bool:
        """Whether each line is a value as it is."""
        return not (self.has_key or self.has_headers) and self._null is None

    def parse(self, line: bytes, number: int) -> ParsedLine:
        """The record of a line; ``number`` counts from 1. Raises LineError."""
        headers, rest = self._cut(line, line, self._headers_end, "headers delimiter", number, self.has_headers)
        key, value = self._cut(rest, line, self._key_separator, "key separator", number, self.has_key)
        no_headers = headers is None or headers == self._null_bytes
        return ParsedLine(
            None if key == self._null_bytes else key,
            None if value == self._null_bytes else value,
            [] if no_headers or headers is None else self._headers(headers.decode(errors="replace"), number),
        )

    def _cut(
        self, text: bytes, line: bytes, end: bytes, what: str, number: int, is_wanted: bool
    ) -> tuple[bytes | None, bytes]:
        if not is_wanted:
            return None, text
        cut, found, rest = text.partition(end)
        if found:
            return cut, rest
        if self._ignores_errors:
            return None, text
        shown = line.decode(errors="replace")
        raise LineError(f"No {what} found on line number {number}: '{shown}'")

    def _headers(self, text: str, number: int) -> Headers:
        found: Headers = []
        pairs = self._between_headers.split(text)
        while len(pairs) > 1 and not pairs[-1]:  # as Java's split
            pairs.pop()
        for pair in pairs:
            name, separator, value = pair.partition(self._behind_name)
            if not separator:
                if not self._ignores_errors:
                    raise LineError(f"No header key separator found in pair '{pair}' on line number {number}")
                found.append((pair, None))
                continue
            if name == self._null:
                raise LineError(f"Header keys should not be equal to the null marker '{name}' as they can't be null")
            found.append((name, None if value == self._null else value.encode()))
        return found
