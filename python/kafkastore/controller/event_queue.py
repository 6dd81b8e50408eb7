"""The queue of the controller's events: the events that wait, and the futures of the callers that await an answer. It
knows nothing of what events do.

Events that keep partitions led are urgent (:data:`URGENT`) and go first: a broker that died, the in-sync sets that
leaders propose, a controlled shutdown. The other events, such as clients' requests, come after them. Each kind runs in
order, and after :data:`URGENT_IN_A_ROW` urgent events one of the others has its turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from kafkastore.errors import KafkastoreError, NotControllerError
from kafkastore.metadata.store import StoreError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kafkastore.controller.term import Term

    Run = Callable[[Term], Awaitable[Any]]
    RunTogether = Callable[[Term, Sequence[Any]], Awaitable[Sequence[Any]]]

T = TypeVar("T")

MAX_WAITING = 10_000
"""The most events in the queue; above it requests are refused with REQUEST_TIMED_OUT."""


URGENT: Final = frozenset(("brokers", "log_dirs", "epoch", "answer", "together", "fence_broker", "controlled_shutdown"))
"""Names of events. "answer": a broker's answer to LeaderAndIsr with the partitions that it cannot lead or follow.
"together": proposals of in-sync sets."""

URGENT_IN_A_ROW: Final = 16


class _Event(NamedTuple):
    name: str
    run: Run
    answer: asyncio.Future[Any] | None  # for the caller; None when no caller waits


class EventQueue:
    """See the module. Runs on one loop; ``wake`` is called when an event was put in."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        self._loop = loop
        self._wake = wake
        self._urgent: deque[_Event] = deque()
        self._others: deque[_Event] = deque()
        self._in_a_row = 0
        self._queued: set[str] = set()
        self._together: list[tuple[Any, asyncio.Future[Any]]] = []

    def __bool__(self) -> bool:
        return bool(self._urgent or self._others)

    def put(self, name: str, run: Run) -> None:
        self._append(_Event(name, run, None))

    def put_once(self, name: str, run: Run) -> None:
        """Puts the event in, unless an event of this name waits already."""
        if name not in self._queued:
            self._queued.add(name)
            self._append(_Event(name, run, None))

    async def ask(self, name: str, run: Callable[[Term], Awaitable[T]]) -> T:
        """Returns what ``run`` returns when its turn has come. Raises what ``run`` raises, or NotControllerError."""
        self._check_room()
        event = _Event(name, run, self._loop.create_future())
        self._append(event)
        try:
            return cast("T", await event.answer)  # type: ignore[misc]
        except asyncio.CancelledError:  # the caller has given up: the event must not run later
            with suppress(ValueError):  # the event has begun and is no longer in the queue
                self._of(name).remove(event)
            raise

    async def ask_together(self, request: Any, run: RunTogether) -> Any:
        """Returns the answer to ``request``. All requests that wait when the event's turn comes run as one event."""
        self._check_room()
        answer = self._loop.create_future()
        self._together.append((request, answer))
        self.put_once("together", lambda term: self._run_together(term, run))
        return await answer

    async def run_next(self, term: Term) -> None:
        """Runs the next event. Raises what the event raises, except a refusal, which only the caller gets."""
        event = self._take()
        self._queued.discard(event.name)
        if event.answer is not None and event.answer.done():  # the caller has given up
            return
        try:
            result = await event.run(term)
        except BaseException as error:
            _fail(event.answer, error)
            is_refusal = isinstance(error, KafkastoreError) and not isinstance(error, NotControllerError | StoreError)
            if event.answer is None or not is_refusal:
                raise
        else:
            if event.answer is not None and not event.answer.done():
                event.answer.set_result(result)

    def refuse_all(self, error: KafkastoreError) -> None:
        """Empties the queue; each caller that waits gets ``error``."""
        events = [*self._urgent, *self._others]
        self._urgent.clear()
        self._others.clear()
        together, self._together = self._together, []
        self._queued.clear()
        for answer in [*(event.answer for event in events), *(answer for _, answer in together)]:
            _fail(answer, error)

    async def _run_together(self, term: Term, run: RunTogether) -> None:
        waiting, self._together = self._together, []
        try:
            answers = await run(term, [request for request, _ in waiting])
        except BaseException as error:
            for _, answer in waiting:
                _fail(answer, error)
            raise
        for (_, answer), found in zip(waiting, answers, strict=True):
            if not answer.done():
                answer.set_result(found)

    def _append(self, event: _Event) -> None:
        self._of(event.name).append(event)
        self._wake()

    def _of(self, name: str) -> deque[_Event]:
        return self._urgent if name in URGENT else self._others

    def _take(self) -> _Event:
        is_urgent = bool(self._urgent) and not (self._others and self._in_a_row >= URGENT_IN_A_ROW)
        self._in_a_row = self._in_a_row + 1 if is_urgent else 0
        return self._urgent.popleft() if is_urgent else self._others.popleft()

    def _check_room(self) -> None:
        if len(self._urgent) + len(self._others) + len(self._together) >= MAX_WAITING:
            raise StoreUnavailableError("/", "the controller is behind with its work")


def _fail(answer: asyncio.Future[Any] | None, error: BaseException) -> None:
    if answer is not None and not answer.done():  # a cancelled event: the controller stops
        answer.set_exception(error if isinstance(error, Exception) else NotControllerError())
