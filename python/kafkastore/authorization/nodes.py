"""The store's nodes of access control lists, in Kafka's ZooKeeper layout::

    /kafka-acl/<ResourceType>/<name>                    literal patterns, `*` included
    /kafka-acl-extended/prefixed/<ResourceType>/<name>  prefixed patterns
        {"version":1,"acls":[{"principal":"User:a","permissionType":"Allow","operation":"Read","host":"*"}]}
    /kafka-acl-changes/acl_changes_NNNNNNNNNN           TOPIC:name
    /kafka-acl-extended-changes/acl_changes_NNNNNNNNNN
        {"version":1,"resourceType":"TOPIC","name":"a","patternType":"PREFIXED"}

A name that no node can have (with a slash, say), or that has a percent sign, is percent-encoded in the node's name and
stands as it is in the node's JSON (``name``), which Kafka ignores. No I/O.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from kafkastore.acl_words import (
    LITERAL,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    PREFIXED,
    RESOURCE_TYPES,
    AccessControlEntry,
    ResourcePattern,
)
from kafkastore.metadata.node_content import InvalidNodeError, json_object, shown, text
from kafkastore.metadata.store import Create

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ROOTS: Final = {LITERAL: "/kafka-acl", PREFIXED: "/kafka-acl-extended/prefixed"}
CHANGES: Final = {LITERAL: "/kafka-acl-changes", PREFIXED: "/kafka-acl-extended-changes"}

_CHANGE: Final = "acl_changes_"
_SURROGATES_AND_PRIVATE: Final = "\ud800"
"""ZooKeeper refuses this character and some above it in the name of a node."""


def path_of(pattern: ResourcePattern) -> str:
    """The path of a pattern's node."""
    name = pattern.name if _is_plain(pattern.name) else quote(pattern.name, safe="*:=@")
    if name in (".", ".."):  # quote leaves dots
        name = name.replace(".", "%2E")
    return f"{ROOTS[pattern.pattern_type]}/{RESOURCE_TYPES[pattern.resource_type]}/{name}"


def _is_plain(name: str) -> bool:
    """Whether a node can have this name, which is then its own."""
    return (
        name.isprintable()
        and not any(one in "/%" or one >= _SURROGATES_AND_PRIVATE for one in name)
        and name not in (".", "..")
    )


def encode(pattern: ResourcePattern, entries: Collection[AccessControlEntry]) -> bytes:
    """The content of a pattern's node."""
    content: dict[str, Any] = {
        "version": 1,
        "acls": [
            {
                "principal": one.principal,
                "permissionType": PERMISSIONS[one.permission],
                "operation": OPERATIONS[one.operation],
                "host": one.host,
            }
            for one in sorted(entries)
        ],
    }
    if not path_of(pattern).endswith(f"/{pattern.name}"):
        content["name"] = pattern.name
    return json.dumps(content, separators=(",", ":")).encode()


def decode(pattern_type: int, path: str, data: bytes) -> tuple[ResourcePattern, frozenset[AccessControlEntry]]:
    """The pattern and the ACLs of the node at ``path``. Raises InvalidNodeError; a node without content has none."""
    kind, _, name = path.removeprefix(f"{ROOTS[pattern_type]}/").partition("/")
    resource_type = _number(RESOURCE_TYPES, kind, "the resource type")
    if not data:
        return ResourcePattern(resource_type, pattern_type, name), frozenset()
    content = json_object(data)
    if content.get("version") != 1:
        raise InvalidNodeError(f"version is {shown(content.get('version'))}, which is not 1")
    pattern = ResourcePattern(resource_type, pattern_type, text(content, "name") if "name" in content else name)
    acls = content.get("acls")
    if not isinstance(acls, list) or not all(isinstance(one, dict) for one in acls):
        raise InvalidNodeError(f"acls is {shown(acls)}, which is no list of objects")
    return pattern, frozenset(_entry(one) for one in acls)


def _entry(content: dict[str, Any]) -> AccessControlEntry:
    principal = text(content, "principal")
    if ":" not in principal:
        raise InvalidNodeError(f"principal is {shown(principal)!r}, which has no type before a colon")
    return AccessControlEntry(
        principal,
        text(content, "host"),
        _number(OPERATIONS, text(content, "operation"), "operation"),
        _number(PERMISSIONS, text(content, "permissionType"), "permissionType"),
    )


def _number(names: Mapping[int, str], name: str, what: str) -> int:
    """The number of a name, which Kafka reads in upper and lower case."""
    for number, one in names.items():
        if one.upper() == name.upper():
            return number
    raise InvalidNodeError(f"{what} is {shown(name)!r}, which Kafka does not have")


# ---- notices
def notice(pattern: ResourcePattern) -> Create:
    """The notice to all brokers that the ACLs of ``pattern`` have changed."""
    kind = _constant(RESOURCE_TYPES[pattern.resource_type])
    if pattern.pattern_type == LITERAL:
        data = f"{kind}:{pattern.name}".encode()
    else:
        content = {
            "version": 1,
            "resourceType": kind,
            "name": pattern.name,
            "patternType": PATTERN_TYPES[pattern.pattern_type],
        }
        data = json.dumps(content, separators=(",", ":")).encode()
    return Create(f"{CHANGES[pattern.pattern_type]}/{_CHANGE}", data, is_sequential=True)


def decode_notice(pattern_type: int, data: bytes) -> ResourcePattern:
    """Raises InvalidNodeError."""
    if pattern_type == LITERAL:
        kind, colon, name = data.decode(errors="replace").partition(":")
        if not colon:
            raise InvalidNodeError(f"{shown(kind)!r} has no resource type before a colon")
    else:
        content = json_object(data)
        kind, name = text(content, "resourceType"), text(content, "name")
    numbers = {number: _constant(one) for number, one in RESOURCE_TYPES.items()}
    return ResourcePattern(_number(numbers, kind, "the resource type"), pattern_type, name)


def _constant(name: str) -> str:
    """``TRANSACTIONAL_ID`` of ``TransactionalId``."""
    return "".join(f"_{one}" if one.isupper() and at else one.upper() for at, one in enumerate(name))
