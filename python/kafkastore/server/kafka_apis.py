"""The one entry of every request into the control plane: decode, dispatch, encode. Holds no logic of its
own.

The engine's requests and events come in lots when its eventfd is readable; once :data:`SLICE_S` is over, a pass of the
loop begins no further request or event. The handler's first step runs at once, without a task; a handler that
waits goes on in a task, so other requests do not wait for a slow handler. A handler that waits for other clients
returns a ``DeferredAnswer`` and takes no task. Requests of more than :data:`LARGE_BYTES` are read one a pass, in the
queue of all long work (``purgatory/turns.py``), and answers that take longer than a slice are written in slices. A
connection has at most one request here, so none of this changes the order of its answers. Answers made in one pass of
the loop go back in one call.

A request becomes objects of Python, which needs the interpreter's lock: on a thread of its own it would hold the loop
for as long. The number of rows that an API takes (``requests/registry.py``) bounds the time of a reader.

What can go wrong: A malformed body → one log line, connection closed. B an API or version that is not served → the same
(the data plane refuses these before, except in a race). C a KafkastoreError → the API's error response. D any other
exception → logged with its traceback, UNKNOWN_SERVER_ERROR; when reading the request raised it, the connection is
closed. E a panic in a call of the engine is no Exception and passes all of this; the engine reports it (ThreadFailed),
which ends the process. F the answer is not wanted any more, since the client has gone or the broker stops: the work
ends at its next turn and the connection is closed.
"""

from __future__ import annotations

import gc
import io
import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkastore._core import (
    AppendDone,
    GroupsCreated,
    IsrChange,
    LogDirFailed,
    LogLine,
    LowWatermarkMoved,
    ProducerIdsLow,
    ReplicaMoved,
    Request,
    RequestAbandoned,
    SessionsExpired,
    TooManyRowsError,
    decode_request,
    message_fields,
)
from kafkastore.authorization.audit_log import AuditLog, audit
from kafkastore.errors import ClusterAuthorizationFailedError, ErrorCode
from kafkastore.requests.administrative_acts import AUDITED, AdministrativeAct, act_of, line_of
from kafkastore.requests.admission import Admission
from kafkastore.requests.authorization import log_refused_order
from kafkastore.requests.context import SERVED_BY_DATA_PLANE, AbandonedError, DeferredAnswer, RequestContext
from kafkastore.requests.forwarding import LIMITED
from kafkastore.requests.registry import BY_KEY
from kafkastore.server.holds import LoopHolds
from kafkastore.server.loop_lag import lag_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator

    from kafkastore._core import ThreadFailed, Unwritten
    from kafkastore.replica.isr_changes import IsrChanges
    from kafkastore.requests.services import BrokerServices
    from kafkastore.server.dispatch import Dispatch

logger = logging.getLogger("kafkastore.server.kafka_apis")
data_plane_logger = logging.getLogger("kafkastore.net")

LOT = 64
"""Requests and events taken at a time."""

SLICE_S = 0.005
"""A pass of the loop begins no request or event after this time, so that timers and long work get their turn under
load."""

LONG_BYTES = 64 * 1024
"""An answer of this size or more counts against the memory limit (``requests/admission.py``)."""

LARGE_BYTES = 16 * 1024
"""A body above this size waits for its turn. Reading this much takes 2 ms at most, whatever the rows are."""


class MalformedRequestError(Exception):
    """The body does not follow its API's schema."""


class KafkaApis:
    """See the module. Runs on the loop."""

    def __init__(
        self,
        broker: BrokerServices,
        dispatch: Dispatch,
        isr_changes: IsrChanges,
        on_log_dir_failed: Callable[[LogDirFailed], None],
        on_thread_failed: Callable[[ThreadFailed], None],
    ) -> None:
        self.broker = broker
        self._dispatch = dispatch
        self._isr_changes = isr_changes
        self._on_log_dir_failed = on_log_dir_failed
        self._on_thread_failed = on_thread_failed
        self._has_broker_proof = broker.config.has_broker_proof
        self.holds = LoopHolds(lag=lag_of(broker.loop))
        max_bytes = int(broker.config.get("kafkastore.control.max.bytes"))
        self.admission = Admission(broker.loop, max_bytes, broker.engine.has_much_unsent)
        self._admitted: dict[int, RequestContext] = {}  # by token: requests with a weight that are not answered yet
        self._taken: deque[Any] = deque()  # requests and events of a lot that have not begun yet
        self._goes_on = False  # whether a call of _go_on is scheduled for them
        self._is_stopping = False
        self._answers: list[tuple[int, bytes | None]] = []
        self._is_flush_due = False
        self._spent: dict[int, float] = {}  # by token: seconds of the loop, while request times are limited
        self._audit = AuditLog()
        self._acts: dict[int, AdministrativeAct] = {}  # by token: administrative requests that are not answered yet
        self._handed_back = -1  # the token of the request that went back to the data plane last
        self._tasks: set[Any] = set()
        self._under_way: dict[int, RequestContext] = {}  # by token: requests that a task works on
        self._parked: dict[int, RequestContext] = {}  # by token: requests whose answer comes later, without a task
        self._handlers: dict[int, Callable[[RequestContext, Any], Coroutine[Any, Any, Any]]] = {}

    # ---- life
    def start(self) -> None:
        self.broker.loop.add_reader(self.broker.engine.fileno(), self._on_readable)

    async def drain(self) -> None:
        """Waits for the requests under way. Called when the network is closed, so that no further requests come."""
        import asyncio

        while self._tasks:
            await asyncio.wait(set(self._tasks))
        self._flush()

    def abandon(self) -> None:
        """The broker stops: long work ends at its next turn."""
        self._is_stopping = True
        for context in (*self._under_way.values(), *self._parked.values()):
            context.is_abandoned = True

    def cancel(self) -> None:
        """Gives up on requests that still wait (for a rebalance, say)."""
        for task in list(self._tasks):
            task.cancel()
        while self._parked:
            self._put(self._parked.popitem()[0], None)

    def stop(self) -> None:
        self.broker.loop.remove_reader(self.broker.engine.fileno())

    # ---- in
    def _on_readable(self) -> None:
        """Begins the requests and events of a lot, or of the rest that the slice before left."""
        taken, time = self._taken, self.broker.loop.time
        began = time()
        over_at = began + SLICE_S
        if not taken:
            taken.extend(self.broker.engine.take(LOT))
        while taken:
            event = taken.popleft()
            try:
                self._on_event(event)
            except Exception:  # the rest of the lot is handled, or the clients of its requests would wait for ever
                logger.exception("%s could not be handled", type(event).__name__)
                if isinstance(event, Request):
                    self._put(event.token, None)  # or the client of this request would wait for ever, too
            now = time()
            if not isinstance(event, Request):  # the steps of a request are timed by API
                self.holds.ran(type(event).__name__, now - began)
            if now >= over_at:
                break
            began = now
        if taken and not self._goes_on:
            self._goes_on = True
            self.broker.loop.call_soon(self._go_on)
        self._flush()

    def _go_on(self) -> None:
        self._goes_on = False
        if self._taken:
            self._on_readable()

    def _on_event(
        self,
        event: Request
        | AppendDone
        | GroupsCreated
        | IsrChange
        | LogLine
        | LogDirFailed
        | LowWatermarkMoved
        | ProducerIdsLow
        | ReplicaMoved
        | RequestAbandoned
        | SessionsExpired
        | ThreadFailed,
    ) -> None:
        if isinstance(event, Request):
            api = BY_KEY.get(event.api_key)
            began = self.holds.now()
            try:
                self._begin(event)
            finally:
                held_s = self.holds.note("unknown" if api is None else api.name, began)
                self._spend_if_limited(event.token, held_s)
        elif isinstance(event, AppendDone):
            self.broker.replica_manager.on_append_done(event)
        elif isinstance(event, IsrChange):
            self._isr_changes.propose(event)
        elif isinstance(event, LogLine):
            (audit.info if event.is_audit else data_plane_logger.warning)("%s", event.message)
        elif isinstance(event, LogDirFailed):
            self._on_log_dir_failed(event)
        elif isinstance(event, LowWatermarkMoved):
            self.broker.replica_manager.low_watermarks.on_moved(event)
        elif isinstance(event, ReplicaMoved):
            self.broker.log_dir_moves.on_moved(event)
        elif isinstance(event, GroupsCreated):
            self.broker.group_coordinator.on_groups_created(event.partition, event.group_ids)
        elif isinstance(event, SessionsExpired):
            self.broker.group_coordinator.on_sessions_expired(event.sessions)
        elif isinstance(event, ProducerIdsLow):
            self.broker.producer_ids.claim_ahead()
        elif isinstance(event, RequestAbandoned):
            self._abandon(event.token)
        else:
            self._on_thread_failed(event)

    def _abandon(self, token: int) -> None:
        context = self._under_way.get(token) or self._parked.get(token)
        if context is not None:
            context.is_abandoned = True
            if context.ticket is not None:
                self.admission.give_up(context.ticket, AbandonedError())

    def _begin(self, request: Request) -> None:
        context = self._context(request)
        if context is None:
            return
        size, is_exempt = len(request.body), request.is_broker and self.broker.config.is_member
        ticket = context.ticket = self.admission.ticket(context.api.name, 0 if is_exempt else size)
        if not self.admission.try_enter(ticket):
            self._go_on_in_task(context, self._serve_later(context))
            return
        if ticket.weight:
            self._admitted[request.token] = context
        if size > LARGE_BYTES:
            self._go_on_in_task(context, self._serve_large(context))
            return
        if not self._read(context):
            return
        try:
            coroutine = self._handler(context)(context, context.decoded)
            waits_for = coroutine.send(None)
        except StopIteration as finished:
            self._answer(context, finished.value)
        except Exception as error:  # noqa: BLE001 - cases C, D and F: no handler may take the broker down
            self._respond_error(context, error)
        else:
            self._go_on_in_task(context, self._finish(context, _ResumedCoroutine(coroutine, waits_for)))

    def _answer(self, context: RequestContext, response: Any) -> None:
        """Answers with the handler's result, at once or when the result of a DeferredAnswer comes."""
        if type(response) is not DeferredAnswer:
            self._respond(context, response)
        elif response.has_result:
            self._respond_later(context, response)
        else:
            token = context.request.token
            self._parked[token] = context

            def on_result() -> None:
                if self._parked.pop(token, None) is None:  # cancel() has closed the connection of this request
                    return
                began = self.holds.now()
                try:
                    self._respond_later(context, response)
                finally:
                    self._spend_if_limited(token, self.holds.note(context.api.name, began))

            response.on_result(on_result)

    def _respond_later(self, context: RequestContext, later: DeferredAnswer[Any]) -> None:
        try:
            response = later.response()
        except Exception as error:  # noqa: BLE001 - as below
            self._respond_error(context, error)
        else:
            self._respond(context, response)

    def _go_on_in_task(self, context: RequestContext, work: Coroutine[Any, Any, None]) -> None:
        token = context.request.token
        task = self.broker.loop.create_task(self._timed(context.api.name, token, work))
        self._tasks.add(task)
        self._under_way[token] = context

        def forget(task: Any) -> None:
            self._tasks.discard(task)
            if self._under_way.get(token) is context:
                del self._under_way[token]

        task.add_done_callback(forget)

    async def _timed(self, api: str, token: int, work: Coroutine[Any, Any, None]) -> None:
        await self.holds.timed(api, work, partial(self._spend_if_limited, token))

    def _spend_if_limited(self, token: int, seconds: float) -> None:
        """Counts time of the loop, at the end of a step, for the client's quota of request time."""
        if (
            self.broker.quotas.has_request_limits and token != self._handed_back
        ):  # a request that went back in this step is not answered here
            self._spent[token] = self._spent.get(token, 0.0) + seconds

    async def _serve_later(self, context: RequestContext) -> None:
        """Serves a request that has to wait for memory (``requests/admission.py``)."""
        ticket, token = context.ticket, context.request.token
        assert ticket is not None
        try:
            await self.admission.enter(ticket)
        except AbandonedError:
            context.let_go()
            self._put(token, None)
            return
        self._admitted[token] = context
        await self._serve_large(context)

    async def _serve_large(self, context: RequestContext) -> None:
        """Reads a large request in one pass of the loop and calls its handler in another; a pass reads one large
        request at most."""
        turn = context.turn()
        try:
            await turn.wait()
            if not self._read(context):
                return
            await turn.wait()
        except AbandonedError:
            self._put(context.request.token, None)
            return
        if context.api.name not in LIMITED:  # those requests go to the controller with the body as it came
            context.request.forget_body()
        await self._finish(context, self._handler(context)(context, context.decoded))

    async def _finish(self, context: RequestContext, answering: Awaitable[Any]) -> None:
        try:
            response = await answering
            if type(response) is DeferredAnswer:
                response = await response
        except Exception as error:  # noqa: BLE001 - as above
            self._respond_error(context, error)
        else:
            self._respond(context, response)

    def _context(self, request: Request) -> RequestContext | None:
        """None, with the connection closed, for an API or a version that is not served."""
        api = BY_KEY.get(request.api_key)
        if api is None or not api.has_version(request.api_version):
            self._close(request, f"API key {request.api_key} version {request.api_version} is not served")
            return None
        is_trusted = request.is_broker and self._has_broker_proof
        context = RequestContext(request, api, self.broker, is_trusted=is_trusted)
        context.is_abandoned = self._is_stopping
        context.admission = self.admission
        return context

    def _read(self, context: RequestContext) -> bool:
        """Reads the request; False when it has been answered, or its connection closed, without a handler."""
        request = context.request
        if context.api.is_inter_broker and not self._may_give_orders(request):
            log_refused_order(context)
            self._respond_error(context, ClusterAuthorizationFailedError())  # the request had no effect
            return False
        try:
            context.decoded = self._decode(context)
        except TooManyRowsError as error:
            self._refuse_unread(context, str(error))
            return False
        except MalformedRequestError as error:
            self._close(request, str(error))
            return False
        except Exception:  # D: a request that could not be read cannot be answered
            logger.exception("API key %d v%d could not be read", request.api_key, request.api_version)
            self._put(request.token, None)
            return False
        return True

    def _refuse_unread(self, context: RequestContext, reason: str) -> None:
        """INVALID_REQUEST where the response has an error code of its own. Elsewhere an answer would be as long as the
        request, and the connection is closed instead."""
        request = context.request
        fields = message_fields(f"{context.api.name}Response", request.api_version)
        if all(field.name != "error_code" for field in fields):
            self._close(request, f"{context.api.name} v{request.api_version}: {reason}")
            return
        from kafkastore.requests.error_response import error_answer

        answer = error_answer(context.api, request.api_version, None, ErrorCode.INVALID_REQUEST, reason)
        self._write(context, answer.pieces(), is_error=True)

    def _close(self, request: Request, reason: str) -> None:
        logger.warning("Closing the connection of %s (%s): %s", request.client_host, request.client_id or "", reason)
        self._put(request.token, None)

    def _may_give_orders(self, request: Request) -> bool:
        """Whether the connection of ``request`` may act as a broker. A broker without a cluster takes no inter-broker
        requests from any connection."""
        return request.is_broker and self.broker.config.is_member

    def _decode(self, context: RequestContext) -> Any:
        request, version = context.request, context.api_version
        collects = gc.isenabled()
        gc.disable()  # the body becomes a tree that is kept: searching it for cycles costs more than reading it
        try:
            return decode_request(request.api_key, version, request.body, context.api.max_rows)
        except TooManyRowsError:
            raise
        except ValueError as error:
            message = f"malformed {context.api.name} v{version} request: {error}"
            raise MalformedRequestError(message) from None
        finally:
            if collects:
                gc.enable()

    def _handler(self, context: RequestContext) -> Callable[[RequestContext, Any], Coroutine[Any, Any, Any]]:
        """Called once for a request, when it was read."""
        if context.api.name in AUDITED and (act := act_of(context, context.decoded)) is not None:
            self._acts[context.request.token] = act
        key = context.api.key
        handler = self._handlers.get(key)
        if handler is None:
            handler = self._dispatch.handler(context.api)
            handler = self._handlers[key] = self.broker.forwarding.around(context.api, handler)
        return handler

    # ---- out
    def _respond(self, context: RequestContext, response: Any) -> None:
        if response is SERVED_BY_DATA_PLANE:
            self._handed_back = context.request.token
            self._spent.pop(context.request.token, None)
            self._end(context.request.token)
            return
        self._write(context, _pieces(response))

    def _write(self, context: RequestContext, pieces: Iterator[bytes], *, is_error: bool = False) -> None:
        """Writes the answer at once when that takes no longer than a slice and, while memory is over its limit, less
        than :data:`LONG_BYTES`. Otherwise the rest of the answer is written in turns."""
        out, time = io.BytesIO(), self.broker.loop.time
        over_at = time() + SLICE_S
        try:
            for piece in pieces:
                out.write(piece)
                if time() >= over_at or (self.admission.is_over and out.tell() >= LONG_BYTES):
                    self._go_on_in_task(context, self._go_on_writing(context, pieces, out, is_error=is_error))
                    return
        except Exception as error:  # noqa: BLE001 - a handler's response that cannot be written is case D
            self._respond_unwritten(context, error, is_error=is_error)
            return
        self._put(context.request.token, out.getvalue())

    async def _go_on_writing(
        self, context: RequestContext, pieces: Iterator[bytes], out: io.BytesIO, *, is_error: bool
    ) -> None:
        """Writes the rest of an answer in turns. While memory is over its limit, only one answer is written at a
        time."""
        turn, admission, ticket = context.turn(), self.admission, context.ticket
        noted, is_alone = 0, False
        try:
            await turn.wait()
            for piece in pieces:
                out.write(piece)
                if ticket is not None and out.tell() - noted >= LONG_BYTES:
                    noted = out.tell()
                    admission.note_answer(ticket, noted)
                    if admission.is_over and not is_alone:
                        await admission.writing.acquire()
                        is_alone = True
                await turn.give_way()
        except Exception as error:  # noqa: BLE001 - as above
            self._respond_unwritten(context, error, is_error=is_error)
            return
        finally:
            if is_alone:
                admission.writing.release()
        self._put(context.request.token, out.getvalue())

    def _respond_unwritten(self, context: RequestContext, error: Exception, *, is_error: bool) -> None:
        if is_error:  # not even the error could be written
            logger.error(
                "An error of %s v%d could not be written", context.api.name, context.api_version, exc_info=error
            )
            self._put(context.request.token, None)
        else:
            self._respond_error(context, error)

    def _respond_error(self, context: RequestContext, error: Exception) -> None:
        request = context.request
        if isinstance(error, AbandonedError):  # F
            self._put(request.token, None)
            return
        from kafkastore.requests.error_response import UNEXPECTED, error_answer, expected

        answered = expected(error)
        if answered is None:
            logger.error(
                "%s v%d from %s (%s) failed", context.api.name, request.api_version, request.client_host,
                request.client_id or "", exc_info=error,
            )  # fmt: skip
        # a task that has ended with the error may still hold it, and by the traceback all objects of the handler
        error.__traceback__ = error.__context__ = error.__cause__ = None
        response = error_answer(context.api, request.api_version, context.decoded, *(answered or UNEXPECTED))
        self._write(context, response.pieces(), is_error=True)

    def _put(self, token: int, body: bytes | None) -> None:
        """Queues an answer; the answers of one pass of the loop go out together. None closes the connection."""
        self._answers.append((token, body))
        self._end(token)
        act = self._acts.pop(token, None)
        if act is not None:
            self._note(act, body)
        if not self._is_flush_due:
            self._is_flush_due = True
            self.broker.loop.call_soon(self._flush)

    def _note(self, act: AdministrativeAct, body: bytes | None) -> None:
        now_s = self.broker.loop.time()
        if not self._audit.is_full(now_s) and (line := line_of(act, body)) is not None:
            self._audit.write(line, now_s)

    def _end(self, token: int) -> None:
        """The control plane has finished the request: releases its memory, since an exception may still hold the
        context."""
        context = self._admitted.pop(token, None)
        if context is not None:
            context.let_go()

    def _flush(self) -> None:
        self._is_flush_due = False
        if self._answers:
            answers, self._answers = self._answers, []
            if self._spent:
                spent = [(token, self._spent.pop(token)) for token, _ in answers if token in self._spent]
                self.broker.engine.quotas().note_request_times([(token, round(s * 1e6)) for token, s in spent])
            self.broker.engine.respond(answers)


def _pieces(response: Unwritten | bytes) -> Iterator[bytes]:
    """``response`` is bytes when the controller has answered."""
    if isinstance(response, bytes):
        yield response
    else:
        yield from response.pieces()


class _ResumedCoroutine:
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
                except BaseException as error:  # noqa: BLE001 - cancellation included: the coroutine has to see it
                    waits_for = coroutine.throw(error)
                else:
                    waits_for = coroutine.send(sent)
        except StopIteration as finished:
            return finished.value
