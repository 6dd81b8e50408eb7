"""Whole lines of a stream as they come: many together where there are many, at once where one is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES: Final = 1 << 18


def chunks_of_lines(stream: BinaryIO) -> Iterator[list[bytes]]:
    """Lines without their ends: a line feed, with a carriage return before it or without. The last line needs none."""
    pieces: list[bytes] = []
    read = getattr(stream, "read1", stream.read)
    while chunk := read(CHUNK_BYTES):
        whole, end, rest = chunk.rpartition(b"\n")
        if not end:
            pieces.append(chunk)
            continue
        lines = b"".join((*pieces, whole)).split(b"\n")
        pieces = [rest] if rest else []
        yield [line.removesuffix(b"\r") for line in lines] if b"\r" in whole else lines
    if pieces:
        yield [b"".join(pieces).removesuffix(b"\r")]


def chunks_of_records(stream: BinaryIO, delimiter: bytes) -> Iterator[list[bytes]]:
    """The same with another delimiter, which may come in two halves; what is behind the last one is a record unless it
    is empty."""
    rest = b""
    read = getattr(stream, "read1", stream.read)
    while chunk := read(CHUNK_BYTES):
        *records, rest = (rest + chunk).split(delimiter)
        if records:
            yield records
    if rest.removesuffix(b"\n"):
        yield [rest.removesuffix(b"\n")]
