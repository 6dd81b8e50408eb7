"""The controller's events, in order: what waits, who asked for it, and the answers. It knows nothing of what events do."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from kafkastore.errors import KafkastoreError, NotControllerError
from kafkastore.metadata.store import StoreError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kafkastore.controller.term import Term

    Run = Callable[[Term], Awaitable[Any]]
    RunTogether = Callable[[Term, Sequence[Any]], Awaitable[Sequence[Any]]]

T = TypeVar("T")

MAX_WAITING = 10_000
"""Events in the queue; beyond it requests are refused with REQUEST_TIMED_OUT."""


class _Event(NamedTuple):
    name: str
    run: Run
    answer: asyncio.Future[Any] | None  # of whoever asked


class EventQueue:
    """See the module. Runs on one loop; ``wake`` is called when something was put in."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        self._loop = loop
        self._wake = wake
        self._events: deque[_Event] = deque()
        self._queued: set[str] = set()
        self._together: list[tuple[Any, asyncio.Future[Any]]] = []

    def __bool__(self) -> bool:
        return bool(self._events)

    def put(self, name: str, run: Run) -> None:
        self._append(_Event(name, run, None))

    def put_once(self, name: str, run: Run) -> None:
        """Not if an event of this name waits."""
        if name not in self._queued:
            self._queued.add(name)
            self._append(_Event(name, run, None))

    async def ask(self, name: str, run: Callable[[Term], Awaitable[T]]) -> T:
        """What ``run`` returns when its turn has come; raises what it raises, or NotControllerError."""
        self._check_room()
        event = _Event(name, run, self._loop.create_future())
        self._append(event)
        try:
            return cast("T", await event.answer)  # type: ignore[misc]
        except asyncio.CancelledError:  # whoever asked has given up: it is not to happen later
            if event in self._events:
                self._events.remove(event)
            raise

    async def ask_together(self, request: Any, run: RunTogether) -> Any:
        """The answer to one of the requests that are waiting when their turn comes, which are run as one event."""
        self._check_room()
        answer = self._loop.create_future()
        self._together.append((request, answer))
        self.put_once("together", lambda term: self._run_together(term, run))
        return await answer

    async def run_next(self, term: Term) -> None:
        """Runs the first event. Raises what it raised, but for a refusal that whoever asked is told."""
        event = self._events.popleft()
        self._queued.discard(event.name)
        if event.answer is not None and event.answer.done():  # whoever asked is gone
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
        """Empties the queue; whoever asked gets ``error``."""
        events, self._events = self._events, deque()
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
        self._events.append(event)
        self._wake()

    def _check_room(self) -> None:
        if len(self._events) + len(self._together) >= MAX_WAITING:
            raise StoreUnavailableError("/", "the controller is behind with its work")


def _fail(answer: asyncio.Future[Any] | None, error: BaseException) -> None:
    if answer is not None and not answer.done():  # a cancelled event: the controller stops
        answer.set_exception(error if isinstance(error, Exception) else NotControllerError())
