"""The versions of kio's APIs that Kafka 4 dropped (KIP-896) and that clients of 2015 to 2017 send, as classes in kio's
style; facts of the message definitions of Kafka 3.9.

An older version is its oldest successor in kio with some fields left out, or with a field of its own in the place of
another. So each class is made out of kio's class of that version, and :data:`_CHANGES` says what differs. What reads,
writes and checks kio's classes takes these. Never: knows what an API does.
"""

from __future__ import annotations

import dataclasses
from functools import cache, reduce
from importlib import import_module
from operator import or_
from types import SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Union, get_args, get_origin

from kio.static.primitive import i16

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class _Changes(NamedTuple):
    """How the versions from ``first`` on, up to kio's oldest, differ from kio's oldest version, ``kio``."""

    kio: int
    without: Mapping[int, frozenset[str]]
    """By version: the fields that it does not have, as ``Class.field``."""
    instead: Mapping[str, tuple[str, type[Any], str]] = {}
    """``Class.field`` of kio -> name, type and kafka_type of the field that stands in its place."""


_SAME: Final = _Changes(1, {0: frozenset()})

_CHANGES: Final[dict[str, _Changes]] = {
    "alter_replica_log_dirs": _SAME,
    "create_acls": _Changes(1, {0: frozenset(("AclCreation.resource_pattern_type",))}),
    "create_delegation_token": _SAME,
    "create_topics": _Changes(
        2,
        {
            0: frozenset(
                (
                    "CreateTopicsRequest.validate_only",
                    "CreateTopicsResponse.throttle_time",
                    "CreatableTopicResult.error_message",
                )
            ),
            1: frozenset(("CreateTopicsResponse.throttle_time",)),
        },
    ),
    "delete_acls": _Changes(
        1, {0: frozenset(("DeleteAclsFilter.pattern_type_filter", "DeleteAclsMatchingAcl.pattern_type"))}
    ),
    "delete_topics": _Changes(1, {0: frozenset(("DeleteTopicsResponse.throttle_time",))}),
    "describe_acls": _Changes(
        1, {0: frozenset(("DescribeAclsRequest.pattern_type_filter", "DescribeAclsResource.pattern_type"))}
    ),
    "describe_configs": _Changes(
        1,
        {
            0: frozenset(
                ("DescribeConfigsRequest.include_synonyms", "DescribeConfigsResourceResult.synonyms"),
            ),
        },
        {"DescribeConfigsResourceResult.config_source": ("is_default", bool, "bool")},
    ),
    "describe_delegation_token": _SAME,
    "describe_log_dirs": _SAME,
    "expire_delegation_token": _SAME,
    "offset_for_leader_epoch": _Changes(
        2,
        {
            0: frozenset(
                (
                    "OffsetForLeaderPartition.current_leader_epoch",
                    "OffsetForLeaderEpochResponse.throttle_time",
                    "EpochEndOffset.leader_epoch",
                )
            ),
            1: frozenset(
                ("OffsetForLeaderPartition.current_leader_epoch", "OffsetForLeaderEpochResponse.throttle_time")
            ),
        },
    ),
    "renew_delegation_token": _SAME,
}
"""By the API's module."""


@cache
def older_module(module: str, version: int, direction: str) -> SimpleNamespace:
    """The classes of ``direction`` ("request" or "response"), by name, like a module of kio's."""
    changes = _CHANGES[module]
    successor = import_module(f"kio.schema.{module}.v{changes.kio}.{direction}")
    name = next(name for name in successor.__dict__ if name.lower() == f"{module.replace('_', '')}{direction}")
    made: dict[str, type[Any]] = {}
    _derive(getattr(successor, name), version, changes, made)
    for entity_class in made.values():
        entity_class.__module__ = f"{__package__}.older_versions.{module}.v{version}.{direction}"
    return SimpleNamespace(**made)


def _derive(entity_class: type[Any], version: int, changes: _Changes, made: dict[str, type[Any]]) -> type[Any]:
    """The class of ``version``, and before it those of its parts; all of them go to ``made``."""
    name = entity_class.__name__
    found = made.get(name)
    if found is None:
        constants = {one: getattr(entity_class, one) for one in _CONSTANTS} | {"__version__": i16(version)}
        made[name] = found = dataclasses.make_dataclass(
            name,
            list(_fields(entity_class, version, changes, made)),
            namespace=constants,
            frozen=True,
            slots=True,
            kw_only=True,
        )
    return found


_CONSTANTS: Final = ("__type__", "__flexible__", "__api_key__", "__header_schema__")


def _fields(
    entity_class: type[Any], version: int, changes: _Changes, made: dict[str, type[Any]]
) -> Iterator[tuple[str, Any, Any]]:
    for field in dataclasses.fields(entity_class):
        path = f"{entity_class.__name__}.{field.name}"
        if path in changes.without[version]:
            continue
        if path in changes.instead:
            name, kind, kafka_type = changes.instead[path]
            yield name, kind, dataclasses.field(metadata={"kafka_type": kafka_type})
        else:
            kind = _of_version(field.type, version, changes, made)
            yield field.name, kind, dataclasses.field(metadata=dict(field.metadata), default=field.default)


def _of_version(kind: Any, version: int, changes: _Changes, made: dict[str, type[Any]]) -> Any:
    """The type of a field, with the parts' classes of ``version``."""
    if dataclasses.is_dataclass(kind):
        return _derive(kind, version, changes, made)  # type: ignore[arg-type]
    if get_origin(kind) is tuple:
        return tuple[_of_version(get_args(kind)[0], version, changes, made), ...]  # type: ignore[misc]
    if get_origin(kind) in (Union, UnionType):
        return reduce(or_, (_of_version(one, version, changes, made) for one in get_args(kind)))
    return kind
