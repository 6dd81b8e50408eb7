"""Turns an error into the response of the API that was asked, as Kafka's ``AbstractRequest.getErrorResponse``.

Where the response has an error code of its own, the error goes there and every array stays empty. Otherwise each item
that the request named (a topic to create, a partition of a topic, a resource) is answered with the error. Works from
the table of messages, so it needs no code per API; :data:`_PAIRS` has the arrays whose names differ in the response.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore._core import EngineError, LazyRows, MessageField, Unwritten, message_fields, response_encoder
from kafkastore.errors import ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from kafkastore.requests.registry import Api

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

UNEXPECTED = ErrorCode.UNKNOWN_SERVER_ERROR, KafkastoreError.text

_UNKNOWN = frozenset(
    ("node_id", "port", "generation_id", "low_watermark", "end_offset", "leader_epoch", "producer_id", "producer_epoch",
     "committed_offset", "committed_leader_epoch", "controller_id", "issue_timestamp_ms", "expiry_timestamp_ms",
     "max_timestamp_ms")
)  # fmt: skip
"""Numbers that are -1, not 0, when they are not known."""


def expected(error: Exception) -> tuple[int, str] | None:
    """The error code and message that the client gets for ``error``. ``None`` for a bug, which the caller logs and
    answers with :data:`UNEXPECTED`."""
    if isinstance(error, KafkastoreError):
        return error.code, error.client_message
    return (error.code, str(error)) if isinstance(error, EngineError) else None


class _Struct(NamedTuple):
    """A struct of a response in one version; ``name`` is None for the response itself."""

    api_key: int
    message: str
    version: int
    name: str | None = None

    def nested(self, name: str | None) -> _Struct:
        return self._replace(name=name)


@cache
def _fields_of(struct: _Struct) -> list[MessageField]:
    return message_fields(struct.message, struct.version, struct.name)


def error_answer(api: Api, version: int, request: Any, code: int, message: str | None) -> Unwritten:
    """The response of ``api`` at ``version`` to a ``request`` that failed. Each row is made when it is written."""
    struct = _Struct(api.key, f"{api.name}Response", version)
    return response_encoder(api.key, version).unwritten(_answer(struct, request, code, message))


def _answer(struct: _Struct, requested: Any, code: int, message: str | None) -> dict[str, Any]:
    """One struct of the response: the fields of ``requested`` that it repeats, the error, defaults."""
    fields = _fields_of(struct)
    has_error = any(field.name == "error_code" for field in fields)
    values: dict[str, Any] = {}
    for field in fields:
        name = field.name
        if name == "error_code":
            values[name] = code
        elif name == "error_message":
            values[name] = message
        elif field.is_array and field.struct_name is not None:
            items = () if has_error and name not in _REPEATED_ARRAYS else _requested_items(requested, name)
            item = struct.nested(field.struct_name)
            values[name] = LazyRows(items, partial(_answer_item, item, code, message))
        elif (repeated := _repeated(requested, name, values)) is not None:
            values[name] = repeated
        elif not field.has_default:
            values[name] = _default(struct, field)
    return values


def _answer_item(struct: _Struct, code: int, message: str | None, item: Any) -> dict[str, Any]:
    return _answer(struct, item, code, message)


def _requested_items(requested: Any, name: str) -> tuple[Any, ...]:
    for candidate in _PAIRS.get(name, (name,)):
        items = getattr(requested, candidate, None)
        if items:
            return tuple(items)
    if hasattr(requested, "dirs"):  # AlterReplicaLogDirs names topics by directory and is answered by topic
        return tuple(topic for directory in requested.dirs for topic in directory.topics)
    if hasattr(requested, "upsertions"):  # AlterUserScramCredentials has two arrays and is answered by user
        return tuple(dict.fromkeys(one.name for one in (*requested.deletions, *requested.upsertions)))
    return ()


def _repeated(requested: Any, name: str, values: dict[str, Any]) -> Any:
    """The value that the response field ``name`` repeats from the request's item: its field of the same name, or the
    item itself. None when it repeats nothing."""
    if isinstance(requested, str | int):
        is_its_name = name in _NAMES and not any(known in values for known in _NAMES)
        return requested if is_its_name else None
    if name == "topic_name":
        return getattr(requested, "name", None)
    value = getattr(requested, name, None)
    return value if name in _NAMES or name in _REPEATED else None


_ZEROS: Final[dict[str, Any]] = {"bool": False, "int": 0, "float": 0.0, "str": "", "bytes": b"", "uuid": None}


def _default(struct: _Struct, field: MessageField) -> Any:
    """The value of a field of which the table says none."""
    if field.is_nullable:
        return None
    if field.is_array:
        return ()
    if field.struct_name is not None:
        return _answer(struct.nested(field.struct_name), None, 0, None)
    return -1 if field.name in _UNKNOWN else _ZEROS[field.kind]
