"""Nodes of ACLs have Kafka's layout, whatever the names are."""

from __future__ import annotations

import json

import pytest

from kafkastore.acl_words import (
    ALL,
    ALLOW,
    DENY,
    GROUP,
    LITERAL,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    AccessControlEntry,
    ResourcePattern,
)
from kafkastore.authorization.nodes import decode, decode_notice, encode, notice, path_of
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.store import validate_path

ENTRIES = frozenset(
    (AccessControlEntry("User:a", "*", READ, ALLOW), AccessControlEntry("User:CN=b:c,O=é", "10.0.0.1", ALL, DENY))
)
ODD_NAMES = (
    "a/b",
    "..",
    ".",
    "a%2Fb",
    "%",
    "/",
    "nul\0",
    "\n",
    "\x85",
    "\ud7ff",
    "\ufff9",
    "\U0001f600",
    " ",
    "é",
    "*",
)


def test_node_is_as_kafka_writes_it() -> None:
    pattern = ResourcePattern(TOPIC, LITERAL, "t")
    assert path_of(pattern) == "/kafka-acl/Topic/t"
    assert json.loads(encode(pattern, ENTRIES)) == {
        "version": 1,
        "acls": [
            {"principal": "User:CN=b:c,O=é", "permissionType": "Deny", "operation": "All", "host": "10.0.0.1"},
            {"principal": "User:a", "permissionType": "Allow", "operation": "Read", "host": "*"},
        ],
    }
    assert (
        path_of(ResourcePattern(TRANSACTIONAL_ID, PREFIXED, "x-")) == "/kafka-acl-extended/prefixed/TransactionalId/x-"
    )
    assert path_of(ResourcePattern(GROUP, LITERAL, "*")) == "/kafka-acl/Group/*"


def test_notice_is_as_kafka_writes_it() -> None:
    literal, prefixed = ResourcePattern(TRANSACTIONAL_ID, LITERAL, "a:b"), ResourcePattern(TOPIC, PREFIXED, "t")
    made = notice(literal)
    assert (made.path, made.data, made.is_sequential) == (
        "/kafka-acl-changes/acl_changes_",
        b"TRANSACTIONAL_ID:a:b",
        True,
    )
    made = notice(prefixed)
    assert made.path == "/kafka-acl-extended-changes/acl_changes_"
    assert json.loads(made.data) == {
        "version": 1,
        "resourceType": "TOPIC",
        "name": "t",
        "patternType": "PREFIXED",
    }
    for pattern in (literal, prefixed):
        assert decode_notice(pattern.pattern_type, notice(pattern).data) == pattern


@pytest.mark.parametrize("pattern_type", [LITERAL, PREFIXED])
@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_every_name_has_a_node_of_its_own_and_comes_back(name: str, pattern_type: int) -> None:
    pattern = ResourcePattern(GROUP, pattern_type, name)
    path = path_of(pattern)
    validate_path(path)
    assert path.isprintable()
    assert path.count("/") == path_of(ResourcePattern(GROUP, pattern_type, "a")).count("/")
    assert decode(pattern_type, path, encode(pattern, ENTRIES)) == (pattern, ENTRIES)
    assert decode_notice(pattern_type, notice(pattern).data) == pattern


def test_names_do_not_share_a_node() -> None:
    assert len({path_of(ResourcePattern(GROUP, LITERAL, name)) for name in ODD_NAMES}) == len(ODD_NAMES)


def test_node_of_kafka_with_other_case_and_without_content_is_read() -> None:
    acl = {"principal": "User:a", "permissionType": "ALLOW", "operation": "DESCRIBECONFIGS", "host": "*"}
    data = json.dumps({"version": 1, "acls": [acl]}).encode()
    _, (entry,) = decode(LITERAL, "/kafka-acl/Topic/a%2Fb", data)
    assert entry.operation == 10
    assert decode(LITERAL, "/kafka-acl/Topic/a%2Fb", data)[0].name == "a%2Fb"
    assert decode(LITERAL, "/kafka-acl/Topic/t", b"")[1] == frozenset()


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("/kafka-acl/Planet/t", b"{}", "the resource type is 'Planet'"),
        ("/kafka-acl/Topic/t", b"no", "is not JSON"),
        ("/kafka-acl/Topic/t", b"{}", "version is null"),
        ("/kafka-acl/Topic/t", b'{"version":1,"acls":1}', "acls is 1"),
        ("/kafka-acl/Topic/t", b'{"version":1,"acls":[{"principal":"a"}]}', "has no type before a colon"),
        (
            "/kafka-acl/Topic/t",
            b'{"version":1,"acls":[{"principal":"User:a","host":"*","operation":"Fly","permissionType":"Allow"}]}',
            "operation is 'Fly'",
        ),
        (
            "/kafka-acl/Topic/t",
            b'{"version":1,"acls":[{"principal":"User:a","host":"*","operation":"Read","permissionType":"Any"}]}',
            "permissionType is 'Any'",
        ),
    ],
)
def test_invalid_node_is_refused_with_the_reason(path: str, data: bytes, reason: str) -> None:
    with pytest.raises(InvalidNodeError, match=reason):
        decode(LITERAL, path, data)
