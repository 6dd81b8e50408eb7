"""One raw connection: kio-encoded requests to any Kafka-compatible broker, one at a time.

A request is given as plain dicts and lists; what a version does not have is dropped, what is not given
gets the protocol's default or the type's zero, so that one case serves every version of its API.
Never retries and never interprets an answer.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import importlib
import io
import socket
import struct
import typing
from typing import Any

ANSWER_TIMEOUT_SECONDS = 10.0


class ConnectionClosed(Exception):
    """The broker closed the connection instead of answering."""


def camel(snake: str) -> str:
    return "".join(part.capitalize() for part in snake.split("_"))


def load(api: str, version: int, direction: str) -> type[Any]:
    """The kio class of one (api, version, "request" or "response")."""
    module = importlib.import_module(f"kio.schema.{api}.v{version}.{direction}")
    wanted = (camel(api) + camel(direction)).lower()
    for name in dir(module):
        if name.lower() == wanted:
            return typing.cast("type[Any]", getattr(module, name))
    raise LookupError(f"kio has no {wanted} v{version}")


@functools.cache
def _hints(entity: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(entity)


def build(entity: type[Any], given: dict[str, Any]) -> Any:
    """An instance of ``entity`` from plain values; unknown names are dropped."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(entity):
        hint = _hints(entity)[field.name]
        if field.name in given:
            values[field.name] = _convert(hint, given[field.name])
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            values[field.name] = _zero(hint)
    return entity(**values)


def _inner(hint: Any) -> tuple[Any, bool]:
    arguments = typing.get_args(hint)
    if type(None) in arguments:
        return next(a for a in arguments if a is not type(None)), True
    return hint, False


def _convert(hint: Any, value: Any) -> Any:
    inner, _ = _inner(hint)
    if value is None:
        return None
    if typing.get_origin(inner) is tuple:
        element = typing.get_args(inner)[0]
        return tuple(_convert(element, item) for item in value)
    if dataclasses.is_dataclass(inner):
        return build(typing.cast("type[Any]", inner), value)
    if isinstance(inner, type) and issubclass(inner, datetime.timedelta):
        return datetime.timedelta(milliseconds=value)
    return value


def _zero(hint: Any) -> Any:
    inner, optional = _inner(hint)
    if optional:
        return None
    if typing.get_origin(inner) is tuple:
        return ()
    if isinstance(inner, type) and issubclass(inner, datetime.timedelta):
        return datetime.timedelta(seconds=30)
    for kind, zero in ((bool, False), (int, 0), (str, ""), (float, 0.0)):
        if isinstance(inner, type) and issubclass(inner, kind):
            return zero
    raise TypeError(f"no zero for {hint}")


class RawClient:
    """A blocking connection to ``host:port``."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), ANSWER_TIMEOUT_SECONDS)
        self._correlation_id = 0

    def close(self) -> None:
        self._socket.close()

    def ask(self, api: str, version: int, given: dict[str, Any]) -> Any:
        """Sends one request and returns the decoded response entity."""
        from kio.serial import entity_reader, entity_writer

        request_class = load(api, version, "request")
        response_class = load(api, version, "response")
        self._correlation_id += 1
        header = build(
            request_class.__header_schema__,
            {
                "request_api_key": request_class.__api_key__,
                "request_api_version": version,
                "correlation_id": self._correlation_id,
                "client_id": "parity",
            },
        )
        out = io.BytesIO()
        entity_writer(type(header))(out, header)
        entity_writer(request_class)(out, build(request_class, given))
        frame = out.getvalue()
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        (length,) = struct.unpack(">i", self._receive(4))
        body = self._receive(length)
        answer_header, offset = entity_reader(response_class.__header_schema__)(body, 0)
        if answer_header.correlation_id != self._correlation_id:
            raise AssertionError("an answer to another request")
        answer, size = entity_reader(response_class)(body, offset)
        offset += size
        if offset != len(body):
            raise AssertionError(f"{len(body) - offset} bytes left after {api} v{version}")
        return answer

    def _receive(self, count: int) -> bytes:
        chunks = b""
        while len(chunks) < count:
            chunk = self._socket.recv(count - len(chunks))
            if not chunk:
                raise ConnectionClosed
            chunks += chunk
        return chunks
