"""The context of a request, which its handler gets. The handler reaches the broker by the context's ``broker``
(``services.py``).

A handler is ``async def handle(context: RequestContext, request: HeartbeatRequest) -> Unwritten`` in
``handlers/<api>.py``. A request has the fields of all versions, with Kafka's default where its version has not one;
``kafkastore.protocol`` has the types. ``context.row("CreatableTopicResult", ...)`` and ``context.answer(...)`` write
the version that was asked and leave out the fields of others, so one handler serves all versions. An answer that may
have many rows gives them as ``_core.LazyRows``: they are made while the answer is written, in slices of the loop.

A handler that walks more than it answers makes a ``context.turn()`` and gives way between two items.

A handler runs its first step outside of a task (most finish in it): it may await futures, locks and executors, but
``asyncio.timeout`` and ``asyncio.wait_for`` need a task, so a deadline is ``loop.call_later`` on a future. A handler
that waits for other clients returns a :class:`DeferredAnswer`, which takes no task at all.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from kafkastore._core import Unwritten, decode_response, response_encoder
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from kafkastore._core import Encoder, Request
    from kafkastore.dynamic_config.mutation_quotas import MutationQuota
    from kafkastore.requests.admission import Admission, Ticket
    from kafkastore.requests.registry import Api
    from kafkastore.requests.services import BrokerServices

Result = TypeVar("Result")


class _ServedByDataPlane:
    __slots__ = ()


SERVED_BY_DATA_PLANE: Final = _ServedByDataPlane()
"""Returned by a handler that gave its request back with ``engine.serve_here(token)``: nothing is left to answer."""


_encoders: dict[tuple[int, int, str | None], Encoder] = {}
"""By the API's key, the version and the struct."""


class AbandonedError(Exception):
    """The client of this request has gone, or the broker stops: no more work is done for the request."""


class DeferredAnswer(Generic[Result]):
    """The answer of a handler that waits for other clients. It is made of the result that :meth:`put` gets, once,
    before or after the handler has returned this object. A request that waits costs a callback and no task: a rebalance
    has thousands of them. It can be awaited, too."""

    __slots__ = ("_make", "_on_result", "_results")

    def __init__(self, make: Callable[[Result], Unwritten]) -> None:
        self._make: Callable[[Result], Unwritten] | None = make
        self._results: list[Result] = []
        self._on_result: Callable[[], None] | None = None

    @property
    def has_result(self) -> bool:
        return bool(self._results)

    def put(self, result: Result) -> None:
        assert self._make is not None, "answered twice"
        assert not self._results, "answered twice"
        self._results.append(result)
        # the callback holds this object; without the cycle, requests and results are freed at once
        callback, self._on_result = self._on_result, None
        if callback is not None:
            callback()

    def on_result(self, callback: Callable[[], None]) -> None:
        """``callback`` is called when the result comes. Must be called before that."""
        self._on_result = callback

    def response(self) -> Unwritten:
        """Makes the response of the result that has come. May be called once, since neither the result nor the function
        that makes the response is kept."""
        make, self._make = self._make, None
        assert make is not None
        return make(self._results.pop())

    def __await__(self) -> Generator[Any, None, Unwritten]:
        if not self._results:
            future = asyncio.get_running_loop().create_future()
            self.on_result(lambda: None if future.done() else future.set_result(None))  # the wait may be cancelled
            yield from future
        return self.response()


class RequestContext:
    """One request on its way through the control plane."""

    __slots__ = ("admission", "api", "broker", "decoded", "is_abandoned", "is_trusted", "request", "ticket")

    def __init__(self, request: Request, api: Api, broker: BrokerServices, *, is_trusted: bool = False) -> None:
        self.request = request
        self.api = api
        self.broker = broker
        self.is_trusted = is_trusted  # this broker's own request, or that of a broker that has proven the secret
        self.is_abandoned = False  # the client has gone, or the broker stops: the answer is not wanted any more
        self.decoded: Any = None  # the request as an object, until let_go
        self.admission: Admission | None = None
        self.ticket: Ticket | None = None

    @property
    def api_version(self) -> int:
        return self.request.api_version

    def turn(self) -> Turn:
        """A turn for work on this request. The work ends with AbandonedError at the end of a slice when the request is
        abandoned."""
        return Turn(self.check_wanted)

    def check_wanted(self) -> None:
        if self.is_abandoned:
            raise AbandonedError

    def mutation_quota(self, *, strict_from: int) -> MutationQuota:
        """The quota of partitions that this request may create or delete; the quota refuses from version
        ``strict_from`` on. A broker's own requests have none."""
        request = self.request
        principal = "" if self.is_own else request.principal
        return self.broker.quotas.mutations.of(principal, request.client_id, is_strict=self.api_version >= strict_from)

    @property
    def is_own(self) -> bool:
        """Whether no client asked, but this broker or another broker for itself."""
        return self.is_trusted or not self.request.client_host

    def let_go(self) -> None:
        """Drops the request's body and its weight in the admission. A handler calls this before it waits for other
        clients, when another part of the broker counts the request's content, or none keeps it: the requests of the
        other clients could not be admitted otherwise."""
        self.decoded = None
        if self.admission is not None and self.ticket is not None:
            self.request.forget_body()
            self.admission.leave(self.ticket)

    def encoder(self, name: str | None = None) -> Encoder:
        """The encoder of a struct of this response's version; without a name, of the response itself."""
        key = self.api.key, self.request.api_version, name
        found = _encoders.get(key)
        if found is None:
            found = _encoders[key] = response_encoder(*key)
        return found

    def row(self, name: str, /, **fields: Any) -> bytes:
        """A row of the answer, as bytes: the struct ``name`` of this response's version. Fields that only other
        versions have are left out, a field that no version has raises UnknownFieldError; an error code may be any int,
        a topic id is 16 bytes, an array any collection."""
        return self.encoder(name).row(fields)

    def unwritten_row(self, name: str, /, **fields: Any) -> Unwritten:
        """As :meth:`row`, for a row with an array of many rows, given as ``LazyRows``: it is encoded when the answer is
        written."""
        return self.encoder(name).unwritten(fields)

    def answer(self, **fields: Any) -> Unwritten:
        """The response itself, like :meth:`row`; ``throttle_time_ms`` need not be given."""
        return self.encoder().unwritten(fields)

    def as_object(self, response: Unwritten) -> Any:
        """A handler's response as its reader sees it, for a caller within this process."""
        return decode_response(self.api.key, self.request.api_version, b"".join(response.pieces()))
