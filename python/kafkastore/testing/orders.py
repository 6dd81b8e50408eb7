"""The faults of requests that a test has ordered: which APIs, what happens to their requests, how often.

Plain values behind one lock: the test's threads order, the proxy on the broker's loop takes.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import TracebackType


@dataclass(eq=False)
class Order:
    """One ordered fault. As a context manager it ends with the block."""

    api_keys: Collection[int]
    cancel: Callable[[], None]
    """Ends it; may be called twice."""
    error_code: int | None = None
    """The request is not carried out, and answered with this."""
    delay_ms: float = 0
    """The request, and those behind it on its connection, wait so long."""
    is_lost: bool = False
    """The request is carried out, and its connection is cut instead of an answer."""
    times: int | None = None
    """How often it is still to happen; None: until it is ended."""
    count: int = 0
    """How often it has happened."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()


@dataclass
class Fate:
    """What happens to one request, by all orders that are about it."""

    error_code: int | None = None
    delay_ms: float = 0
    is_lost: bool = False


@dataclass
class Orders:
    """See the module."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _orders: list[Order] = field(default_factory=list)

    def add(
        self,
        api_keys: Collection[int],
        times: int | None,
        *,
        error_code: int | None = None,
        delay_ms: float = 0,
        is_lost: bool = False,
    ) -> Order:
        """Raises ConfigError."""
        if times is not None and times < 1:
            raise ConfigError(f"faults: times={times} is less than one; leave it out for a fault that lasts")
        order = Order(api_keys, lambda: self._cancel(order), error_code, delay_ms, is_lost, times)
        with self._lock:
            self._orders.append(order)
        return order

    def clear(self) -> None:
        with self._lock:
            self._orders.clear()

    def __bool__(self) -> bool:
        return bool(self._orders)

    def take(self, api_key: int) -> Fate:
        """The fate of the next request of this API. At most one order gives an error or loses the answer; delays add
        up."""
        fate = Fate()
        with self._lock:
            for order in list(self._orders):
                is_decided = fate.error_code is not None or fate.is_lost
                if api_key not in order.api_keys or (is_decided and not order.delay_ms):
                    continue
                fate.error_code = fate.error_code if order.error_code is None else order.error_code
                fate.is_lost |= order.is_lost
                fate.delay_ms += order.delay_ms
                order.count += 1
                if order.times is not None:
                    order.times -= 1
                    if not order.times:
                        self._orders.remove(order)
        return fate

    def _cancel(self, order: Order) -> None:
        with self._lock:
            if order in self._orders:
                self._orders.remove(order)
