"""The most expensive forms of a request of any API, made from the table of messages.

A form fills one level of arrays with a number of rows: with the same name in each (``repeats``), with names that exist
(``existing``), with unknown names (``unknown``), or with a few names of 32,000 letters (``long names``); ``deep`` fills
the inner arrays of one row instead of the outermost, ``ids`` names topics by ids where the API can, ``large values``
has values of megabytes. A broker may refuse such a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kafkastore._core import LazyRows, MessageField, message_encoder, message_fields
from kafkastore.requests.registry import APIS, Api

LONG_NAME = "n" * 32_000
LONG_NAMES = 30

_NAMES = frozenset(
    ("name", "topic", "topic_name", "resource_name", "group_id", "key", "topics", "groups", "groups_names",
     "topic_names", "coordinator_keys", "states_filter", "types_filter")
)  # fmt: skip
"""Fields that get the names of the form; other strings are empty, or as in :data:`_VALUES`."""

_VALUES: dict[str, Any] = {
    "resource_type": 2,
    "num_partitions": -1,
    "replication_factor": -1,
    "count": 2,
    "path": "/nowhere",
    "resource_types": 2,
    "configuration_keys": None,
    "assignments": None,
    "member_id": "",
    "response_partition_limit": 2**31 - 1,
    "broker_ids": 1,
    "replicas": 1,
    "value": "1000",
    "key_type": 0,
    "timeout_ms": 60_000,
    "session_timeout_ms": 30_000,
    "rebalance_timeout_ms": 5_000,
    "include_synonyms": True,
    "include_documentation": True,
}

CONFIG_NAME = "retention.ms"


MAX_ROWS = {
    "CreateTopics": 9_000,
    "CreatePartitions": 9_000,
    "AlterConfigs": 29_000,
    "IncrementalAlterConfigs": 29_000,
    "DeleteTopics": 39_000,
    "CreateAcls": 59_000,
}
"""The most outermost rows of APIs that refuse larger requests as a whole."""

LARGE_BYTES = 1_000_000


class Form(NamedTuple):
    name: str
    rows: int
    is_deep: bool
    name_of: Callable[[int], str]
    has_ids: bool = False
    has_large_values: bool = False


class Expensive(NamedTuple):
    """A request, ready to be sent."""

    api: Api
    version: int
    form: str
    body: bytes


def forms(rows: int, existing: int) -> list[Form]:
    """All forms, with ``rows`` rows; the topics t0, t1 ... up to the number ``existing`` exist."""
    return [
        Form("repeats", rows, False, lambda _: "t0"),
        Form("existing", min(rows, existing), False, lambda number: f"t{number}"),
        Form("unknown", rows, False, lambda number: f"u{number}"),
        Form("long names", LONG_NAMES, False, lambda number: f"{number}{LONG_NAME}"),
        Form("deep", rows, True, lambda _: "t0"),
        Form("ids", rows, False, lambda number: f"t{number}", has_ids=True),
        Form("large values", 1, False, lambda _: "t0", has_large_values=True),
    ]


def requests(rows: int, existing: int, names: frozenset[str] | None = None) -> Iterator[Expensive]:
    """Requests of every API that the control plane serves, at its newest version, in every form that differs."""
    for api in APIS:
        if (api.plane != "control" and api.name != "Metadata") or (names and api.name not in names):
            continue
        seen: set[bytes] = set()
        for form in forms(min(rows, MAX_ROWS.get(api.name, rows)), existing):
            body = body_of(api, api.max_version, form)
            if body not in seen:
                seen.add(body)
                yield Expensive(api, api.max_version, form.name, body)


def body_of(api: Api, version: int, form: Form) -> bytes:
    message = f"{api.name}Request"
    return message_encoder(message, version).row(_Maker(message, version, form).struct(None, 0, 0))


class _Maker(NamedTuple):
    """Makes the structs of one request in one form."""

    message: str
    version: int
    form: Form

    def struct(self, name: str | None, depth: int, number: int) -> dict[str, Any]:
        values = {field.name: self._value(field, depth, number) for field in self._fields_of(name)}
        if "topic_id" in values and "name" in values:  # only one of the two
            values["name" if self.form.has_ids else "topic_id"] = None
        return values

    def _fields_of(self, name: str | None) -> list[MessageField]:
        return message_fields(self.message, self.version, name)

    def _value(self, field: MessageField, depth: int, number: int) -> Any:
        if not field.is_array:
            return self._one(field, depth, number)
        if _is_left_out(field):
            return None if field.is_nullable else ()
        is_wide = depth == (1 if self.form.is_deep and (depth or self._has_arrays(field)) else 0)
        count = self.form.rows if is_wide else 1
        return LazyRows(range(count), lambda at: self._one(field, depth + 1, at if is_wide else number))

    def _has_arrays(self, field: MessageField) -> bool:
        """Whether the array's elements have arrays of their own."""
        if field.struct_name is None:
            return False
        return any(inner.is_array and not _is_left_out(inner) for inner in self._fields_of(field.struct_name))

    def _one(self, field: MessageField, depth: int, number: int) -> Any:
        if field.struct_name is not None:
            return None if field.name == "cursor" else self.struct(field.struct_name, depth, number)
        return self._primitive(field, depth, number)

    def _primitive(self, field: MessageField, depth: int, number: int) -> Any:
        form, kind = self.form, field.kind
        if kind == "str" and field.name in _NAMES:
            is_config = depth > 1 and field.name == "name"  # inside the array of a resource or of a topic
            return CONFIG_NAME if is_config else form.name_of(number)
        if kind == "float":
            return 1.0 + number
        if field.name == "value" and form.has_large_values:
            return LONG_NAME
        if field.name in _VALUES:
            return _VALUES[field.name]
        if kind == "str":
            return None if field.is_nullable else "range"
        if kind == "int":
            return number if field.name in ("partition_indexes", "partitions") and form.is_deep and depth > 1 else 0
        large = bytes(LARGE_BYTES) if form.has_large_values else b""
        return {"bytes": large, "uuid": (number + 1).to_bytes(16), "bool": False}[kind]


def _is_left_out(field: MessageField) -> bool:
    return _VALUES.get(field.name, 0) is None
