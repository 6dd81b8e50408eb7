"""Every API of clients can be answered with an ordered error, at every version."""

from __future__ import annotations

from typing import Any

import pytest

from kafkastore._core import decode_request, decode_response, message_encoder, message_fields
from kafkastore.errors import ErrorCode
from kafkastore.requests.registry import APIS, Api
from kafkastore.testing.error_bodies import changed_metadata, error_body

SAMPLES = {"bool": False, "int": 1, "float": 1.0, "str": "a", "bytes": b"a", "uuid": bytes(range(16)), "struct": None}
CODE = ErrorCode.NOT_COORDINATOR


def sample(message: str, version: int, name: str | None = None) -> dict[str, Any]:
    """A struct with one element in every array."""
    found: dict[str, Any] = {}
    for field in message_fields(message, version, name):
        one = SAMPLES[field.kind] if field.struct_name is None else sample(message, version, field.struct_name)
        found[field.name] = [one] if field.is_array else one
    return found


def codes_in(value: Any) -> list[int]:
    names = getattr(value, "__match_args__", None)
    if names is None:
        return [code for one in value for code in codes_in(one)] if isinstance(value, tuple) else []
    own = [getattr(value, name) for name in names if name.endswith("error_code")]
    return own + [code for name in names for code in codes_in(getattr(value, name))]


@pytest.mark.parametrize("api", [one for one in APIS if one.name != "Metadata"], ids=lambda api: api.name)
def test_answer_has_the_error_at_every_version(api: Api) -> None:
    for version in range(api.min_version, api.max_version + 1):
        encoder = message_encoder(f"{api.name}Request", version)
        body = encoder.row(sample(f"{api.name}Request", version))
        answer = decode_response(
            api.key, version, error_body(api, version, decode_request(api.key, version, body), CODE)
        )
        has_none = not any(_has_code(f"{api.name}Response", version, name) for name in _structs(api, version))
        assert CODE in codes_in(answer) or has_none, f"{api} at {version}: {answer}"


def test_metadata_keeps_the_brokers() -> None:
    answer = {
        "brokers": [{"node_id": 1, "host": "a", "port": 1, "rack": None}],
        "cluster_id": "c",
        "controller_id": 1,
        "topics": [{"error_code": 0, "name": "t", "is_internal": False, "partitions": ()}],
    }
    body = message_encoder("MetadataResponse", 5).row(answer)
    found = decode_response(3, 5, changed_metadata(5, body, CODE))
    assert [one.node_id for one in found.brokers] == [1]
    assert [one.error_code for one in found.topics] == [CODE]


def _structs(api: Api, version: int) -> list[str | None]:
    found: list[str | None] = [None]
    for name in found:
        fields = message_fields(f"{api.name}Response", version, name)
        found += [one.struct_name for one in fields if one.struct_name is not None]
    return found


def _has_code(message: str, version: int, name: str | None) -> bool:
    return any(one.name.endswith("error_code") for one in message_fields(message, version, name))
