"""Frames as bytes on a socket: wrong sizes, unknown requests, bodies cut at any byte, bytes that trickle in.

The broker must do as Apache Kafka: close the connection of a request that it does not understand (except ApiVersions),
and go on serving the others.
"""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

import pytest

from peer.wire_socket import API_VERSIONS, METADATA, ConnectionClosedError, WireSocket, frame, request_header
from wire.requests import WELL_FORMED, Encoded

if TYPE_CHECKING:
    from peer.broker_process import BrokerProcess

UNSUPPORTED_VERSION = 35
SOCKET_REQUEST_MAX_BYTES = 104_857_600
TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(64)
HTTP_GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
ALL_TOPICS = struct.pack(">i", -1)
NO_TOPICS = struct.pack(">i", 0)
LAST_REQUESTS = 300

pytestmark = pytest.mark.usefixtures("bystander")


@pytest.mark.parametrize("size", [-1, -(2**31), 0, 1, 3, 7, SOCKET_REQUEST_MAX_BYTES + 1, 2**31 - 1])
def test_wrong_frame_size_closes_the_connection(broker: BrokerProcess, size: int) -> None:
    with WireSocket(broker.port) as connection:
        connection.send(struct.pack(">i", size) + b"x" * max(0, min(size, 16)))
        assert connection.is_closed_by_peer()


def test_connection_whose_client_sends_no_more_is_closed(broker: BrokerProcess) -> None:
    for number in range(LAST_REQUESTS):  # in some, the request and the end of the stream arrive together
        with WireSocket(broker.port, timeout_s=5.0) as connection:
            connection.send(frame(request_header(METADATA, 1) + NO_TOPICS))
            connection.socket.shutdown(socket.SHUT_WR)
            assert connection.is_closed_after_its_answers(), f"connection {number} stays open"


@pytest.mark.parametrize("data", [HTTP_GET, TLS_HELLO], ids=["http", "tls"])
def test_another_protocol_closes_the_connection(broker: BrokerProcess, data: bytes) -> None:
    with WireSocket(broker.port) as connection:
        connection.send(data)
        assert connection.is_closed_by_peer()


@pytest.mark.parametrize(
    ("api_key", "api_version"),
    [(-1, 0), (4, 0), (999, 0), (32767, 0), (METADATA, -1), (METADATA, 99), (0, -1), (0, 99), (1, -1)],
)
def test_request_that_is_not_advertised_closes_the_connection(
    broker: BrokerProcess, api_key: int, api_version: int
) -> None:
    with WireSocket(broker.port) as connection:
        connection.send(frame(request_header(api_key, api_version) + bytes(64)))
        assert connection.is_closed_by_peer()


@pytest.mark.parametrize("version", [99, 5, -1])
def test_api_versions_of_an_unknown_version_gets_the_v0_answer_with_error_35(
    broker: BrokerProcess, version: int
) -> None:
    with WireSocket(broker.port) as connection:
        answer = connection.ask(API_VERSIONS, version, bytes(20))
        error, count = struct.unpack(">hi", answer[:6])
        ranges = [struct.unpack(">hhh", answer[6 + 6 * i : 12 + 6 * i]) for i in range(count)]
        assert error == UNSUPPORTED_VERSION
        assert len(answer) == 6 + 6 * count
        assert API_VERSIONS in {api_key for api_key, _, _ in ranges}
        assert connection.has_broker(), "the connection goes on"


@pytest.mark.parametrize("request_", WELL_FORMED, ids=lambda request: request.name)
def test_body_cut_at_any_byte_closes_the_connection(broker: BrokerProcess, request_: Encoded) -> None:
    for size in range(len(request_.body)):
        with WireSocket(broker.port) as connection:
            connection.send(frame(request_.header() + request_.body[:size]))
            assert connection.is_closed_by_peer(), f"{request_.name} cut to {size} of {len(request_.body)} bytes"


@pytest.mark.parametrize("request_", WELL_FORMED, ids=lambda request: request.name)
def test_header_cut_at_any_byte_closes_the_connection(broker: BrokerProcess, request_: Encoded) -> None:
    header = request_.header()
    for size in range(len(header)):
        with WireSocket(broker.port) as connection:
            connection.send(frame(header[:size]))
            assert connection.is_closed_by_peer(), f"{request_.name}: header cut to {size} of {len(header)} bytes"


@pytest.mark.parametrize("request_", WELL_FORMED, ids=lambda request: request.name)
def test_well_formed_request_is_answered(broker: BrokerProcess, request_: Encoded) -> None:
    with WireSocket(broker.port) as connection:
        assert connection.ask(request_.api_key, request_.api_version, request_.body, flexible=request_.flexible)


@pytest.mark.parametrize("count", [1, 1_000_000, 2**31 - 1])
def test_count_larger_than_the_bytes_that_follow_closes_the_connection(broker: BrokerProcess, count: int) -> None:
    with WireSocket(broker.port) as connection:
        connection.send(frame(request_header(METADATA, 1) + struct.pack(">i", count)))
        assert connection.is_closed_by_peer()


def test_frame_cut_by_the_clients_end_disturbs_nobody(broker: BrokerProcess) -> None:
    whole = frame(request_header(METADATA, 1) + ALL_TOPICS)
    for size in range(1, len(whole)):
        with WireSocket(broker.port) as connection:
            connection.send(whole[:size])


def test_frame_that_trickles_in_is_served(broker: BrokerProcess) -> None:
    with WireSocket(broker.port) as connection:
        for byte in frame(request_header(METADATA, 1, correlation_id=7) + NO_TOPICS):
            connection.send(bytes([byte]))
        assert connection.receive()[:4] == struct.pack(">i", 7)


# requests of one connection are answered in order
def test_pipelined_requests_are_answered_in_order(broker: BrokerProcess) -> None:
    with WireSocket(broker.port) as connection:
        connection.send(b"".join(frame(request_header(METADATA, 1, correlation_id=i) + NO_TOPICS) for i in range(200)))
        assert [struct.unpack(">i", connection.receive()[:4])[0] for _ in range(200)] == list(range(200))


def test_requests_before_a_bad_one_are_answered(broker: BrokerProcess) -> None:
    good = frame(request_header(METADATA, 1, correlation_id=5) + NO_TOPICS)
    with WireSocket(broker.port) as connection:
        connection.send(good + frame(request_header(999, 0)))
        try:
            assert connection.receive()[:4] == struct.pack(">i", 5)
        except ConnectionClosedError:
            pytest.fail("the answer to the good request was lost")
        assert connection.is_closed_by_peer()


def test_many_idle_and_half_sent_connections_leave_others_served(broker: BrokerProcess) -> None:
    half = frame(request_header(METADATA, 1) + ALL_TOPICS)[:9]
    waiting = [WireSocket(broker.port) for _ in range(300)]
    try:
        for connection in waiting[::2]:
            connection.send(half)
        with WireSocket(broker.port) as another:
            assert another.has_broker()
    finally:
        for connection in waiting:
            connection.socket.close()
