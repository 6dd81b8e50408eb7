"""How much memory the requests that the control plane works on may take together (``kafkastore.control.max.bytes``).

Place: ``server/kafka_apis.py`` asks for admission before it reads a request and calls :meth:`Admission.leave` when the
request is answered. The data plane counts the bodies that are not read yet (``rust/broker/requests/budget.rs``).
Invariants: a request weighs the memory that reading it may take; the bytes of its answer are added as they are written.
A request begins when its weight fits; one large and one small request may always be under way, whatever they weigh.
Large and small requests wait in two queues, each in the order of arrival; large requests leave some room to the small
ones. Requests that cost little weigh nothing: a Heartbeat or JoinGroup never waits here. While clients do not take
their answers (``kafkastore.unsent.max.bytes``), no request with a weight begins, for ten seconds at most. Never:
refuses a request, reads it, looks at its content.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

FREE_BYTES: Final = 1024
"""A body up to this size takes little memory when it is read: it weighs nothing."""

LARGE_BYTES: Final = 64 * 1024
"""A request with a longer body is large and waits in the queue of large requests; as ``Size`` in
``rust/broker/requests/budget.rs``."""

GROWTH: Final = 32
"""How many bytes of memory reading takes for each byte of a body, at most: a row of eight bytes becomes an object with
a name."""

DEAR_WEIGHT: Final = 1 << 20
DEAR: Final = frozenset(
    (
        "OffsetFetch",
        "DescribeGroups",
        "ListGroups",
        "DescribeConfigs",
        "DescribeLogDirs",
        "ElectLeaders",
        "ListPartitionReassignments",
        "DescribeProducers",
        "DescribeTopicPartitions",
    )
)
"""Their work and answers grow with what the broker has, whatever the request's size: they weigh a megabyte at least."""

RELIEF_S: Final = 0.05
"""How often Admission checks whether clients have taken their answers."""

PATIENCE_S: Final = 10.0


class Ticket:
    """The weight of one request and the memory that it holds."""

    __slots__ = ("answer_bytes", "future", "held_bytes", "is_in", "is_large", "weight")

    def __init__(self, weight: int, *, is_large: bool) -> None:
        self.weight = weight
        self.is_large = is_large
        self.is_in = False
        self.held_bytes = 0
        self.answer_bytes = 0
        self.future: asyncio.Future[None] | None = None


class _Lane:
    """The large or the small requests: how many with a weight are under way, up to which total another may begin, and
    which requests wait."""

    __slots__ = ("count", "max_bytes", "waiting")

    def __init__(self, max_bytes: int) -> None:
        self.count = 0
        self.max_bytes = max_bytes
        self.waiting: deque[tuple[Ticket, asyncio.Future[None]]] = deque()


class Admission:
    """See the module. Runs on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, max_bytes: int, is_pressed: Callable[[], bool]) -> None:
        self._loop = loop
        self._is_pressed = is_pressed
        self._pressed_since: float | None = None
        self._is_look_due = False
        self.max_bytes = max_bytes - max_bytes // 4  # a quarter is left for the bodies that are not read yet
        self.used_bytes = 0
        self._lanes = {False: _Lane(self.max_bytes), True: _Lane(self.max_bytes - max_bytes // 8)}
        self.writing = asyncio.Lock()

    def ticket(self, api_name: str, body_bytes: int) -> Ticket:
        """The ticket of a request that has not begun."""
        weight = body_bytes * GROWTH if body_bytes > FREE_BYTES else 0
        if api_name in DEAR:
            weight = max(weight, DEAR_WEIGHT)
        return Ticket(weight, is_large=body_bytes > LARGE_BYTES)

    def try_enter(self, ticket: Ticket) -> bool:
        """Lets the request begin if there is room. False when it has to wait (:meth:`enter`)."""
        lane = self._lanes[ticket.is_large]
        if ticket.weight and (lane.waiting or not self._fits(lane, ticket)):
            return False
        self._let_in(lane, ticket)
        return True

    async def enter(self, ticket: Ticket) -> None:
        """Waits until the request may begin. When the wait is cancelled or fails, the request holds nothing."""
        lane = self._lanes[ticket.is_large]
        ticket.future = future = self._loop.create_future()
        lane.waiting.append((ticket, future))
        self._go_on()
        try:
            await future
        except BaseException:
            self.leave(ticket)
            raise
        finally:
            ticket.future = None
            del future  # an exception in the future holds this frame, and the frame would hold the future: a cycle

    def give_up(self, ticket: Ticket, error: Exception) -> None:
        """The answer is not wanted any more: if the request still waits in :meth:`enter`, the wait raises ``error``."""
        if ticket.future is not None and not ticket.future.done():
            ticket.future.set_exception(error)

    def leave(self, ticket: Ticket) -> None:
        """The request is answered, or another part of the broker counts its memory from now on. May be called
        again."""
        if not ticket.is_in:
            return
        ticket.is_in = False
        self.used_bytes -= ticket.held_bytes
        self._lanes[ticket.is_large].count -= ticket.weight > 0
        ticket.held_bytes = 0
        self._go_on()

    # ---- answers
    def note_answer(self, ticket: Ticket, answer_bytes: int) -> None:
        """``answer_bytes`` of the request's answer are written so far."""
        if ticket.is_in and answer_bytes > ticket.answer_bytes:
            self.used_bytes += answer_bytes - ticket.answer_bytes
            ticket.held_bytes += answer_bytes - ticket.answer_bytes
            ticket.answer_bytes = answer_bytes

    @property
    def is_over(self) -> bool:
        """Whether the requests hold more memory than the limit. Long answers are then written one at a time, under
        :attr:`writing`."""
        return self.used_bytes > self.max_bytes

    # ---- inside
    def _fits(self, lane: _Lane, ticket: Ticket) -> bool:
        if self._has_to_wait_for_clients():
            return False
        return not lane.count or self.used_bytes + ticket.weight <= lane.max_bytes

    def _let_in(self, lane: _Lane, ticket: Ticket) -> None:
        ticket.is_in = True
        ticket.held_bytes = ticket.weight
        self.used_bytes += ticket.weight
        lane.count += ticket.weight > 0

    def _has_to_wait_for_clients(self) -> bool:
        if not self._is_pressed():
            self._pressed_since = None
            return False
        if self._pressed_since is None:
            self._pressed_since = self._loop.time()
        if self._loop.time() - self._pressed_since >= PATIENCE_S:
            self._pressed_since = None  # one request may begin; the next waits again
            return False
        if not self._is_look_due:
            self._is_look_due = True
            self._loop.call_later(RELIEF_S, self._look)
        return True

    def _look(self) -> None:
        self._is_look_due = False
        self._go_on()

    def _go_on(self) -> None:
        for lane in self._lanes.values():
            while lane.waiting:
                ticket, future = lane.waiting[0]
                if not future.done():  # the request that waits may have been cancelled or given up
                    if not self._fits(lane, ticket):
                        break
                    self._let_in(lane, ticket)
                    future.set_result(None)
                lane.waiting.popleft()
