"""Error responses of every API in every version, made from the table of messages."""

from __future__ import annotations

from typing import Any

import pytest

from kafkastore._core import MessageField, decode_request, decode_response, message_encoder, message_fields
from kafkastore.messages import replaced
from kafkastore.requests.error_response import error_answer
from kafkastore.requests.registry import APIS, BY_NAME, Api

CASES = [
    pytest.param(api, version, id=f"{api.name}-{version}")
    for api in APIS
    for version in range(api.min_version, api.max_version + 1)
    if api.plane == "control"
]

VALUES = {"bool": True, "int": 3, "float": 1.5, "str": "x", "bytes": b"x", "uuid": bytes(15) + b"\t"}


def sample(api: Api, version: int) -> Any:
    """A request with one item in every array."""
    message = f"{api.name}Request"
    return decode_request(api.key, version, message_encoder(message, version).row(_sample(message, version, None)))


def _sample(message: str, version: int, struct: str | None) -> dict[str, Any]:
    def value(field: MessageField) -> Any:
        one = VALUES[field.kind] if field.struct_name is None else _sample(message, version, field.struct_name)
        return (one,) if field.is_array else one

    return {field.name: value(field) for field in message_fields(message, version, struct)}


def error_codes(message: str, version: int, answer: Any, struct: str | None = None) -> list[int]:
    found = []
    for field in message_fields(message, version, struct):
        value = getattr(answer, field.name)
        if field.name == "error_code":
            found.append(value)
        if field.is_array and field.struct_name is not None:
            for item in value or ():
                found += error_codes(message, version, item, field.struct_name)
    return found


def error_response(api: Api, version: int, request: Any, code: int, message: str | None) -> Any:
    """The answer as the client reads it."""
    return decode_response(api.key, version, b"".join(error_answer(api, version, request, code, message).pieces()))


WITH_NO_TIME = {
    "CreateDelegationToken": ("issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"),
    "RenewDelegationToken": ("expiry_timestamp_ms",),
    "ExpireDelegationToken": ("expiry_timestamp_ms",),
}
"""Times that are -1 in the error response, as Kafka's."""


@pytest.mark.parametrize(("api", "version"), CASES)
def test_error_response_says_the_error_and_can_be_read_back(api: Api, version: int) -> None:
    response = error_response(api, version, sample(api, version), 41, "why")
    assert error_codes(f"{api.name}Response", version, response) == [41]
    assert {getattr(response, name) for name in WITH_NO_TIME.get(api.name, ())} <= {-1}


def test_error_response_to_a_move_names_its_topic() -> None:
    api = BY_NAME["AlterReplicaLogDirs"]
    response = error_response(api, 2, sample(api, 2), 41, None)
    assert [(topic.topic_name, topic.partitions[0].partition_index) for topic in response.results] == [("x", 3)]


def answer(name: str, version: int, **fields: Any) -> Any:
    api = BY_NAME[name]
    return error_response(api, version, replaced(sample(api, version), **fields), 41, "why")


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
