"""The one entry of every request into the control plane (spec R0.3): decode, dispatch, encode. Holds no logic of its own.

The engine's requests and events come in batches when its eventfd is readable. A request is checked against its shape
(``sanitize``) before kio sees a byte of it, since kio allocates by the counts it reads. The handler's first step runs at
once, without a task; only a handler that waits becomes one, so nobody waits for a slow one. Answers made in one pass of
the loop go back in one call.

What can go wrong: A malformed body → one log line, connection closed. B an API or version that is not served → the same
(the data plane refuses these before, except in a race). C a KafkastoreError → the API's error response. D any other
exception → logged with its traceback, UNKNOWN_SERVER_ERROR; when it comes of reading the request, the connection is closed.
E a panic in a call of the engine is no Exception and passes all of this; the engine tells of it (ThreadFailed), which ends
the process.
"""

from __future__ import annotations

import io
import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafkastore._core import (
    AppendDone,
    EngineError,
    IsrChange,
    LogDirFailed,
    LogLine,
    LowWatermarkMoved,
    ReplicaMoved,
    Request,
    register_shape,
    sanitize,
)
from kafkastore.errors import ClusterAuthorizationFailedError, ErrorCode, KafkastoreError
from kafkastore.replica import log_dir_moves
from kafkastore.server.context import SERVED_BY_DATA_PLANE, RequestContext, schema_class
from kafkastore.server.registry import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from kafkastore._core import ThreadFailed
    from kafkastore.server.context import BrokerServices

logger = logging.getLogger("kafkastore.server.kafka_apis")
data_plane_logger = logging.getLogger("kafkastore.net")

TAKE_LIMIT = 256
"""Requests and events taken in one pass of the loop, so that timers and file descriptors get their turn under load."""


class MalformedRequestError(Exception):
    """The body does not follow its API's schema."""


class KafkaApis:
    """See the module. Runs on the loop."""

    def __init__(
        self,
        broker: BrokerServices,
        on_log_dir_failed: Callable[[LogDirFailed], None],
        on_thread_failed: Callable[[ThreadFailed], None],
    ) -> None:
        self.broker = broker
        self._on_log_dir_failed = on_log_dir_failed
        self._on_thread_failed = on_thread_failed
        self._answers: list[tuple[int, bytes | None]] = []
        self._is_flush_due = False
        self._tasks: set[Any] = set()
        self._readers: dict[tuple[int, int], Callable[[bytes, int], tuple[Any, int]]] = {}
        self._writers: dict[type[Any], Callable[[Any, Any], None]] = {}
        self._handlers: dict[int, Callable[[RequestContext, Any], Coroutine[Any, Any, Any]]] = {}

    # ---- life
    def start(self) -> None:
        self.broker.loop.add_reader(self.broker.engine.fileno(), self._on_readable)

    async def drain(self) -> None:
        """Waits for the requests under way; none come any more once the network is closed."""
        import asyncio

        while self._tasks:
            await asyncio.wait(set(self._tasks))
        self._flush()

    def cancel(self) -> None:
        """Gives up on requests that still wait (for a rebalance, say)."""
        for task in list(self._tasks):
            task.cancel()

    def stop(self) -> None:
        self.broker.loop.remove_reader(self.broker.engine.fileno())

    # ---- in
    def _on_readable(self) -> None:
        for event in self.broker.engine.take(TAKE_LIMIT):
            try:
                self._on_event(event)
            except Exception:  # the events behind it were taken with it: their clients would wait for ever
                logger.exception("%s could not be handled", type(event).__name__)
        self._flush()

    def _on_event(
        self,
        event: Request
        | AppendDone
        | IsrChange
        | LogLine
        | LogDirFailed
        | LowWatermarkMoved
        | ReplicaMoved
        | ThreadFailed,
    ) -> None:
        if isinstance(event, Request):
            self._begin(event)
        elif isinstance(event, AppendDone):
            self.broker.replica_manager.on_append_done(event)
        elif isinstance(event, IsrChange):
            self.broker.isr_changes.propose(event)
        elif isinstance(event, LogLine):
            data_plane_logger.warning("%s", event.message)
        elif isinstance(event, LogDirFailed):
            self._on_log_dir_failed(event)
        elif isinstance(event, LowWatermarkMoved):
            self.broker.replica_manager.low_watermarks.on_moved(event)
        elif isinstance(event, ReplicaMoved):
            log_dir_moves.on_moved(self.broker, event)
        else:
            self._on_thread_failed(event)

    def _begin(self, request: Request) -> None:
        try:
            context, decoded = self._decode(request)
        except MalformedRequestError as error:
            logger.warning("Closing the connection of %s (%s): %s", request.client_host, request.client_id or "", error)
            self._put(request.token, None)
            return
        except Exception:  # D: unread, it cannot be answered
            logger.exception("API key %d v%d could not be read", request.api_key, request.api_version)
            self._put(request.token, None)
            return
        if context.api.is_inter_broker and not self._may_give_orders(request):
            self._respond_error(context, decoded, ClusterAuthorizationFailedError())  # no effect, whoever it is
            return
        try:
            coroutine = self._handler(context)(context, decoded)
            waits_for = coroutine.send(None)
        except StopIteration as finished:
            self._respond(context, decoded, finished.value)
        except Exception as error:  # noqa: BLE001 - cases C and D: no handler may take the broker down
            self._respond_error(context, decoded, error)
        else:
            task = self.broker.loop.create_task(self._finish(context, decoded, coroutine, waits_for))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _may_give_orders(self, request: Request) -> bool:
        """Whether it came where brokers reach each other; a broker that is alone takes none, from anywhere."""
        config = self.broker.config
        return config.is_member and request.listener == config.inter_broker_listener

    async def _finish(
        self, context: RequestContext, decoded: Any, coroutine: Coroutine[Any, Any, Any], waits_for: Any
    ) -> None:
        try:
            response = await _Resumed(coroutine, waits_for)
        except Exception as error:  # noqa: BLE001 - as above
            self._respond_error(context, decoded, error)
        else:
            self._respond(context, decoded, response)

    def _decode(self, request: Request) -> tuple[RequestContext, Any]:
        api = BY_KEY.get(request.api_key)
        version = request.api_version
        if api is None or not api.has_version(version):
            message = f"API key {request.api_key} version {version} is not served"
            raise MalformedRequestError(message)
        reader = self._readers.get((request.api_key, version)) or self._make_reader(request.api_key, version)
        from kafkastore.server.codec import SerialError

        try:
            decoded, _ = reader(sanitize(request.api_key, version, request.body), 0)
        except (ValueError, OverflowError, SerialError) as error:
            message = f"malformed {api.name} v{version} request: {error}"
            raise MalformedRequestError(message) from None
        return RequestContext(request, api, self.broker), decoded

    def _make_reader(self, key: int, version: int) -> Callable[[bytes, int], tuple[Any, int]]:
        from kafkastore.interbroker import shapes
        from kafkastore.server.codec import entity_reader

        entity_class = schema_class(BY_KEY[key], version, "request")
        register_shape(key, version, shapes.program_for(entity_class))
        reader: Callable[[bytes, int], tuple[Any, int]] = entity_reader(entity_class)
        self._readers[key, version] = reader
        return reader

    def _handler(self, context: RequestContext) -> Callable[[RequestContext, Any], Coroutine[Any, Any, Any]]:
        key = context.api.key
        handler = self._handlers.get(key)
        if handler is None:
            handler = import_module(f"kafkastore.handlers.{context.api.module}").handle
            self._handlers[key] = handler
        return handler

    # ---- out
    def _respond(self, context: RequestContext, decoded: Any, response: Any) -> None:
        if response is SERVED_BY_DATA_PLANE:
            return
        try:
            body = self._encode(response)
        except Exception as error:  # noqa: BLE001 - a handler's response that cannot be written is case D
            self._respond_error(context, decoded, error)
            return
        self._put(context.request.token, body)

    def _respond_error(self, context: RequestContext, decoded: Any, error: Exception) -> None:
        from kafkastore.server.error_response import error_response

        request = context.request
        code, message = ErrorCode.UNKNOWN_SERVER_ERROR, KafkastoreError.text
        if isinstance(error, KafkastoreError):
            code, message = error.code, error.client_message
        elif isinstance(error, EngineError):
            code, message = error.code, str(error)
        else:
            logger.error(
                "%s v%d from %s (%s) failed", context.api.name, request.api_version, request.client_host,
                request.client_id or "", exc_info=error,
            )  # fmt: skip
        response = error_response(context.api, request.api_version, decoded, code, message)
        self._put(request.token, self._encode(response))

    def _encode(self, response: Any) -> bytes:
        writer = self._writers.get(type(response))
        if writer is None:
            from kafkastore.server.codec import entity_writer

            writer = self._writers[type(response)] = entity_writer(type(response))
        buffer = io.BytesIO()
        writer(buffer, response)
        return buffer.getvalue()

    def _put(self, token: int, body: bytes | None) -> None:
        """Queues an answer; all those of one pass of the loop go out together."""
        self._answers.append((token, body))
        if not self._is_flush_due:
            self._is_flush_due = True
            self.broker.loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_due = False
        if self._answers:
            answers, self._answers = self._answers, []
            self.broker.engine.respond(answers)


class _Resumed:
    """Awaits, inside a task, a coroutine whose first step ran outside of it and waits for ``waits_for``."""

    __slots__ = ("coroutine", "waits_for")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], waits_for: Any) -> None:
        self.coroutine = coroutine
        self.waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        coroutine, waits_for = self.coroutine, self.waits_for
        try:
            while True:
                try:
                    sent = yield waits_for
                except GeneratorExit:
                    coroutine.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - cancellation included: it is the coroutine's to see
                    waits_for = coroutine.throw(error)
                else:
                    waits_for = coroutine.send(sent)
        except StopIteration as finished:
            return finished.value
