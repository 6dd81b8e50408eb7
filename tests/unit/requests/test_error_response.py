"""Error responses of every API in every version, made from kio's schema."""

from __future__ import annotations

import dataclasses
import io
import uuid
from datetime import timedelta
from typing import Any, get_args

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from kafkastore.requests.context import schema_class
from kafkastore.requests.error_response import error_response
from kafkastore.requests.registry import APIS, Api

CASES = [
    pytest.param(api, version, id=f"{api.name}-{version}")
    for api in APIS
    for version in range(api.min_version, api.max_version + 1)
    if api.plane == "control"
]


def sample(entity_class: type[Any]) -> Any:
    """A request with one item in every array."""
    return entity_class(**{field.name: _value(field.type) for field in dataclasses.fields(entity_class)})


def _value(kind: Any) -> Any:
    arguments = [one for one in get_args(kind) if one not in (type(None), Ellipsis)]
    if getattr(kind, "__origin__", None) is tuple:
        return (_value(arguments[0]),)
    if arguments:
        return _value(arguments[0])
    if hasattr(kind, "__dataclass_fields__"):
        return sample(kind)
    if issubclass(kind, ErrorCode):
        return ErrorCode.none
    for base, value in (
        (bool, True),
        (int, 3),
        (float, 1.5),
        (str, "x"),
        (bytes, b"x"),
        (timedelta, timedelta(0)),
        (uuid.UUID, uuid.UUID(int=9)),
    ):
        if issubclass(kind, base):
            return value
    raise AssertionError(kind)


def error_codes(entity: Any) -> list[int]:
    found = []
    for field in dataclasses.fields(entity):
        value = getattr(entity, field.name)
        if field.name == "error_code":
            found.append(int(value))
        for item in value if isinstance(value, tuple) else ():
            if dataclasses.is_dataclass(item):
                found += error_codes(item)
    return found


WITH_NO_TIME = {"CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken"}
"""APIs whose error responses have times of -1, as Kafka's; kio does not read these."""


@pytest.mark.parametrize(("api", "version"), CASES)
def test_error_response_says_the_error_and_can_be_read_back(api: Api, version: int) -> None:
    request = sample(schema_class(api, version, "request"))
    response = error_response(api, version, request, 41, "why")
    buffer = io.BytesIO()
    entity_writer(type(response))(buffer, response)
    if api.name in WITH_NO_TIME:
        assert buffer.getvalue().startswith((41).to_bytes(2, "big"))
        assert (-1).to_bytes(8, "big", signed=True) in buffer.getvalue()
        return
    decoded, size = entity_reader(type(response))(buffer.getvalue(), 0)
    assert size == len(buffer.getvalue())
    assert error_codes(decoded) == [41]


def test_error_response_to_a_move_names_its_topic() -> None:
    api = next(api for api in APIS if api.name == "AlterReplicaLogDirs")
    response = error_response(api, 2, sample(schema_class(api, 2, "request")), 41, None)
    assert [(topic.topic_name, topic.partitions[0].partition_index) for topic in response.results] == [("x", 3)]


def answer(name: str, version: int, **fields: Any) -> Any:
    api = next(api for api in APIS if api.name == name)
    request_class = schema_class(api, version, "request")
    return error_response(api, version, dataclasses.replace(sample(request_class), **fields), 41, "why")


def test_each_topic_to_create_is_answered_by_name() -> None:
    (topic,) = answer("CreateTopics", 7).topics
    assert (topic.name, topic.error_code, topic.error_message, topic.num_partitions) == ("x", 41, "why", -1)


def test_topics_to_delete_are_answered_by_name_before_version_6() -> None:
    assert [one.name for one in answer("DeleteTopics", 5, topic_names=("a", "b")).responses] == ["a", "b"]


def test_each_partition_is_answered_under_its_topic() -> None:
    (topic,) = answer("OffsetCommit", 8).topics
    assert (topic.name, [(one.partition_index, one.error_code) for one in topic.partitions]) == ("x", [(3, 41)])


def test_groups_given_as_strings_are_answered_by_id() -> None:
    (group,) = answer("DeleteGroups", 2, groups_names=("g",)).results
    assert (group.group_id, group.error_code) == ("g", 41)
    (described,) = answer("DescribeGroups", 5, groups=("g",)).groups
    assert (described.group_id, described.members) == ("g", ())


def test_resources_are_repeated_with_their_type() -> None:
    (result,) = answer("DescribeConfigs", 4).results
    assert (result.resource_type, result.resource_name, result.configs) == (3, "x", ())


def test_no_coordinator_is_node_minus_one() -> None:
    assert answer("FindCoordinator", 2).node_id == -1
    assert [(one.key, one.node_id) for one in answer("FindCoordinator", 4).coordinators] == [("x", -1)]
