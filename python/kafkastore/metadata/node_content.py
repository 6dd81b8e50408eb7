"""Reads the JSON of a node, which any user of the store may have written, and says what is invalid in it.

Each function gives a value of the right kind or raises :class:`InvalidNodeError` with one sentence; the caller reports
the node, leaves it out and goes on with the others. Nothing here guesses what was meant, and no node is written.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any, Final

from kafkastore.errors import KafkastoreError
from kafkastore.topic_names import can_be_topic

logger = logging.getLogger("kafkastore.metadata.node_content")

LARGEST = 2**31 - 1
"""The largest id or epoch: they are sent as int32."""

SHOWN_CHARACTERS = 80

_HALVES: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""Halves of surrogate pairs: text if they are pairs."""


class InvalidNodeError(KafkastoreError):
    """A node's content is invalid; the message says why."""


def report(path: str, consequence: str, error: KafkastoreError) -> None:
    """Logs an invalid node: one line at level ERROR, for all nodes from this logger."""
    logger.error("%s is invalid, %s: %s", path, consequence, error)


def json_object(data: bytes) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidNodeError(f"{shown(data.decode(errors='replace'))!r} is not JSON") from None
    if not isinstance(content, dict):
        raise InvalidNodeError(f"{shown(content)} is no object")
    if _HALVES.search(data) is not None:
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InvalidNodeError("it has half a surrogate pair, which is no text") from None
    return content


def number(content: dict[str, Any], key: str, least: int = 0, most: int = LARGEST) -> int:
    value = content.get(key)
    if not _is_number(value, least, most):
        raise InvalidNodeError(f"{key} is {shown(value)}, which is no number from {least} to {most}")
    return int(value)  # type: ignore[arg-type]  # it is one


def decimal(text: bytes | str, what: str, least: int = 0, most: int = LARGEST) -> int:
    """A number that is written as text: the name of a node, or all of its content."""
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise InvalidNodeError(
            f"{what} is {shown(text.decode(errors='replace') if isinstance(text, bytes) else text)!r}"
        )
    return value


def ids(value: object, what: str) -> tuple[int, ...]:
    """A list of ids, none twice."""
    is_right = isinstance(value, list) and all(_is_number(one, 0, LARGEST) for one in value)
    if not is_right or len(set(value)) != len(value):  # type: ignore[arg-type, call-overload]  # is_right says so
        raise InvalidNodeError(f"{what} is {shown(value)}, which is no list of ids")
    return tuple(value)  # type: ignore[arg-type]


def check_topic_name(name: str) -> None:
    if not can_be_topic(name):
        raise InvalidNodeError("no topic can have this name")


def mapping(content: dict[str, Any], key: str) -> dict[str, Any]:
    """An object below ``key``; an empty one when there is none."""
    value = content.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidNodeError(f"{key} is {shown(value)}, which is no object")
    return value


def text(content: dict[str, Any], key: str) -> str:
    value = content.get(key)
    if not isinstance(value, str):
        raise InvalidNodeError(f"{key} is {shown(value)}, which is no text")
    return value


def shown(value: object) -> str:
    full_text = value if isinstance(value, str) else json.dumps(value)
    return full_text if len(full_text) <= SHOWN_CHARACTERS else full_text[:SHOWN_CHARACTERS] + "…"


def _is_number(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
