"""A message as bytes that were put together by hand, written and read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkastore._core import decode_message, message_encoder
from unit.plain_messages import plain


def check_both_ways(message: str, version: int, given: Mapping[str, Any], text: str) -> None:
    """``given`` is written as the hexadecimal ``text``, which is read as ``given`` and written as itself again."""
    body, encoder = bytes.fromhex(text), message_encoder(message, version)
    assert encoder.row(dict(given)).hex() == body.hex()
    read = decode_message(message, version, body)
    _check_fields(plain(read), given)
    assert encoder.bytes_of(read).hex() == body.hex()


def _check_fields(read: Any, given: Any) -> None:
    if isinstance(given, dict):
        for name, value in given.items():
            _check_fields(read[name], value)
    elif isinstance(given, list | tuple):
        for one, wanted in zip(read, given, strict=True):
            _check_fields(one, wanted)
    else:
        assert read == given
