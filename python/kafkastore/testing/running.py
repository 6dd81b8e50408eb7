"""One life of a broker, from a start to a stop or a kill: a thread with a loop of its own, in the test's process.

The thread is a daemon: a test that forgets a broker still ends. A kill cuts the connections first, then ends the
threads without closing the logs (``tested_engine.py``). The session of a killed broker in the metadata store ends at
once, not half a second later as that of a dead process.
"""

from __future__ import annotations

import asyncio  # with TLS, which the test may want: the broker's own import would hide it
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from kafkastore.errors import StartupError
from kafkastore.server.broker import Broker
from kafkastore.server.surroundings import Surroundings
from kafkastore.testing import sockets
from kafkastore.testing.tested_engine import TestedEngine
from kafkastore.testing.turned_time import TurnedLoop, apply, end_sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.testing.clock import Clock

T = TypeVar("T")

CALL_LIMIT_S: Final = 60.0


class RunningBroker:
    """See the module. Methods are called from any thread but the broker's, and block."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        """Returns when the broker serves. Raises StartupError."""
        self._config = config
        self._clock = clock
        self._ready: Future[Broker] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_killed = False
        self._engine: TestedEngine | None = None
        self._kill: Callable[[], object] = lambda: None
        self._failure: BaseException | None = None
        self.at_end: list[Callable[[], Coroutine[Any, Any, None]]] = []
        """What is to end after the broker, on its loop."""
        self._thread = threading.Thread(target=self._run, name="kafkastore-broker", daemon=True)
        self._thread.start()
        try:
            self.broker = self._ready.result()
        except BaseException:
            if self._ready.done():  # else the test was interrupted, and the thread ends with the process
                self._thread.join()
            raise
        clock.turned.append(self)

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended, by itself either."""
        return self._thread.is_alive()

    # ---- from the test
    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that runs on the broker's loop. Raises TimeoutError when the loop has ended
        meanwhile."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(CALL_LIMIT_S)

    def stop(self) -> None:
        """As SIGTERM does. Raises StartupError when the broker had to stop by itself before."""
        self._end(self.broker.request_stop)

    def kill(self) -> None:
        """As SIGKILL does; see the module. Of one that has ended by itself nothing is left to kill."""
        self._is_killed = True
        with suppress(StartupError):
            self._end(self._kill)

    def before_turn(self, by_ms: int) -> None:
        if self.is_alive:
            self.call(end_sessions(self.broker, by_ms))

    def after_turn(self) -> None:
        if self.is_alive:
            self.call(apply(self.broker, self._clock))

    def _end(self, how: Callable[[], object]) -> None:
        if self in self._clock.turned:
            self._clock.turned.remove(self)
        if self._loop is not None and self._thread.is_alive():
            with suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(how)
        self._thread.join()
        let_go(self.broker)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # ---- in the thread
    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=self._make_loop) as runner:
                runner.run(self._live())
        except BaseException as error:  # noqa: BLE001 - raised where the test waits
            if self._ready.done():
                self._failure = error
            else:
                self._ready.set_exception(error)
        finally:
            self._loop = None

    def _make_loop(self) -> TurnedLoop:
        loop = TurnedLoop()
        loop.ahead_s = self._clock.ahead_ms / 1000
        return loop

    async def _live(self) -> None:
        surroundings = Surroundings(make_engine=self._make_engine, now_ms=self._clock.now_ms)
        broker = Broker(self._config, surroundings)
        await broker.start()
        self._loop = asyncio.get_running_loop()
        running = asyncio.ensure_future(broker.run_until_stopped())
        self._kill = running.cancel
        self._ready.set_result(broker)
        try:
            await running
        except asyncio.CancelledError:
            if not self._is_killed:
                raise
            await self._die(broker)
        finally:
            for one in self.at_end:
                await one()

    def _make_engine(self, *arguments: Any) -> Engine:
        self._engine = TestedEngine(self._clock, *arguments)
        return cast("Engine", self._engine)

    async def _die(self, broker: Broker) -> None:
        assert self._engine is not None
        self._engine.is_killed = True
        sockets.cut(set(broker.ports))
        await broker.abandon()


def let_go(broker: Broker) -> None:
    """Takes apart what has ended. Its parts know each other in rings: without this the open files, and the memory
    behind those that are removed, would stay until Python looks for rings."""
    parts = getattr(broker, "parts", None)  # None: it was let go before
    for one in [*vars(parts).values(), parts, broker] if parts else ():
        if type(one).__module__.startswith("kafkastore.") and not isinstance(one, asyncio.AbstractEventLoop):
            getattr(one, "__dict__", {}).clear()
