"""The plan of a migration: a JSON file that ``kafkastore migrate plan`` writes and ``run`` takes. It may be edited in
between: what is taken out of it is not made and not mirrored. It has no secrets."""

from __future__ import annotations

import json
import re
from itertools import chain
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args, get_origin, get_type_hints

from kafkastore.acl_words import (
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    AccessControlEntry,
    ResourcePattern,
)
from kafkastore.admin.admin_client import AdminError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.admin.acls import AclBinding
    from kafkastore.admin.quotas import Entity

VERSION: Final = 1
GROUP: Final = "kafkastore-migrate-"
"""Before the id of the migration: the group of the target whose offsets are the positions in the source, and the topic
of the target that has the marks."""
NEW, EMPTY, MIRRORED, FILLED = "new", "empty", "mirrored", "filled"
"""What the target has of a topic: nothing, no records, those of this migration, or others."""
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


class Side(NamedTuple):
    """A cluster."""

    bootstrap_servers: str
    cluster_id: str
    brokers: int


class PlannedTopic(NamedTuple):
    """``configs`` are what it is made with, ``later_configs`` what it gets at the cut-over; ``in_target`` is what the
    plan found there, and ``differences`` how that is another topic. ``append``: records go behind those that are there.
    """

    name: str
    topic_id: str | None
    partitions: int
    replication_factor: int
    compression: str
    configs: dict[str, str]
    later_configs: dict[str, str]
    bytes: int
    records: int
    in_target: str
    differences: list[str]
    append: bool = False


class PlannedAcl(NamedTuple):
    """In Kafka's words."""

    resource_type: str
    pattern_type: str
    name: str
    principal: str
    host: str
    operation: str
    permission: str

    @classmethod
    def of(cls, binding: AclBinding) -> PlannedAcl:
        pattern, entry = binding
        return cls(
            RESOURCE_TYPES[pattern.resource_type], PATTERN_TYPES[pattern.pattern_type], pattern.name,
            entry.principal, entry.host, OPERATIONS[entry.operation], PERMISSIONS[entry.permission],
        )  # fmt: skip

    def binding(self) -> AclBinding:
        """Raises AdminError."""
        kind, pattern = _number(RESOURCE_TYPES, self.resource_type), _number(PATTERN_TYPES, self.pattern_type)
        operation, permission = _number(OPERATIONS, self.operation), _number(PERMISSIONS, self.permission)
        entry = AccessControlEntry(self.principal, self.host, operation, permission)
        return ResourcePattern(kind, pattern, self.name), entry


class PlannedUser(NamedTuple):
    """A credential of SCRAM; its password cannot be read."""

    name: str
    mechanism: str
    iterations: int


class PlannedQuota(NamedTuple):
    """``entity``: types and names, null for the default of the type."""

    entity: list[list[str | None]]
    values: dict[str, float]

    def key(self) -> Entity:
        return tuple((str(kind), name) for kind, name in self.entity)


class PlannedGroup(NamedTuple):
    """As the plan found it in the source; ``run`` takes every group that the patterns find then."""

    name: str
    type: str
    state: str
    offsets: int


class Plan(NamedTuple):
    """``groups_include`` and ``groups_exclude`` are patterns of whole names; ``notes`` say what is not migrated."""

    id: str
    source: Side
    target: Side
    topics: list[PlannedTopic]
    acls: list[PlannedAcl]
    users: list[PlannedUser]
    quotas: list[PlannedQuota]
    groups: list[PlannedGroup]
    groups_include: str
    groups_exclude: str | None
    seconds: int
    notes: list[str]

    @property
    def group(self) -> str:
        """The group with the positions; the topic with the marks has the same name."""
        return GROUP + self.id

    def has_group(self, name: str) -> bool:
        return is_chosen(name, self.groups_include, self.groups_exclude) and not name.startswith(GROUP)


def is_chosen(name: str, include: str, exclude: str | None) -> bool:
    """Whether patterns of whole names choose one."""
    return re.fullmatch(include, name) is not None and (exclude is None or re.fullmatch(exclude, name) is None)


def plan_text(plan: Plan) -> str:
    """The file."""
    content = {"version": VERSION, **_plain(plan)}
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def read_plan(text: str) -> Plan:
    """The plan of a file. Raises AdminError of one sentence."""
    try:
        given = json.loads(text)
        version = given.pop("version")
        if version != VERSION:
            raise AdminError(f"its version is {version}, and this command knows {VERSION}")
        rows: dict[str, Any] = {key: [kind(**row) for row in given.pop(key)] for key, kind in _ROWS.items()}
        sides: dict[str, Any] = {key: Side(**given.pop(key)) for key in ("source", "target")}
        plan = Plan(**sides, **rows, **given)
        for one in (plan, *sides.values(), *chain.from_iterable(rows.values())):
            _check_types(one)
        for quota in plan.quotas:
            quota.key()
        for pattern in (plan.groups_include, plan.groups_exclude or ""):
            re.compile(pattern)
        wrong = next((one for one in plan.topics if one.compression not in CODECS), None)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError, re.error) as error:
        raise AdminError(f"it is no plan of kafkastore migrate plan: {error}") from None
    if wrong is not None:
        raise AdminError(f"compression {wrong.compression} of topic {wrong.name} is none of {', '.join(CODECS)}")
    return plan


_ROWS: Final[Mapping[str, Any]] = {
    "topics": PlannedTopic,
    "acls": PlannedAcl,
    "users": PlannedUser,
    "quotas": PlannedQuota,
    "groups": PlannedGroup,
}


def _check_types(one: Any) -> None:
    """Raises TypeError for a field whose value is of another type."""
    for name, kind in get_type_hints(type(one)).items():
        if not _fits(value := getattr(one, name), kind):
            raise TypeError(f"{name} of {type(one).__name__.removeprefix('Planned').lower()} cannot be {value!r:.80}")


def _fits(value: Any, kind: Any) -> bool:
    of = get_args(kind)
    if get_origin(kind) is UnionType:
        return any(_fits(value, one) for one in of)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_fits(one, of[0]) for one in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(_fits(one, of[1]) for one in value.values())
    if isinstance(value, bool) or kind is bool:
        return kind is bool and isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and -1 <= value < 1 << 63
    return isinstance(value, (int, float) if kind is float else kind)


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {key: _plain(one) for key, one in value._asdict().items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _number(names: Mapping[int, str], word: str) -> int:
    found = next((number for number, name in names.items() if name.lower() == word.lower()), None)
    if found is None:
        raise AdminError(f"the plan: {word} is none of {', '.join(names.values())}")
    return found
