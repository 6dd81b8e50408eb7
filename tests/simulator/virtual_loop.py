"""An event loop whose clock stands still while anything can be done, and then jumps to the next timer.

Callbacks belong to the process (:class:`Process`) in whose context they were scheduled. Those of a process that was
killed are never run; those of one that is stopped wait until it goes on. What has no process is the world's and always
runs. Nothing outside can wake it, no thread, socket or file descriptor, and timers of one moment fire in the order in
which they were set: a run with the same calls has the same order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Process:
    """A process of the simulated machine: alive, stopped (as by SIGSTOP) or dead."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_alive = True
        self.is_stopped = False
        self.held: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self.owes: list[asyncio.Future[Any]] = []
        """Answers that others wait for; when the process dies its connections break."""
        self.context = copy_context()
        self.context.run(_PROCESS.set, self)

    def run(self, callback: Callable[..., Any], *arguments: Any) -> None:
        if not self.is_alive:
            return
        if self.is_stopped:
            self.held.append((callback, arguments))
        else:
            callback(*arguments)

    def go_on(self) -> None:
        """After a stop: what has come meanwhile is done, in order."""
        self.is_stopped = False
        held, self.held = self.held, []
        loop = asyncio.get_running_loop()
        for callback, arguments in held:
            loop.call_soon(callback, *arguments, context=self.context)


_PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


def current_process() -> str:
    """The name of the process that runs now; empty for none."""
    process = _PROCESS.get()
    return "" if process is None else process.name


class Quiescent(Exception):  # noqa: N818 - that nothing is left to do is no error of the loop
    """Nothing is scheduled any more."""


class Handle:
    """A callback that is to run in its context; asyncio's own has more to it, and a run has some ten thousand."""

    __slots__ = ("arguments", "callback", "context", "is_cancelled", "process", "when_s")

    def __init__(self, callback: Any, arguments: tuple[Any, ...], context: Context | None, when_s: float = 0.0) -> None:
        self.process = _PROCESS.get() if context is None else context.get(_PROCESS)
        self.context = copy_context() if context is None else context
        self.callback = callback
        self.arguments = arguments
        self.when_s = when_s
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True
        self.callback = self.arguments = None

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self.when_s


class VirtualLoop(asyncio.BaseEventLoop):
    """See the module."""

    def __init__(self) -> None:
        super().__init__()
        self._ready: deque[Handle] = deque()
        self.failures: list[dict[str, Any]] = []
        """What went wrong where nobody was told."""
        self.readers: dict[int, Callable[[], None]] = {}
        """By file descriptor; whoever knows that one is readable calls it."""
        self.tasks: list[asyncio.Task[Any]] = []
        """All there were: those of a dead process must not be closed by the collector in the middle of a run."""
        self._now = 0.0
        self._timers: list[tuple[float, int, Handle]] = []
        self._set = 0
        self.set_exception_handler(self._note_exception)

    def _note_exception(self, _: Any, context: dict[str, Any]) -> None:
        if context.get("exception") is not None:
            self.failures.append(context)

    def time(self) -> float:
        return self._now

    # ---- callbacks by process
    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> Any:
        handle = Handle(callback, args, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        timer = Handle(callback, args, context, when)
        self._set += 1
        heappush(self._timers, (when, self._set, timer))
        return timer

    def create_task(self, coro: Any, **options: Any) -> Any:
        task = asyncio.Task(coro, loop=self, **options)
        self.tasks.append(task)
        return task

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """At once: threads would bring an order of their own. What takes its time gives a future."""
        future = self.create_future()
        try:
            result = func(*args)
            if isinstance(result, asyncio.Future):
                return result
            future.set_result(result)
        except Exception as error:  # noqa: BLE001 - it is whoever asked who handles it
            future.set_exception(error)
        return future

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:
        """Called once at once, as if it were readable: it may be."""
        self.readers[fd] = callback
        self.call_soon(callback, *args)

    def remove_reader(self, fd: Any) -> bool:
        return self.readers.pop(fd, None) is not None

    def close(self) -> None:
        """And it lets go of all that it held: somebody may hold the loop for as long as this process lives."""
        self.set_exception_handler(lambda *_: None)  # what is left of a run fails nothing
        self.tasks.clear()
        self._timers.clear()
        self._ready.clear()
        self.readers.clear()
        super().close()

    # ---- the rounds
    def _run_once(self) -> None:
        """All that there is to do until the loop is to stop."""
        ready = self._ready
        while not self._stopping:  # type: ignore[attr-defined]
            if not ready:
                self._jump()
            handle = ready.popleft()
            if handle.is_cancelled:
                continue
            process = handle.process
            try:
                if process is None:
                    handle.context.run(handle.callback, *handle.arguments)
                elif process.is_alive:
                    handle.context.run(process.run, handle.callback, *handle.arguments)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001 - a callback's; asyncio goes on, too
                name = getattr(handle.callback, "__qualname__", "a callback")
                self.call_exception_handler({"message": f"{name} failed", "exception": error})

    def _jump(self) -> None:
        """To the next timer."""
        timers, ready = self._timers, self._ready
        while timers and timers[0][2].is_cancelled:
            heappop(timers)
        if not timers:
            raise Quiescent
        when = self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= when:
            ready.append(heappop(timers)[2])

    def _write_to_self(self) -> None:
        return
