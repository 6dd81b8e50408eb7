"""The most expensive forms of a request of any API, made from its schema.

A form fills one level of arrays with a number of rows: with the same name in each (``repeats``), with names that exist
(``existing``), with unknown names (``unknown``), or with a few names of 32,000 letters (``long names``); ``deep`` fills
the inner arrays of one row instead of the outermost, ``ids`` names topics by ids where the API can, ``large values``
has values of megabytes. A broker may refuse such a request.
"""

from __future__ import annotations

import dataclasses
import uuid
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

from kafkastore.interbroker.encoding import Rows, Unwritten, encoder_of
from kafkastore.requests.registry import APIS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkastore.requests.registry import Api

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
    "timeout": timedelta(seconds=60),
    "session_timeout": timedelta(seconds=30),
    "rebalance_timeout": timedelta(seconds=5),
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
    module = import_module(f"{api.schema}.v{version}.request")
    entity_class = getattr(module, f"{api.name}Request")
    return b"".join(_entity(entity_class, form, 0, 0).pieces())


def _entity(entity_class: type[Any], form: Form, depth: int, number: int) -> Unwritten:
    values = {field.name: _value(field, form, depth, number) for field in dataclasses.fields(entity_class)}
    if "topic_id" in values and "name" in values:  # only one of the two
        values["name" if form.has_ids else "topic_id"] = None
    return encoder_of(entity_class).unwritten(values)


def _value(field: Any, form: Form, depth: int, number: int) -> Any:
    if field.metadata.get("tag") is not None:
        return field.default
    annotation = _without_none(field.type)
    if get_origin(annotation) is not tuple:
        return _one(field, annotation, form, depth, number)
    if _VALUES.get(field.name, 0) is None:
        return None if _is_nullable(field.type) else ()
    item = _without_none(get_args(annotation)[0])
    is_wide = depth == (1 if form.is_deep and (depth or _has_arrays(item)) else 0)
    count = form.rows if is_wide else 1
    return Rows(range(count), lambda at: _one(field, item, form, depth + 1, at if is_wide else number))


def _has_arrays(item: Any) -> bool:
    if not dataclasses.is_dataclass(item):
        return False
    return any(
        get_origin(_without_none(field.type)) is tuple and _VALUES.get(field.name, 0) is not None
        for field in dataclasses.fields(item)
    )


def _one(field: Any, kind: Any, form: Form, depth: int, number: int) -> Any:
    if dataclasses.is_dataclass(kind):
        if field.name == "cursor":
            return None
        return _entity(kind, form, depth, number)  # type: ignore[arg-type]
    wire = field.metadata["kafka_type"]
    if wire == "string" and field.name in _NAMES:
        is_config = depth > 1 and field.name == "name" and field.type is not None and _is_config(field, depth)
        return CONFIG_NAME if is_config else form.name_of(number)
    if wire == "float64":
        return 1.0 + number
    if field.name == "value" and form.has_large_values:
        return LONG_NAME
    if field.name in _VALUES:
        return _VALUES[field.name]
    if wire == "string":
        return None if _is_nullable(field.type) else "range"
    if wire in ("bytes", "records"):
        return bytes(LARGE_BYTES) if form.has_large_values else b""
    if wire == "uuid":
        return uuid.UUID(int=number + 1)
    if wire == "bool":
        return False
    return number if field.name in ("partition_indexes", "partitions") and form.is_deep and depth > 1 else 0


def _is_config(field: Any, depth: int) -> bool:
    """Whether the field ``name`` is a key of a configuration: it is, inside a resource's or a topic's array."""
    del field
    return depth > 1


def _without_none(annotation: Any) -> Any:
    inner = [one for one in get_args(annotation) if one is not type(None)]
    return inner[0] if _is_nullable(annotation) else annotation


def _is_nullable(annotation: Any) -> bool:
    return type(None) in get_args(annotation)
