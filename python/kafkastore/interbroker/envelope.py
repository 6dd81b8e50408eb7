"""Envelope (58, KIP-590): a client's request as a broker passes it on to the controller, and the answer to it.

Kafka's own request carries both as bytes, with their headers::

    request_data      = api_key:i16 api_version:i16 correlation_id:i32 client_id:nullable_string [0:u8] body
    response_data     = correlation_id:i32 [0:u8] body
    request_principal = version:i16 (0) type:compact_string name:compact_string token_authenticated:bool 0:u8

The byte 0 (no tagged fields) is there in flexible versions. An empty ``request_data`` asks for nothing: its answer says
that the broker is the controller and that its loop runs. The bodies pass unread. No I/O.
"""

from __future__ import annotations

from importlib import import_module
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import kafkastore.interbroker.codec  # noqa: F401 - how kio is imported first
from kafkastore.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Callable

_FIXED: Final = 8
"""api_key, api_version, correlation_id"""


class PassedOn(NamedTuple):
    """The request of a client, as :class:`kafkastore._core.Request` has it."""

    api_key: int
    api_version: int
    client_id: str | None
    client_host: str
    body: bytes
    principal: str = ""
    """As Kafka writes it (``User:alice``); empty for a request of a broker itself."""


def probe() -> Any:
    """An Envelope without a request, which asks for nothing."""
    return _envelope(b"", b"", None)


def request_of(passed: PassedOn, *, is_flexible: bool) -> Any:
    """The Envelope that carries ``passed``."""
    client_id = None if passed.client_id is None else passed.client_id.encode()
    data = b"".join(
        (
            passed.api_key.to_bytes(2, signed=True),
            passed.api_version.to_bytes(2, signed=True),
            bytes(4),
            (-1 if client_id is None else len(client_id)).to_bytes(2, signed=True),
            client_id or b"",
            b"\0" if is_flexible else b"",
            passed.body,
        )
    )
    return _envelope(data, _address_bytes(passed.client_host), _principal_bytes(passed.principal))


def passed_by(request: Any, is_flexible: Callable[[int, int], bool]) -> PassedOn:
    """The request that an Envelope carries; ``is_flexible(api key, version)``. Raises InvalidRequestError."""
    data: bytes = request.request_data
    if len(data) < _FIXED + 2:
        raise InvalidRequestError("The header of the enclosed request is cut.")
    key, version = int.from_bytes(data[:2], signed=True), int.from_bytes(data[2:4], signed=True)
    length = int.from_bytes(data[_FIXED : _FIXED + 2], signed=True)
    end = _FIXED + 2 + max(length, 0)
    flexible = is_flexible(key, version)
    if length < -1 or end + flexible > len(data) or (flexible and data[end] != 0):
        raise InvalidRequestError("The header of the enclosed request is wrong.")
    client_id = None if length < 0 else data[_FIXED + 2 : end].decode(errors="replace")
    return PassedOn(
        key,
        version,
        client_id,
        _address_text(request.client_host_address),
        data[end + flexible :],
        _principal_text(request.request_principal),
    )


def response_data(body: bytes, *, is_flexible: bool) -> bytes:
    """The ``response_data`` of the answer to an Envelope."""
    return (b"\0\0\0\0\0" if is_flexible else b"\0\0\0\0") + body


def response_body(data: bytes, *, is_flexible: bool) -> bytes:
    """The body of the enclosed answer."""
    return data[5 if is_flexible else 4 :]


def _envelope(data: bytes, address: bytes, principal: bytes | None) -> Any:
    schema: Any = import_module("kio.schema.envelope.v0.request")
    return schema.EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=address)


def _principal_bytes(principal: str) -> bytes | None:
    if not principal:
        return None
    kind, _, name = principal.partition(":")
    return b"\0\0" + _compact(kind) + _compact(name) + b"\0\0"


def _compact(text: str) -> bytes:
    raw = text.encode()
    length, out = len(raw) + 1, bytearray()
    while length > 0x7F:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    return bytes(out) + raw


def _principal_text(data: bytes | None) -> str:
    """Empty when the bytes are no principal."""
    try:
        kind, at = _compact_at(data or b"", 2)
        name, _ = _compact_at(data or b"", at)
    except (IndexError, ValueError):
        return ""
    return f"{kind}:{name}"


def _compact_at(data: bytes, at: int) -> tuple[str, int]:
    """The text at ``at``, and where the next field begins. Raises IndexError or ValueError."""
    length, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        length |= (byte & 0x7F) << shift
        if byte <= 0x7F:
            break
        shift += 7
    end = at + length - 1
    if length < 1 or end > len(data):
        raise ValueError("a text is cut")
    return data[at:end].decode(), end


def _address_bytes(client_host: str) -> bytes:
    try:
        return ip_address(client_host.rpartition("/")[2]).packed
    except ValueError:
        return b""


def _address_text(address: bytes) -> str:
    """The address as Kafka shows it; empty when the bytes are no address."""
    return f"/{ip_address(address)}" if len(address) in (4, 16) else ""
