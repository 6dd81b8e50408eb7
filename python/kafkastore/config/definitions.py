"""Kafka's configuration keys: names, types, defaults, valid values, update modes.

The tables ``broker-configs.tsv``, ``topic-configs.tsv`` and ``group-configs.tsv`` were printed from Apache Kafka 4.4's
own ConfigDef, ``zookeeper-configs.tsv`` from that of Kafka 3.9, the last version with ZooKeeper; the tables are the
only definition of a key. Values are passed as text (as in a file, a request or the engine's options) and are parsed
where a number is needed. The messages for invalid values are Kafka's.
"""

from __future__ import annotations

import os
import re
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_INTEGER_LIMITS = {"short": 2**15, "int": 2**31, "long": 2**63}

_BLANKS: Final = "".join(map(chr, range(0x21)))
"""What Java's ``String.trim`` takes away."""

_REPLICA = re.compile(r"[0-9]{1,9}")
_WHOLE = re.compile(r"[+-]?\d+")
_REAL = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?|[+-]?Infinity")

LONGEST_SHOWN: Final = 200
"""Characters of a value in a message."""

MOST_DIGITS: Final = 1000
"""More of them, zeros in front of a number included, are no number."""


class ConfigKey:
    """One key. ``default`` is text or None; ``synonyms`` are the broker keys of a topic's or a group's key in order of
    precedence, each with the factor that turns its unit into the key's (``log.retention.hours`` into
    ``retention.ms``)."""

    __slots__ = ("default", "is_internal", "name", "synonyms", "type", "update_mode", "valid")

    def __init__(
        self, name: str, kind: str, default: str | None, valid: str, update_mode: str, is_internal: bool
    ) -> None:
        self.name = name
        self.type = kind  # boolean, string, int, short, long, double, list, class, password
        self.default = default
        self.valid = valid  # Kafka's notation: "[0,...]", "[1,...,9] or -1", "[a, b]", "non-empty string"
        self.update_mode = update_mode  # read-only, per-broker, cluster-wide
        self.is_internal = is_internal
        self.synonyms: tuple[tuple[str, int], ...] = ()

    @property
    def is_sensitive(self) -> bool:
        return self.type == "password"

    def parse(self, text: str) -> Any:
        """The value of ``text`` by this key's type, checked. Raises ConfigError with Kafka's message."""
        value = self._typed(text.strip(_BLANKS))
        self._check(text, value)
        return value

    def normal(self, text: str) -> str:
        """``text`` as the engine reads it: no blanks around it, ASCII digits, small letters for ``true``. Raises
        ConfigError as :meth:`parse`."""
        value = self.parse(text)
        if isinstance(value, bool):
            return "true" if value else "false"
        return ",".join(value) if isinstance(value, list) else str(value)

    def invalid(self, text: object, reason: str) -> ConfigError:
        shown = "[hidden]" if self.is_sensitive else str(text)
        if len(shown) > LONGEST_SHOWN:
            shown = f"{shown[:LONGEST_SHOWN]}…"
        return ConfigError(f"Invalid value {shown} for configuration {self.name}: {reason}")

    def _typed(self, text: str) -> Any:
        kind = self.type
        if kind in _INTEGER_LIMITS:
            limit = _INTEGER_LIMITS[kind]
            # Java takes the digits of every script that has them within one char
            is_whole = _WHOLE.fullmatch(text) is not None and len(text) <= MOST_DIGITS and max(text) <= "\uffff"
            if not is_whole or not -limit <= int(text) < limit:
                raise self.invalid(text, f"Not a number of type {kind.upper()}")
            return int(text)
        if kind == "double":
            real = _REAL.fullmatch(text)  # not NaN, which would pass every range
            if real is None:
                raise self.invalid(text, "Not a number of type DOUBLE")
            return float(real[1] or text)
        if kind == "boolean":
            lowered = text.lower()
            if lowered not in ("true", "false"):
                raise self.invalid(text, "Expected value to be either true or false")
            return lowered == "true"
        if kind == "list":
            return [item.strip(_BLANKS) for item in text.split(",")] if text else []
        return text

    def _check(self, text: str, value: Any) -> None:
        valid = self.valid
        if not valid:
            return
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._check_range(value)
        elif valid.startswith("(case insensitive) ["):
            self._check_choice(
                value.upper(), valid[20:-1].upper().split(", "), "String must be one of (case insensitive): "
            )
        elif valid.startswith("[partitionId]"):
            self._check_throttled_replicas(value, valid)
        elif valid.startswith("["):
            choices = valid[1:-1].split(", ")
            if not isinstance(value, list):
                self._check_choice(value, choices, "String must be one of: ")
                return
            for item in value:
                self._check_choice(item, choices, "String must be one of: ")
        elif valid == "non-empty string" and not value:
            raise self.invalid(text, "String must be non-empty")

    def _check_range(self, value: float) -> None:
        bounds, _, exception = self.valid.partition(" or ")
        if exception and value == float(exception):
            return
        parts = bounds.strip("[]").split(",")
        low, high = float(parts[0]), float(parts[2]) if len(parts) == 3 else None
        if exception and not (low <= value and (high is None or value <= high)):
            raise self.invalid(value, f"Value must be between {parts[0]} and {parts[2]} or equal to {exception}")
        if value < low:
            raise self.invalid(value, f"Value must be at least {parts[0]}")
        if high is not None and value > high:
            raise self.invalid(value, f"Value must be no more than {parts[2]}")

    def _check_choice(self, value: str, choices: list[str], message: str) -> None:
        if value not in choices:
            raise self.invalid(value, message + ", ".join(choices))

    def _check_throttled_replicas(self, value: list[str], form: str) -> None:
        if value in ([], ["*"]):
            return
        for item in value:
            partition, colon, broker = item.partition(":")
            if not (colon and _REPLICA.fullmatch(partition) and _REPLICA.fullmatch(broker)):
                message = f"{self.name} must be the literal '*' or a list of replicas in the following format: {form}"
                raise self.invalid(f"[{', '.join(value)}]", message)


_tables: dict[str, dict[str, ConfigKey]] = {}


def broker_keys() -> dict[str, ConfigKey]:
    """Every broker key by name, in alphabetical order."""
    return _tables.get("broker") or _load("broker")


def topic_keys() -> dict[str, ConfigKey]:
    """Every topic key by name, in alphabetical order, with its broker synonyms."""
    return _tables.get("topic") or _load("topic")


def group_keys() -> dict[str, ConfigKey]:
    """Every key of a group by name, in alphabetical order, with its broker synonym."""
    return _tables.get("group") or _load("group")


def with_ranges(keys: dict[str, ConfigKey], ranges: Mapping[str, str]) -> dict[str, ConfigKey]:
    """``keys``, with the valid values of ``ranges``, in Kafka's notation, for the keys that it names. Names in
    ``ranges`` that are not in ``keys`` are ignored."""
    if not ranges:
        return keys
    changed = {}
    for name in ranges.keys() & keys.keys():
        key = changed[name] = copy(keys[name])
        key.valid = ranges[name]
    return {**keys, **changed}


def _load(table: str) -> dict[str, ConfigKey]:
    keys: dict[str, ConfigKey] = {}
    for columns in sorted(_rows("broker") + _rows("zookeeper")) if table == "broker" else _rows(table):
        name, kind, default_text, valid = columns[:4]
        default = None if default_text == "-" else "" if default_text == '""' else default_text
        if table == "broker":
            keys[name] = ConfigKey(name, kind, default, valid, columns[4], columns[5] == "internal")
        else:
            key = keys[name] = ConfigKey(name, kind, default, valid, "cluster-wide", columns[4] == "internal")
            key.synonyms = tuple(_synonym(one) for one in columns[5].split())
    _tables[table] = keys
    return keys


def _rows(table: str) -> list[list[str]]:
    path = os.path.join(os.path.dirname(__file__), f"{table}-configs.tsv")
    with open(path, encoding="utf-8") as file:
        next(file)
        return [line.rstrip("\n").split("\t") for line in file]


def _synonym(text: str) -> tuple[str, int]:
    name, _, factor = text.partition("*")
    return name, int(factor or 1)
