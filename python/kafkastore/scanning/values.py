"""The arguments of a scan that are about parsed values, as the one text that ``_core`` reads with.

Names of options are those of ``format("kafkastore")`` in Spark; ``_core`` checks them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kafkastore import _core

if TYPE_CHECKING:
    from collections.abc import Mapping

ARGUMENTS = {"valueformat": "value_format", "valueschema": "value_schema"}
"""Options that are arguments of their own."""


def as_value_spec(
    topic: str, value_format: str | None, value_schema: object | None, value_options: Mapping[str, str] | None
) -> str | None:
    """How values are parsed; None when they stay bytes. ValueError or TypeError for a mistake, ConnectionError when the
    schema registry cannot be asked."""
    if value_format is None:
        for name, given in (("value_schema", value_schema), ("value_options", value_options)):
            if given is not None:
                raise ValueError(f"{name}: means nothing without value_format; say json, csv, avro or protobuf")
        return None
    options = {"subscribe": topic, "valueFormat": _as_text("value_format", value_format)}
    for name, value in (value_options or {}).items():
        if name.lower() in ARGUMENTS:
            raise ValueError(f"value_options: {name} is the argument {ARGUMENTS[name.lower()]}; give it there")
        options[_as_text("value_options", name)] = _as_text(f"value_options: {name}", value)
    if value_schema is None or isinstance(value_schema, str):
        return _core.value_spec(options | ({"valueSchema": value_schema} if value_schema else {}))
    if not hasattr(value_schema, "__arrow_c_schema__"):
        raise TypeError(
            f"value_schema: {type(value_schema).__name__} is neither text nor a schema of Arrow; give one of them"
        )
    return _core.value_spec(options, value_schema)


def drops_records(spec: str | None) -> bool:
    """Whether malformed values leave their records out."""
    return spec is not None and json.loads(spec)["mode"] == "DROPMALFORMED"


def _as_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: {value!r} is no text; give one")
    return value
