"""Turns an error into the response of the API that was asked, as Kafka's ``AbstractRequest.getErrorResponse``.

Where the response has an error code of its own, the error goes there and every array stays empty. Otherwise each item
that the request named (a topic to create, a partition of a topic, a resource) is answered with the error. Works from
kio's dataclasses, so it needs no code per API; :data:`_PAIRS` has the arrays whose names differ in the response.
"""

from __future__ import annotations

import dataclasses
import uuid
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.interbroker.encoding import Rows, encoder_of
from kafkastore.requests.context import build_entity, schema_class

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.requests.registry import Api

    Make = Callable[[type[Any], dict[str, Any]], Any]

_PAIRS = {
    "responses": ("topics", "topic_names", "resources"),
    "results": ("topics", "resources", "groups_names", "creations"),
    "coordinators": ("coordinator_keys",),
    "filter_results": ("filters",),
    "partitions": ("partitions", "partition_indexes"),
    "replica_election_results": ("topic_partitions",),
    "partition_result": ("partitions",),
    "transaction_states": ("transactional_ids",),
}
"""Response array -> the request's arrays that it may answer; an array not listed answers the one of its own name."""

_NAMES = (
    "name",
    "group_id",
    "key",
    "partition_index",
    "partition_id",
    "partition",
    "topic",
    "transactional_id",
    "user",
)
"""The field of a response item that takes a request item which is a plain string or number."""

_REPEATED = ("topic_id", "resource_type", "resource_name", "member_id", "entity_type", "entity_name")
"""Further fields that repeat the request item's field of the same name."""

_REPEATED_ARRAYS = ("entity",)
"""Arrays beside an error code that name what has failed."""

NO_TIME = -1  # milliseconds

_ZERO_TIMES = frozenset(("transaction_start_time",))
"""Times that are 0, not NO_TIME, when they are not known, as in Kafka."""

UNEXPECTED = ErrorCode.UNKNOWN_SERVER_ERROR, KafkastoreError.text

_UNKNOWN = frozenset(
    ("node_id", "port", "generation_id", "low_watermark", "end_offset", "leader_epoch", "producer_id", "producer_epoch",
     "committed_offset", "committed_leader_epoch", "controller_id")
)  # fmt: skip
"""Numbers that are -1, not 0, when they are not known."""


def expected(error: Exception) -> tuple[int, str] | None:
    """The error code and message that the client gets for ``error``. ``None`` for a bug, which the caller logs and
    answers with :data:`UNEXPECTED`."""
    if isinstance(error, KafkastoreError):
        return error.code, error.client_message
    return (error.code, str(error)) if isinstance(error, EngineError) else None


def error_response(api: Api, version: int, request: Any, code: int, message: str | None) -> Any:
    """The response of ``api`` at ``version`` to a ``request`` that failed."""
    return _answer(schema_class(api, version, "response"), request, code, message, build_entity)


def error_answer(api: Api, version: int, request: Any, code: int, message: str | None) -> Unwritten:
    """As :func:`error_response`, but each row is made when it is written."""
    answer: Unwritten = _answer(schema_class(api, version, "response"), request, code, message, _unwritten)
    return answer


def _unwritten(entity_class: type[Any], values: dict[str, Any]) -> Any:
    return encoder_of(entity_class).unwritten(values)


def _answer(entity_class: type[Any], asked: Any, code: int, message: str | None, make: Make) -> Any:
    """One entity of the response: the fields of ``asked`` that it repeats, the error, defaults."""
    fields = {field.name: field for field in dataclasses.fields(entity_class)}
    has_error = "error_code" in fields
    values: dict[str, Any] = {}
    for name, field in fields.items():
        item_class = _item_class(field.type)
        if name == "error_code":
            values[name] = code
        elif name == "error_message":
            values[name] = message
        elif item_class is not None:
            items = () if has_error and name not in _REPEATED_ARRAYS else _asked_items(asked, name)
            values[name] = Rows(items, partial(_answer_item, item_class, code, message, make))
        elif (repeated := _repeated(asked, name, values)) is not None:
            values[name] = repeated
        else:
            values[name] = _default(name, field)
    return make(entity_class, values)


def _answer_item(item_class: type[Any], code: int, message: str | None, make: Make, item: Any) -> Any:
    return _answer(item_class, item, code, message, make)


def _asked_items(asked: Any, name: str) -> tuple[Any, ...]:
    for candidate in _PAIRS.get(name, (name,)):
        items = getattr(asked, candidate, None)
        if items is not None:
            return tuple(items)
    if hasattr(asked, "dirs"):  # AlterReplicaLogDirs names topics by directory and is answered by topic
        return tuple(topic for directory in asked.dirs for topic in directory.topics)
    if hasattr(asked, "upsertions"):  # AlterUserScramCredentials has two arrays and is answered by user
        return tuple(dict.fromkeys(one.name for one in (*asked.deletions, *asked.upsertions)))
    return ()


def _repeated(asked: Any, name: str, values: dict[str, Any]) -> Any:
    """The value that the response field ``name`` repeats from the request's item: its field of the same name, or the
    item itself. None when it repeats nothing."""
    if isinstance(asked, str | int):
        is_its_name = name in _NAMES and not any(known in values for known in _NAMES)
        return asked if is_its_name else None
    if name == "topic_name":
        return getattr(asked, "name", None)
    value = getattr(asked, name, None)
    return value if name in _NAMES or name in _REPEATED else None


def _default(name: str, field: Any) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    kind = field.type
    if type(None) in get_args(kind):
        return None
    if getattr(kind, "__origin__", None) is tuple:
        return ()
    if isinstance(kind, type):
        if issubclass(kind, bool):
            return False
        if issubclass(kind, int):
            return -1 if name in _UNKNOWN else 0
        for base, default in (
            (float, 0.0),
            (str, ""),
            (bytes, b""),
            (timedelta, 0),
            (uuid.UUID, uuid.UUID(int=0)),
            (datetime, 0 if name in _ZERO_TIMES else NO_TIME),
        ):
            if issubclass(kind, base):
                return default
        if hasattr(kind, "__dataclass_fields__"):
            return _answer(kind, None, 0, None, build_entity)
    raise AssertionError(f"kio field {name} has a type with no default: {kind}")


def _item_class(field_type: Any) -> type[Any] | None:
    """The dataclass of the items when the field is an array of entities."""
    for candidate in (field_type, *get_args(field_type)):
        if getattr(candidate, "__origin__", None) is tuple:
            item = get_args(candidate)[0]
            return item if hasattr(item, "__dataclass_fields__") else None
    return None
