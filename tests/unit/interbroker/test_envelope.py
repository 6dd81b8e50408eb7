"""A request that a broker passes on arrives unchanged, and malformed content of an Envelope is refused (KIP-590)."""

from __future__ import annotations

import pytest

from kafkastore.errors import InvalidRequestError
from kafkastore.interbroker.envelope import ForwardedRequest, passed_by, probe, request_of, response_body, response_data
from kafkastore.messages import replaced
from kafkastore.requests.registry import BY_KEY


def is_flexible(key: int, version: int) -> bool:
    return BY_KEY[key].is_flexible(version)


@pytest.mark.parametrize("principal", ["User:alice", "User:CN=a:b,O=ü" + "x" * 300, None])
@pytest.mark.parametrize("client_host", ["/127.0.0.1", "/::1", ""])
@pytest.mark.parametrize("client_id", ["ein Kunde", "", None, "ü" * 300])
@pytest.mark.parametrize("version", [4, 5])  # CreateTopics is flexible from 5
def test_request_arrives_as_it_was(
    version: int, client_id: str | None, client_host: str, principal: str | None
) -> None:
    passed = ForwardedRequest(19, version, client_id, client_host, b"\x00\x01body", principal)
    envelope = request_of(passed, is_flexible=is_flexible(19, version)).decoded()
    assert passed_by(envelope, is_flexible) == passed


@pytest.mark.parametrize("flexible", [False, True])
def test_answer_arrives_as_it_was(flexible: bool) -> None:
    data = response_data(b"an answer", is_flexible=flexible)
    assert len(data) == 9 + (5 if flexible else 4)
    assert response_body(data, is_flexible=flexible) == b"an answer"


def test_probe_carries_nothing() -> None:
    assert probe().decoded().request_data == b""


@pytest.mark.parametrize(
    "data",
    [
        b"\0\x13",
        b"\0\x13\0\x05\0\0\0\0",
        b"\0\x13\0\x05\0\0\0\0\0\x05abc",
        b"\0\x13\0\x05\0\0\0\0\xff\xfe\0",
        b"\0\x13\0\x05\0\0\0\0\0\x01a",
        b"\0\x13\0\x05\0\0\0\0\0\x01a\x01",
    ],
    ids=["two bytes", "no client id", "client id is cut", "negative length", "no tag byte", "tagged fields"],
)
def test_header_that_is_wrong_is_refused(data: bytes) -> None:
    whole = request_of(ForwardedRequest(19, 5, None, "", b"", None), is_flexible=True).decoded()
    envelope = replaced(whole, request_data=data)
    with pytest.raises(InvalidRequestError):
        passed_by(envelope, is_flexible)
