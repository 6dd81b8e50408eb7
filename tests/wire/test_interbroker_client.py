"""The client for inter-broker requests, against a started broker and against sockets that misbehave."""

from __future__ import annotations

import asyncio
import itertools
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest

from kafkastore.errors import ErrorCode
from kafkastore.interbroker.client import FIRST_BACKOFF_S, BrokerClient, BrokerNotReachedError, BrokerUnreachableError
from kafkastore.interbroker.dialer import Connection, Dialer
from kafkastore.messages import OutgoingRequest
from peer.broker_process import BrokerProcess

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

PLENTY_MS = 10_000
NOT_KAFKA = "its answer is not Kafka's protocol"
OF_CONTROLLER = {"controller_id": 1, "controller_epoch": 1, "topic_states": ()}
UPDATE = OutgoingRequest("UpdateMetadata", 8, {**OF_CONTROLLER, "live_brokers": ()})
LEADER_AND_ISR = OutgoingRequest("LeaderAndIsr", 7, {**OF_CONTROLLER, "type": 1, "live_leaders": ()})


@asynccontextmanager
async def client_of(serve: Serve) -> AsyncIterator[BrokerClient]:
    """A client of a server whose connections ``serve`` answers."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await serve(reader, writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    client = BrokerClient("127.0.0.1", server.sockets[0].getsockname()[1], "controller-1")
    try:
        yield client
    finally:
        await client.close()
        server.close()
        await server.wait_closed()


async def read_request(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))


def answering(*answers: Callable[[bytes], bytes]) -> Serve:
    """Serves one connection: the nth request is answered with the nth function's bytes for its correlation id."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            request = await read_request(reader)
            writer.write(answer(request[4:8]))
        await reader.read()

    return serve


def framed(body: bytes) -> Callable[[bytes], bytes]:
    return lambda correlation: struct.pack(">i", 4 + len(body)) + correlation + body


async def fails(
    client: BrokerClient, match: str, request: OutgoingRequest = UPDATE, timeout_ms: int = PLENTY_MS
) -> None:
    with pytest.raises(BrokerUnreachableError, match=match):
        await client.send(request, timeout_ms)


def test_started_broker_answers_on_one_connection(broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    async def opening(dialer: Dialer, host: str, port: int, client_id: str) -> Connection:
        opened.append(port)
        return await dialer.watch(host, port, client_id)

    monkeypatch.setattr(Dialer, "open", opening)

    async def body() -> None:
        client = BrokerClient("127.0.0.1", broker.port, "broker-7")
        software = {"client_software_name": "kafkastore", "client_software_version": "1"}
        versions = OutgoingRequest("ApiVersions", 3, software)
        metadata = OutgoingRequest("Metadata", 12, {"topics": (), "include_topic_authorized_operations": False})
        both = await asyncio.gather(client.send(versions, PLENTY_MS), client.send(metadata, PLENTY_MS))
        assert both[0].error_code == ErrorCode.NONE
        assert {api.api_key for api in both[0].api_keys} >= {0, 1, 3, 18}
        assert broker.port in [one.port for one in both[1].brokers]
        await client.close()

    asyncio.run(body())
    assert opened == [broker.port]


async def test_requests_wait_their_turn_and_answers_are_matched() -> None:
    async with client_of(answering(framed(b"\0\0\0\0"), framed(b"\0\0\x0b\0"), framed(b"\0\0\0\0"))) as client:
        found = await asyncio.gather(*(client.send(UPDATE, PLENTY_MS) for _ in range(3)))
        assert [one.error_code for one in found] == [0, 11, 0]


def test_header_names_the_client_and_the_version() -> None:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))

    async def body() -> None:
        async with client_of(serve) as client:
            await fails(client, "it closed the connection")

    asyncio.run(body())
    assert seen[0][:23] == bytes.fromhex("0006 0008 00000001 000c") + b"controller-1" + b"\0"


async def test_request_to_a_broker_that_hangs_is_repeated_on_another_connection() -> None:
    connections = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(reader)
        request = await read_request(reader)
        if len(connections) > 1:
            writer.write(framed(b"\0\0\0\0")(request[4:8]))
        await reader.read()

    async with client_of(serve) as client:
        await fails(client, "no answer in time", timeout_ms=50)
        assert (await client.send(UPDATE, PLENTY_MS)).error_code == ErrorCode.NONE


MISBEHAVING = {
    "it closes": (lambda _: b"", "it closed the connection"),
    "a short frame": (lambda correlation: b"\0\0\0\x10" + correlation, "it closed the connection"),
    "a frame of two billion": (lambda _: b"\x7f\xff\xff\xff", NOT_KAFKA),
    "a negative frame": (lambda _: b"\x80\0\0\0", NOT_KAFKA),
    "a frame without a header": (lambda _: b"\0\0\0\x03abc", NOT_KAFKA),
    "another correlation id": (lambda _: b"\0\0\0\x08\0\0\0\x63\0\0\0\0", NOT_KAFKA),
    "tags in the header": (framed(b"\xff\xff\xff\xff\x0f"), "tagged fields in the header"),
    "a body that ends": (framed(b"\0\0"), "answered with"),
    "bytes after the body": (framed(b"\0\0\0\0\1"), "answered with"),
}


@pytest.mark.parametrize("name", MISBEHAVING)
def test_broker_that_misbehaves_costs_one_connection(name: str) -> None:
    answer, match = MISBEHAVING[name]
    connections = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(reader)
        request = await read_request(reader)
        writer.write((answer if len(connections) == 1 else framed(b"\0\0\0\0"))(request[4:8]))
        if len(connections) > 1:
            await reader.read()

    async def body() -> None:
        async with client_of(serve) as client:
            await fails(client, match)
            assert (await client.send(UPDATE, PLENTY_MS)).error_code == ErrorCode.NONE

    asyncio.run(body())
    assert len(connections) == 2


async def test_answer_with_an_absurd_count_allocates_nothing() -> None:  # CVE-2026-111108's class, from a peer
    async with client_of(answering(framed(b"\0\0\0" + b"\xff\xff\xff\xff\x0f"))) as client:
        await fails(client, "answered with", LEADER_AND_ISR)


def test_connections_that_fail_are_tried_ever_more_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[float] = []

    async def refuse(*_: object) -> Any:
        tried.append(time.monotonic())
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(Dialer, "open", refuse)

    async def body() -> None:
        client = BrokerClient("127.0.0.1", 1, "controller-1")
        for _ in range(4):
            await fails(client, "refused")

    asyncio.run(body())
    gaps = [after - before for before, after in itertools.pairwise(tried)]
    assert len(gaps) == 3
    assert all(gap >= FIRST_BACKOFF_S * 2**number * 0.9 for number, gap in enumerate(gaps)), gaps


async def test_closing_fails_the_request_that_waits_and_those_after_it() -> None:
    asked = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        asked.set()
        await reader.read()

    async with client_of(serve) as client:
        first = asyncio.create_task(client.send(UPDATE, PLENTY_MS))
        await asked.wait()
        await client.close()
        with pytest.raises(BrokerUnreachableError):
            await first
        await fails(client, "the client is closed")


def test_connection_that_the_broker_has_ended_meanwhile_is_not_sent_on() -> None:  # it died and is back
    connections: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        request = await read_request(reader)
        writer.write(framed(b"\0\0\0\0")(request[4:8]))

    async def body() -> None:
        async with client_of(serve) as client:
            assert (await client.send(UPDATE, PLENTY_MS)).error_code == ErrorCode.NONE
            connection = client._connection
            assert connection is not None
            async with asyncio.timeout(PLENTY_MS / 1000):
                await connection.until_closed()
            assert (await client.send(UPDATE, PLENTY_MS)).error_code == ErrorCode.NONE

    asyncio.run(body())
    assert len(connections) == 2


async def test_request_that_was_not_sent_differs_from_one_without_an_answer() -> None:
    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read_request(reader)

    unreachable = BrokerClient("127.0.0.1", 1, "broker-1")  # nobody listens there
    with pytest.raises(BrokerNotReachedError, match="Connection refused"):
        await unreachable.send(UPDATE, PLENTY_MS)
    async with client_of(serve) as client:
        with pytest.raises(BrokerUnreachableError) as raised:
            await client.send(UPDATE, PLENTY_MS)
        assert not isinstance(raised.value, BrokerNotReachedError)
