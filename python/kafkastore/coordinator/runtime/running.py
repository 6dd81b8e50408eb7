"""Runs a coordinator's work on the loop: steps in turns, answers a few at a time.

Place: between the parts of a coordinator, which know no loop, and the loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkastore.coordinator.runtime.steps import BatchAppendResult
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from kafkastore.coordinator.runtime.internal_log import AppendDone
    from kafkastore.coordinator.runtime.steps import Appends, Steps

T = TypeVar("T")

logger = logging.getLogger("kafkastore.coordinator.runtime")

ANSWERS_A_PASS: Final = 16
"""The most answers in one pass of the loop. Each makes a response; together they take less than a millisecond."""


def background(loop: asyncio.AbstractEventLoop) -> Callable[[Coroutine[Any, Any, None]], None]:
    """A function that runs coroutines on the loop, each as a task that is kept until its end."""
    tasks: set[asyncio.Task[None]] = set()

    def start(coroutine: Coroutine[Any, Any, None]) -> None:
        task = loop.create_task(coroutine)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    return start


async def in_turns(steps: Steps[T]) -> T:
    """Runs the steps to their end, giving way between them and waiting for their appends."""
    turn = Turn()
    results: Sequence[BatchAppendResult] | None = None
    while True:
        try:
            appends = steps.send(results)
        except StopIteration as finished:
            found: T = finished.value
            return found
        if appends is None:
            results = None
            await turn.give_way()
        else:
            results = await _append(appends)


async def _append(appends: Appends) -> Sequence[BatchAppendResult]:
    """Begins all appends before it waits for any."""
    loop = asyncio.get_running_loop()
    waiting: list[asyncio.Future[BatchAppendResult]] = [loop.create_future() for _ in appends]
    for begin, future in zip(appends, waiting, strict=True):
        begin(_setter(future))
    return [await future for future in waiting]


def _setter(future: asyncio.Future[BatchAppendResult]) -> AppendDone:
    def done(error_code: int, base_offset: int) -> None:
        if not future.done():  # the waiting coroutine may have been cancelled
            future.set_result(BatchAppendResult(error_code, base_offset))

    return done


class AnswerQueue:
    """Answers of one coordinator to requests that waited. A rebalance of a thousand members has a thousand at once;
    they are given ``ANSWERS_A_PASS`` in each pass of the loop, in their order."""

    __slots__ = ("_left", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[tuple[Callable[[Any], None], Any]] = deque()
        self._left = ANSWERS_A_PASS  # of this pass of the loop

    def of(self, call: Callable[[Callable[[T], None]], None], respond: Callable[[T], None]) -> None:
        """Runs a call that answers by callback. ``respond`` gets an answer at once if the answer comes before the call
        returns; a later answer waits for its turn."""
        is_late = False

        def put(result: T) -> None:
            if is_late:
                self.put(respond, result)
            else:
                respond(result)

        call(put)
        is_late = True

    def put(self, respond: Callable[[T], None], result: T) -> None:
        if self._left == ANSWERS_A_PASS:
            asyncio.get_running_loop().call_soon(self._next_pass)
        self._waiting.append((respond, result))
        self._some()

    def _some(self) -> None:
        while self._waiting and self._left:
            respond, result = self._waiting.popleft()
            self._left -= 1
            try:
                respond(result)
            except Exception:  # a bug in one answer must not end the answers behind it
                logger.exception("An answer to a request that waited failed")

    def _next_pass(self) -> None:
        self._left = ANSWERS_A_PASS
        self._some()
        if self._left < ANSWERS_A_PASS:
            asyncio.get_running_loop().call_soon(self._next_pass)
