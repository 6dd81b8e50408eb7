"""CreateAcls, DescribeAcls and DeleteAcls at every version: what they need, and what version 0 cannot say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkastore.config.authorizer import CLASSES
from kafkastore.errors import ErrorCode
from kafkastore.requests.registry import BY_NAME
from unit.plain_messages import request_body

from .one_broker import OneBroker

TOPIC, ANY, LITERAL, PREFIXED, READ, ALLOW = 2, 1, 3, 4, 3, 3


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[OneBroker]:
    made = OneBroker(tmp_path / "guarded", {"authorizer.class.name": CLASSES[0]})
    assert made.services.acls is not None
    made.engine.security().set_authorizer(frozenset(("User:ANONYMOUS",)), False)
    made.run(made.services.acls.start())
    yield made
    made.run(made.services.acls.stop())
    made.close()


def creation(version: int, **changes: Any) -> dict[str, Any]:
    given = {
        "resource_type": TOPIC,
        "resource_name": "t",
        "resource_pattern_type": LITERAL,
        "principal": "User:alice",
        "host": "*",
        "operation": READ,
        "permission_type": ALLOW,
        **changes,
    }
    return given if version else {name: value for name, value in given.items() if name != "resource_pattern_type"}


def wanted(version: int, **changes: Any) -> dict[str, Any]:
    given = {
        "resource_type_filter": ANY,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
        **changes,
    }
    return given if version else {name: value for name, value in given.items() if name != "pattern_type_filter"}


@pytest.mark.parametrize("version", range(4))
def test_acl_is_created_described_and_deleted_at_every_version(guarded: OneBroker, version: int) -> None:
    created = guarded.ask("create_acls", version, {"creations": [creation(version)]})
    assert [one.error_code for one in created.results] == [ErrorCode.NONE]
    described = guarded.ask("describe_acls", version, wanted(version))
    ((resource,),) = (described.resources,)
    assert (resource.resource_type, resource.resource_name) == (TOPIC, "t")
    assert [(one.principal, one.host, one.operation) for one in resource.acls] == [("User:alice", "*", READ)]
    deleted = guarded.ask("delete_acls", version, {"filters": [wanted(version), wanted(version)]})
    assert [len(one.matching_acls) for one in deleted.filter_results] == [1, 1]
    assert guarded.ask("describe_acls", version, wanted(version)).resources == ()


def test_version_0_has_literal_patterns_alone(guarded: OneBroker) -> None:
    creations = [creation(1, resource_pattern_type=PREFIXED), creation(1, operation=READ + 1)]
    guarded.ask("create_acls", 1, {"creations": creations})
    assert len(guarded.ask("describe_acls", 0, wanted(0)).resources) == 1
    deleted = guarded.ask("delete_acls", 0, {"filters": [wanted(0)]})
    assert [len(one.matching_acls) for one in deleted.filter_results] == [1]
    assert [one.pattern_type for one in guarded.ask("describe_acls", 1, wanted(1)).resources] == [PREFIXED]


def test_refused_client_gets_the_error_in_each_row(guarded: OneBroker) -> None:
    guarded.engine.security().set_authorizer(frozenset(), False)
    failed = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    created = guarded.ask("create_acls", 3, {"creations": [creation(3), creation(3)]})
    assert [one.error_code for one in created.results] == [failed, failed]
    deleted = guarded.ask("delete_acls", 3, {"filters": [wanted(3)]})
    assert [one.error_code for one in deleted.filter_results] == [failed]
    assert guarded.ask("describe_acls", 3, wanted(3)).error_code == failed


def test_unknown_filter_is_refused_and_the_one_beside_it_served(guarded: OneBroker) -> None:
    guarded.ask("create_acls", 3, {"creations": [creation(3)]})
    asked = {"filters": [wanted(3, pattern_type_filter=77), wanted(3, operation=0), wanted(3)]}
    results = guarded.ask("delete_acls", 3, asked).filter_results
    assert [one.error_code for one in results] == [ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert [len(one.matching_acls) for one in results] == [0, 0, 1]
    described = guarded.ask("describe_acls", 3, wanted(3, resource_type_filter=0))
    assert described.error_code == ErrorCode.INVALID_REQUEST


def test_name_that_no_string_of_the_protocol_could_be_is_refused(guarded: OneBroker) -> None:
    """As Kafka does, the broker closes its connection. Bytes that are not UTF-8 are read as three bytes each."""
    body = request_body(BY_NAME["CreateAcls"], 3, {"creations": [creation(3, resource_name="short")]})
    for compact_string in (b"\x81\x80\x02" + b"n" * 32_768, b"\xa1\x9c\x01" + b"\xff" * 20_000):
        with pytest.raises(ValueError, match="a string is"):
            guarded.run(guarded.handling_body("create_acls", 3, body.replace(b"\x06short", compact_string)))
