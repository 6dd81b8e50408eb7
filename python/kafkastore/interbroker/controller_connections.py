"""The connections over which a broker passes requests on to the controller: some at once, one request on each.

A request that must not be done twice is sent only after the controller has answered a probe: a controller that hangs or
is cut off has not received the request, which may then go to another controller. The idle connections are all to one
address: when the controller changes, those to the former controller are closed. This module repeats no request.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.interbroker.unreachable import BrokerNotReachedError, BrokerUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.interbroker.client import BrokerClient
    from kafkastore.messages import OutgoingRequest

    Address = tuple[str, int]
    Connect = Callable[[str, int, str], BrokerClient]

MAX_AT_ONCE: Final = 16
"""How many requests are under way at once; further requests wait, and their time limits go on meanwhile."""

PROBE_S: Final = 2.0
"""How long a probe waits for the controller's loop; after that the caller may try this controller again, or another."""


class NotTakenError(KafkastoreError):
    """The controller did nothing: it was not reached, or is no longer the controller."""

    code = ErrorCode.NOT_CONTROLLER


class OutcomeUnknownError(KafkastoreError):
    """The controller may have executed the request."""

    code = ErrorCode.REQUEST_TIMED_OUT


class ControllerConnections:
    """See the module. Runs on the loop; its methods need a task."""

    def __init__(self, client_id: str, connect: Connect) -> None:
        self._client_id = client_id
        self._connect = connect
        self._address: Address | None = None
        self._idle: list[BrokerClient] = []
        self._turns = asyncio.Semaphore(MAX_AT_ONCE)

    async def pass_on(
        self, address: Address, envelope: OutgoingRequest, limit_s: float, *, is_repeatable: bool
    ) -> bytes:
        """The answer of the controller at ``address`` to the request that ``envelope`` carries. Raises NotTakenError,
        OutcomeUnknownError, and the KafkastoreError with which the controller refuses an envelope that it cannot
        read."""
        from kafkastore.interbroker.envelope import probe

        deadline = asyncio.get_running_loop().time() + limit_s
        async with self._turns:
            client = self._client_of(address)
            try:
                if not is_repeatable:
                    await self._send(client, probe(), min(PROBE_S, _left_s(deadline)), is_probe=True)
                return await self._send(client, envelope, _left_s(deadline), is_probe=is_repeatable)
            finally:
                await self._give_back(client)

    async def close(self) -> None:
        self._address = None
        await self._close_idle()

    # ---- inside
    async def _send(self, client: BrokerClient, envelope: OutgoingRequest, limit_s: float, *, is_probe: bool) -> bytes:
        try:
            answer = await client.send(envelope, max(1, int(limit_s * 1000)))
        except BrokerNotReachedError as error:
            raise NotTakenError(error.client_message) from None
        except BrokerUnreachableError as error:
            raise (NotTakenError if is_probe else OutcomeUnknownError)(error.client_message) from None
        code = int(answer.error_code)
        if code == ErrorCode.NOT_CONTROLLER:
            raise NotTakenError
        if code != ErrorCode.NONE or answer.response_data is None:
            raise KafkastoreError(code=code or ErrorCode.UNKNOWN_SERVER_ERROR)
        found: bytes = answer.response_data
        return found

    def _client_of(self, address: Address) -> BrokerClient:
        if self._idle and (self._idle[-1].host, self._idle[-1].port) == address:
            return self._idle.pop()
        return self._connect(*address, self._client_id)

    async def _give_back(self, client: BrokerClient) -> None:
        if self._address != (client.host, client.port):
            self._address = client.host, client.port
            await self._close_idle()
        self._idle.append(client)

    async def _close_idle(self) -> None:
        idle, self._idle = self._idle, []
        for client in idle:
            await client.close()


def _left_s(deadline: float) -> float:
    return deadline - asyncio.get_running_loop().time()
