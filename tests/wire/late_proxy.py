"""A TCP proxy before one broker that holds back one chosen request while its client goes on.

When the request comes, the proxy cuts the client's connection and keeps its own connection to the broker. On that the
held bytes go to the broker when they are released: what a network does that delivers a segment late. Clients reach the
broker through the proxy alone, since the broker advertises the proxy's port. The proxy reads the headers of frames and
never changes a byte.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import closing, suppress

from peer.broker_process import BrokerProcess, free_port

HOST = "127.0.0.1"
LIMIT_S = 30.0
CUT = (asyncio.IncompleteReadError, OSError)
"""How a connection ends under a reader or a writer."""


class HeldRequest:
    """The request that is held back; at first a request that is yet to come."""

    def __init__(self, api_key: int, newest_version: int) -> None:
        self.api_key = api_key
        self.newest_version = newest_version
        self.version = -1
        self._correlation_id = -1
        self._has_come = threading.Event()
        self._is_released = asyncio.Event()
        self._answer: Future[bytes] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None

    def is_it(self, payload: bytes) -> bool:
        api_key, version = struct.unpack_from(">hh", payload)
        return bool(api_key == self.api_key and version <= self.newest_version)

    def wait(self) -> None:
        """Returns when the request has come."""
        assert self._has_come.wait(LIMIT_S), f"no request with API key {self.api_key} came"

    def has_come(self) -> bool:
        return self._has_come.is_set()

    def release(self) -> bytes:
        """Lets the request go to the broker; returns the payload of the answer."""
        self.wait()
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._is_released.set)
        return self._answer.result(LIMIT_S)

    def is_answered(self) -> bool:
        return self._answer.done()

    async def keep(self, payload: bytes) -> bytes:
        """In the proxy: the request has come; returns the bytes that go to the broker when the request is released."""
        _, self.version, self._correlation_id = struct.unpack_from(">hhi", payload)
        self._loop = asyncio.get_running_loop()
        self._has_come.set()
        await self._is_released.wait()
        return frame(payload)

    def take(self, answer: bytes) -> None:
        """In the proxy: an answer on the request's connection."""
        if struct.unpack_from(">i", answer)[0] == self._correlation_id and not self._answer.done():
            self._answer.set_result(answer)

    def lose(self) -> None:
        """In the proxy: the broker closed the request's connection."""
        if not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the broker closed the connection of the late request"))


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


class LateProxy:
    """Listens on ``port`` until ``close``, in a thread of its own."""

    def __init__(self, broker: BrokerProcess) -> None:
        """Makes the broker advertise the proxy; to be called before the broker's start."""
        self.port = free_port()
        self._broker = broker
        self._next: HeldRequest | None = None
        self._connections: set[asyncio.Task[None] | None] = set()
        """Nothing else refers to the tasks, since a stream's protocol refers weakly to its reader."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="late-proxy", daemon=True)
        broker.overrides["advertised.listeners"] = f"PLAINTEXT://{HOST}:{self.port}"
        serving = asyncio.start_server(self._serve, HOST, self.port)
        self._server = self._loop.run_until_complete(serving)
        self._thread.start()

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    def hold_next(self, api_key: int, newest_version: int = 99) -> HeldRequest:
        """Holds back the next request with this key, on whichever connection it comes."""
        self._next = HeldRequest(api_key, newest_version)
        return self._next

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(LIMIT_S)

    def _run(self) -> None:
        self._loop.run_forever()
        self._server.close()
        self._loop.run_until_complete(self._cut_all())
        self._loop.close()

    @staticmethod
    async def _cut_all() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self._connections.add(asyncio.current_task())
        with suppress(asyncio.CancelledError):  # the proxy is closed
            await self._pass_requests(client, to_client)
        to_client.close()
        self._connections.discard(asyncio.current_task())

    async def _pass_requests(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        try:
            broker, to_broker = await asyncio.open_connection(self._broker.host, self._broker.port)
        except OSError:
            to_client.close()
            return
        with closing(to_broker):
            await self._pass_between(client, to_client, broker, to_broker)

    async def _pass_between(
        self,
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        broker: asyncio.StreamReader,
        to_broker: asyncio.StreamWriter,
    ) -> None:
        held: list[HeldRequest] = []
        answers = asyncio.create_task(pass_answers(broker, to_client, held))
        with suppress(*CUT):
            while True:
                payload = await read_frame(client)
                claimed = self._claim(payload)
                if claimed is None:
                    to_broker.write(frame(payload))
                    await to_broker.drain()
                    continue
                held.append(claimed)
                to_client.close()
                to_broker.write(await claimed.keep(payload))
                await answers
        to_client.close()
        to_broker.close()
        await answers

    def _claim(self, payload: bytes) -> HeldRequest | None:
        held = self._next
        if held is None or not held.is_it(payload):
            return None
        self._next = None
        return held


async def pass_answers(
    broker: asyncio.StreamReader, to_client: asyncio.StreamWriter, held: Sequence[HeldRequest]
) -> None:
    """Until the broker's end is cut, or the held request is answered."""
    with suppress(*CUT):
        while not any(one.is_answered() for one in held):
            answer = await read_frame(broker)
            for one in held:
                one.take(answer)
            if not to_client.is_closing():
                to_client.write(frame(answer))
                await to_client.drain()
    for one in held:
        one.lose()
    to_client.close()
