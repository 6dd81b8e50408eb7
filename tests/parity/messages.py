"""Requests and answers as bytes, after the broker's own table of messages, for tests that send or check requests.

A request is given as plain dicts and lists, by the snake-case names of Kafka's APIs and fields. What a version does not
have is dropped and what is not given gets the protocol's default or the type's zero, so that one table serves every
version of an API; a name that no version has is a mistake.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

from kafkastore._core import MessageField, UnknownFieldError, decode_message, is_flexible, message_fields, message_type
from kafkastore.messages import OutgoingRequest
from unit.plain_messages import filled


def kafka_name(api: str) -> str:
    """``create_topics`` as Kafka writes it."""
    return "".join(part.capitalize() for part in api.split("_"))


def request(api: str, version: int, given: Mapping[str, Any]) -> OutgoingRequest:
    name = kafka_name(api)
    message = f"{name}Request"
    _check_names(message, version, given)
    return OutgoingRequest(name, version, filled(message, version, given))


def _check_names(message: str, version: int, given: Mapping[str, Any], struct_name: str | None = None) -> None:
    unknown = given.keys() - set(message_type(message, struct_name).__match_args__)
    if unknown:
        raise UnknownFieldError(f"no version of {struct_name or message} has {sorted(unknown)}")
    for field in _fields(message, version, struct_name):
        value = given.get(field.name)
        if field.struct_name is not None and value is not None:
            for one in value if field.is_array else [value]:
                _check_names(message, version, one, field.struct_name)


def frame(sent: OutgoingRequest, correlation_id: int, client_id: str) -> bytes:
    client = client_id.encode()
    header = struct.pack(">hhih", sent.api_key, sent.version, correlation_id, len(client)) + client
    payload = header + b"\0" * sent.is_flexible + sent.body()
    return struct.pack(">i", len(payload)) + payload


class Answer(SimpleNamespace):
    """An answer, or a struct in one, with the fields of its version alone. Arrays are tuples, a UUID is 16 bytes."""


def answer(api: str, version: int, payload: bytes) -> Any:
    """What the payload of a frame has behind its correlation id."""
    message = f"{kafka_name(api)}Response"
    has_tags = is_flexible(message, version) and api != "api_versions"
    assert not has_tags or payload[4:5] == b"\0", "tagged fields in the header of an answer"
    return _with_fields_of(message, version, decode_message(message, version, payload[4 + has_tags :]))


def _with_fields_of(message: str, version: int, value: Any, struct_name: str | None = None) -> Answer:
    found = Answer()
    for field in _fields(message, version, struct_name):
        inner = getattr(value, field.name)
        if field.struct_name is not None and inner is not None:
            structs = inner if field.is_array else (inner,)
            made = tuple(_with_fields_of(message, version, one, field.struct_name) for one in structs)
            inner = made if field.is_array else made[0]
        setattr(found, field.name, inner)
    return found


@cache
def _fields(message: str, version: int, struct_name: str | None) -> list[MessageField]:
    return message_fields(message, version, struct_name)
