"""Administrative requests reach the controller from any broker, and end at their timeout (KIP-590).

The way of a request: its timeout begins → while this broker is the controller its handler runs here → otherwise the
request goes in an Envelope to the controller over the inter-broker listener, and this broker passes the answer back
without decoding it → while there is no controller, or the known controller cannot be reached, the request waits and is
tried again. NOT_CONTROLLER never reaches a client.

Invariants: whatever a request waits for (a lock, the store, the controller's queue, another broker), it is answered
with REQUEST_TIMED_OUT when its timeout is over; the wait is cancelled then, so an event of the controller that has
not begun does not happen later. A request whose outcome is not known is answered REQUEST_TIMED_OUT at once; only
requests of :func:`_is_repeatable` are tried again. A request that came in an Envelope is never passed on again.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore._core import LazyRows, decode_request, decode_response, request_encoder
from kafkastore.errors import (
    InvalidRequestError,
    KafkastoreError,
    NotControllerError,
    RequestTimedOutError,
)
from kafkastore.interbroker.controller_connections import NotTakenError, OutcomeUnknownError
from kafkastore.messages import replaced
from kafkastore.metadata.store import SessionExpiredError, StoreError
from kafkastore.requests.registry import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from typing import Protocol

    from kafkastore.config import BrokerConfig
    from kafkastore.controller.controller import Controller
    from kafkastore.interbroker.controller_connections import ControllerConnections
    from kafkastore.interbroker.envelope import ForwardedRequest
    from kafkastore.messages import OutgoingRequest
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.requests.context import RequestContext
    from kafkastore.requests.registry import Api
    from kafkastore.topic.new_topic import RequestingClient

    Handler = Callable[[RequestContext, Any], Coroutine[Any, Any, Any]]

    class Handlers(Protocol):
        """Where requests that did not come over a connection get their context and their handler
        (``server/dispatch.py``)."""

        def context(self, request: InternalRequest, api: Api) -> RequestContext: ...
        def handler(self, api: Api) -> Handler: ...


logger = logging.getLogger("kafkastore.requests.forwarding")

FORWARDED: Final = frozenset(
    (
        "CreateTopics",
        "DeleteTopics",
        "CreatePartitions",
        "ElectLeaders",
        "AlterPartitionReassignments",
        "ListPartitionReassignments",
    )
)
"""Requests that only the controller serves."""

CHECK_TIMEOUT: Final = frozenset(("CreateTopics", "DeleteTopics", "CreatePartitions"))
"""Requests whose handlers check for themselves whether the timeout is zero or less, in their own order."""

CONFIGURE: Final = frozenset(("AlterConfigs", "IncrementalAlterConfigs"))
"""The controller changes the configuration of topics; each broker changes its own."""

TOPIC: Final = 2
"""org.apache.kafka.common.config.ConfigResource.Type"""

LIMITED: Final = FORWARDED | CONFIGURE

DEFAULT_TIMEOUT_MS: Final = 30_000
"""The timeout of a request that has none: Kafka's request.timeout.ms."""

ANSWER_S: Final = 0.1
"""How long after the timeout this broker still waits for the controller's own REQUEST_TIMED_OUT answer, which names
each topic."""

FIRST_RETRY_S: Final = 0.02
LAST_RETRY_S: Final = 0.2
"""The first and the longest time between two attempts to find a controller. An election ends the wait early."""

OWN: Final = "User:ANONYMOUS"
"""The principal of requests that no client asked for. They are trusted, so it is only shown."""

LARGE_BYTES: Final = 16 * 1024
"""Above this size the body in an Envelope waits for its turn: one is read in a pass of the loop, as in
``server/kafka_apis.py``."""

METADATA_LIMIT_S: Final = 1.0
"""How long an answer waits until the broker that passed the request on has received the changed metadata."""


class InternalRequest(NamedTuple):
    """A request that did not come from a client of this broker, with the fields that handlers read. ``is_trusted``: it
    may do everything, since this broker or another broker asks for itself."""

    api_key: int
    api_version: int
    client_id: str | None
    client_host: str
    listener: str
    body: bytes
    principal: str
    is_trusted: bool = False
    is_broker: bool = False
    is_token_authenticated: bool = False


class Forwarding:
    """See the module. Runs on the loop. ``catch_up(topics)`` takes over the topic configurations that the controller
    has written."""

    def __init__(
        self,
        config: BrokerConfig,
        image: MetadataImage,
        controller: Controller,
        connections: ControllerConnections,
        handlers: Handlers,
        catch_up: Callable[[Iterable[str]], Coroutine[Any, Any, None]],
    ) -> None:
        self._config = config
        self._image = image
        self._controller = controller
        self.connections = connections
        self._handlers = handlers
        self._catch_up = catch_up
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._is_closed = False
        controller.on_elected = lambda _: self._changed.set()

    async def close(self) -> None:
        """The broker leaves the cluster: requests that wait for a controller end, so that a stop does not wait for
        them."""
        self._is_closed = True
        self._changed.set()
        await self.connections.close()

    # ---- requests of clients
    def around(self, api: Api, handler: Handler) -> Handler:
        """The handler of ``api`` for requests of clients: runs ``handler`` here or on the controller, within the
        request's timeout."""
        if api.name not in LIMITED:
            return handler

        async def serve(context: RequestContext, request: Any) -> Any:
            timeout_ms = _timeout_ms(request)
            if timeout_ms <= 0:
                if api.name not in CHECK_TIMEOUT:
                    raise RequestTimedOutError
                return await handler(context, request)
            deadline = self._loop.time() + timeout_ms / 1000
            if api.name in CONFIGURE:
                return await self._loop.create_task(self._configure(context, request, handler, deadline))
            asking = self._ask(context, request, handler, deadline, is_repeatable=_is_repeatable(api, request))
            return await self._loop.create_task(asking)

        return serve

    async def _configure(self, context: RequestContext, request: Any, handler: Handler, deadline: float) -> Any:
        """Sends the topics of a request to the controller together; the change may be done twice. Serves the other
        resources here, since a client sends changes of a broker's configuration to that broker."""
        if self._controller.is_active or not any(one.resource_type == TOPIC for one in request.resources):
            return await _within(deadline, handler(context, request))
        if any(one.resource_type != TOPIC for one in request.resources):
            return await self._configure_both(context, request, handler, deadline)
        answer = await self._ask(context, request, handler, deadline, is_repeatable=True)
        names = {one.resource_name for one in request.resources} & self._image.topics.keys()
        with suppress(RequestTimedOutError, StoreError):  # the change is done; the watch brings it here soon
            await _within(deadline, self._catch_up(names))
        return answer

    async def _configure_both(self, context: RequestContext, request: Any, handler: Handler, deadline: float) -> Any:
        """Serves each part as a request of its own and puts both results into one answer. When the request for the
        topics fails as a whole, each topic gets the error."""
        others = tuple(one for one in request.resources if one.resource_type != TOPIC)
        topics = replaced(request, resources=tuple(one for one in request.resources if one.resource_type == TOPIC))
        here = await _within(deadline, handler(context, replaced(request, resources=others)))
        found = {_resource(one): (one.error_code, one.error_message) for one in context.as_object(here).responses}
        api, by = context.api, context.request
        version = context.api_version
        body = request_encoder(api.key, version).bytes_of(topics)
        requested = InternalRequest(
            api.key, version, by.client_id, by.client_host, by.listener, body, by.principal, context.is_trusted
        )
        of_topics = self._handlers.context(requested, api)
        try:
            there = await self._configure(of_topics, topics, handler, deadline)
        except KafkastoreError as error:
            found |= {_resource(one): (error.code, error.client_message) for one in topics.resources}
        else:
            there = decode_response(api.key, version, there) if type(there) is bytes else context.as_object(there)
            found |= {_resource(one): (one.error_code, one.error_message) for one in there.responses}

        def row(one: Any) -> bytes:
            code, message = found[_resource(one)]
            kind, name = _resource(one)
            return context.row(
                "AlterConfigsResourceResponse",
                error_code=code,
                error_message=message,
                resource_type=kind,
                resource_name=name,
            )

        return context.answer(responses=LazyRows(request.resources, row))

    # ---- requests of this broker itself
    async def ask(self, request: OutgoingRequest, timeout_ms: int, by: RequestingClient | None = None) -> Any:
        """Returns the answer of the controller, which may be this broker, to a request that may be repeated. The
        request is this broker's own, or that of the client ``by``. Raises RequestTimedOutError."""
        api, version, body = BY_KEY[request.api_key], request.version, request.body()
        if by is None:
            requested = InternalRequest(
                api.key, version, f"broker-{self._config.node_id}", "", "", body, OWN, is_trusted=True
            )
        else:
            requested = InternalRequest(api.key, version, by.client_id, by.client_host, "", body, by.principal)
        context = self._handlers.context(requested, api)
        deadline = self._loop.time() + timeout_ms / 1000
        read = request.decoded()
        asking = self._ask(context, read, self._handlers.handler(api), deadline, is_repeatable=True)
        answer = await self._loop.create_task(asking)
        return request.response(answer) if type(answer) is bytes else context.as_object(answer)

    # ---- requests that another broker passes on
    async def serve_envelope(self, envelope: Any, asker: int) -> bytes:
        """Serves a request as the controller and returns the bytes of its answer for the Envelope. Raises
        NotControllerError when nothing was done, InvalidRequestError for a request that may not be passed on. ``asker``
        is the broker that passed the request on; before this returns, it waits for ``asker`` to receive the change, for
        :data:`METADATA_LIMIT_S` at most."""
        from kafkastore.interbroker.envelope import passed_by, response_data

        passed = passed_by(envelope, _is_flexible)

        api = BY_KEY.get(passed.api_key)
        if api is None or api.name not in LIMITED or not api.has_version(passed.api_version):
            raise InvalidRequestError
        principal = passed.principal
        requested = InternalRequest(*passed[:4], "", passed.body, principal or OWN, is_trusted=principal is None)
        context = self._handlers.context(requested, api)
        turn = context.turn()
        if len(passed.body) > LARGE_BYTES:
            await turn.wait()
        try:
            request = decode_request(api.key, passed.api_version, passed.body, api.max_rows)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from None
        deadline = self._loop.time() + max(_timeout_ms(request), 0) / 1000
        doing = self._here(context, request, self._handlers.handler(api), deadline, is_repeatable=False)
        try:
            response = await self._loop.create_task(doing)
        except NotControllerError:
            raise
        except Exception as error:  # noqa: BLE001 - no request may take the broker down
            response = _error_answer(api, passed, request, error)
        else:
            await self._controller.wait_sent(asker, METADATA_LIMIT_S)
        out = BytesIO()
        async for piece in turn.each(response.pieces()):
            out.write(piece)
        return response_data(out.getvalue(), is_flexible=_is_flexible(passed.api_key, passed.api_version))

    # ---- inside
    async def _ask(
        self, context: RequestContext, request: Any, handler: Handler, deadline: float, *, is_repeatable: bool
    ) -> Any:
        controller, retry_s, attempt = self._controller, FIRST_RETRY_S, 0
        while True:
            self._changed.clear()
            try:
                if controller.is_active:
                    return await self._here(context, request, handler, deadline, is_repeatable=is_repeatable)
                return await self._there(context, request, deadline, attempt, is_repeatable=is_repeatable)
            except (NotControllerError, NotTakenError) as error:
                logger.debug("%s waits for a controller: %s", context.api.name, error)
            except OutcomeUnknownError as error:
                if not is_repeatable:
                    logger.info("%s of %s may have been done: %s", context.api.name, context.request.client_id, error)
                    raise RequestTimedOutError from None
            left_s = deadline - self._loop.time()
            if left_s <= 0 or self._is_closed:
                raise RequestTimedOutError
            try:
                async with asyncio.timeout(min(retry_s, left_s)):
                    await self._changed.wait()
            except TimeoutError:
                retry_s = min(retry_s * 2, LAST_RETRY_S)
            attempt += 1

    async def _here(
        self, context: RequestContext, request: Any, handler: Handler, deadline: float, *, is_repeatable: bool
    ) -> Any:
        """Raises NotControllerError when nothing was done, or when the request may be repeated."""
        try:
            return await _within(deadline, handler(context, request))
        except (NotControllerError, SessionExpiredError) as error:
            if is_repeatable or type(error) is NotControllerError:
                raise NotControllerError from None
            raise RequestTimedOutError from None  # this broker was the controller when the request began

    async def _there(
        self, context: RequestContext, request: Any, deadline: float, attempt: int, *, is_repeatable: bool
    ) -> bytes:
        from kafkastore.interbroker.envelope import ForwardedRequest, request_of, response_body

        address = self._address(attempt)
        requested, left_s = context.request, deadline - self._loop.time()
        body = requested.body
        if attempt:
            body = request_encoder(context.api.key, requested.api_version).bytes_of(_with_timeout(request, left_s))
        principal = None if context.is_trusted else requested.principal
        passed = ForwardedRequest(
            requested.api_key, requested.api_version, requested.client_id, requested.client_host, body, principal
        )
        is_flexible = context.api.is_flexible(requested.api_version)
        try:
            async with asyncio.timeout(left_s + ANSWER_S):
                data = await self.connections.pass_on(
                    address,
                    request_of(passed, is_flexible=is_flexible),
                    left_s + ANSWER_S,
                    is_repeatable=is_repeatable,
                )
        except TimeoutError:
            raise RequestTimedOutError from None
        return response_body(data, is_flexible=is_flexible)

    def _address(self, attempt: int) -> tuple[str, int]:
        """The controller's address. The store and UpdateMetadata may name different controllers just after an election:
        the attempts take turns between them. Raises NotTakenError when no controller is known."""
        image = self._image
        known = (self._controller.controller_id, image.controller_id)
        others = [one for one in dict.fromkeys(known) if one != self._config.node_id and one in image.brokers]
        listener = self._config.inter_broker_listener
        for name, host, port in image.brokers[others[attempt % len(others)]].listeners if others else ():
            if name == listener:
                return host, port
        raise NotTakenError(f"no controller is known on listener {listener}")


def _resource(one: Any) -> tuple[int, str]:
    return one.resource_type, one.resource_name


async def _within(deadline: float, doing: Coroutine[Any, Any, Any]) -> Any:
    """Must run in a task. Raises RequestTimedOutError, with ``doing`` cancelled, at the deadline."""
    try:
        async with asyncio.timeout_at(deadline):
            return await doing
    except TimeoutError:
        raise RequestTimedOutError from None


def _timeout_ms(request: Any) -> int:
    timeout_ms: int = getattr(request, "timeout_ms", DEFAULT_TIMEOUT_MS)
    return timeout_ms


def _with_timeout(request: Any, left_s: float) -> Any:
    if not hasattr(request, "timeout_ms"):
        return request
    return replaced(request, timeout_ms=max(1, int(left_s * 1000)))


def _is_repeatable(api: Api, request: Any) -> bool:
    """Whether the request may be done twice: it changes nothing, and its answer stays the same."""
    return api.name == "ListPartitionReassignments" or getattr(request, "validate_only", False)


def _is_flexible(key: int, version: int) -> bool:
    api = BY_KEY.get(key)
    return api is not None and api.is_flexible(version)


def _error_answer(api: Api, passed: ForwardedRequest, request: Any, error: Exception) -> Any:
    from kafkastore.requests.error_response import UNEXPECTED, error_answer, expected

    answered = expected(error)
    if answered is None:
        logger.error("%s v%d, passed on, failed", api.name, passed.api_version, exc_info=error)
    return error_answer(api, passed.api_version, request, *(answered or UNEXPECTED))
