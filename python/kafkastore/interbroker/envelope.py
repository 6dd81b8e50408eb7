"""Envelope (58, KIP-590): a client's request as a broker passes it on to the controller, and the answer to it.

Kafka's own request carries both as bytes, with their headers::

    request_principal = version:i16 type:compact_string name:compact_string is_by_token:bool 0:u8
    request_data  = api_key:i16 api_version:i16 correlation_id:i32 client_id:nullable_string [0:u8] body
    response_data = correlation_id:i32 [0:u8] body

The byte 0 (no tagged fields) is there in flexible versions. An empty ``request_data`` asks for nothing: its answer says
that the broker is the controller and that its loop runs. A null principal stands for a broker that asks for itself. The
bodies pass unread. No I/O.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.errors import InvalidRequestError
from kafkastore.messages import OutgoingRequest

if TYPE_CHECKING:
    from collections.abc import Callable

_FIXED: Final = 8
"""api_key, api_version, correlation_id"""


class ForwardedRequest(NamedTuple):
    """The request of a client, as :class:`kafkastore._core.Request` has it."""

    api_key: int
    api_version: int
    client_id: str | None
    client_host: str
    body: bytes
    principal: str | None
    """Whose request it is; None for a broker's own."""


def probe() -> OutgoingRequest:
    """An Envelope without a request, which asks for nothing."""
    return _envelope(b"", b"", None)


def request_of(passed: ForwardedRequest, *, is_flexible: bool) -> OutgoingRequest:
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
    return _envelope(data, _address_bytes(passed.client_host), passed.principal)


def passed_by(request: Any, is_flexible: Callable[[int, int], bool]) -> ForwardedRequest:
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
    principal = request.request_principal
    return ForwardedRequest(
        key,
        version,
        client_id,
        _address_text(request.client_host_address),
        data[end + flexible :],
        None if principal is None else _principal_text(principal),
    )


def response_data(body: bytes, *, is_flexible: bool) -> bytes:
    """The ``response_data`` of the answer to an Envelope."""
    return (b"\0\0\0\0\0" if is_flexible else b"\0\0\0\0") + body


def response_body(data: bytes, *, is_flexible: bool) -> bytes:
    """The body of the enclosed answer."""
    return data[5 if is_flexible else 4 :]


def _envelope(data: bytes, address: bytes, principal: str | None) -> OutgoingRequest:
    fields = {
        "request_data": data,
        "request_principal": None if principal is None else _principal_bytes(principal),
        "client_host_address": address,
    }
    return OutgoingRequest("Envelope", 0, fields)


def _principal_bytes(principal: str) -> bytes:
    kind, _, name = principal.partition(":")
    return bytes(2) + b"".join(_compact(part.encode()) for part in (kind, name)) + b"\0\0"


def _compact(text: bytes) -> bytes:
    """A compact string: its length and one, seven bits a byte, then the text."""
    size, out = len(text) + 1, bytearray()
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes((*out, size)) + text


def _principal_text(data: bytes) -> str:
    """Raises InvalidRequestError."""
    at, parts = 2, []
    for _ in range(2):
        size = shift = 0
        while True:
            if at >= len(data) or shift > 28:
                raise InvalidRequestError("The principal of the enclosed request is cut.")
            size |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if not data[at - 1] & 0x80:
                break
        if size == 0 or at + size - 1 > len(data):
            raise InvalidRequestError("The principal of the enclosed request is cut.")
        parts.append(data[at : at + size - 1].decode(errors="replace"))
        at += size - 1
    return ":".join(parts)


def _address_bytes(client_host: str) -> bytes:
    try:
        return ip_address(client_host.rpartition("/")[2]).packed
    except ValueError:
        return b""


def _address_text(address: bytes) -> str:
    """The address as Kafka shows it; empty when the bytes are no address."""
    return f"/{ip_address(address)}" if len(address) in (4, 16) else ""
