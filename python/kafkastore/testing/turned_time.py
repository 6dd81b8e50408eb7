"""What time decides in a broker whose clock a test turns, as far as the control plane can pass a turned time in.

(A) Timers of the loop (housekeeping, rebalances, expiry) go by a :class:`TurnedLoop`. (B) Timestamps and the age of
committed offsets go by ``Surroundings.now_ms``. (C) The data plane has a clock of its own, which cannot be turned: the
times of a topic that it compares with an age are given to it shorter by as much as the clock is ahead, which is the
same comparison (``tested_engine.py``). (D) Sessions of members live in the data plane: those that a turn outlasts are
ended here, at its beginning. (E) So do transactions: one whose timeout is over is ended as Kafka ends it, its producer
fenced.

Never: turns the time of the metadata store, whose sessions are between processes.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode
from kafkastore.interbroker.client import BrokerClient
from kafkastore.internal_topics import TRANSACTION_STATE_TOPIC
from kafkastore.membership import registration
from kafkastore.messages import OutgoingRequest
from kafkastore.server.loop_lag import ControlLoop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkastore.server.broker import Broker
    from kafkastore.testing.clock import Clock

ONGOING: Final = "Ongoing"
ENDING: Final = (ONGOING, "PrepareAbort", "PrepareCommit", "PrepareEpochFence")
END_LIMIT_S: Final = 10.0
REQUEST_LIMIT_MS: Final = 5000
PAUSE_S: Final = 0.001


class TurnedLoop(ControlLoop):
    """Case A. ``ahead_s`` is set on the loop, and a timer that is due by it runs in the next pass."""

    ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s


async def end_sessions(broker: Broker, by_ms: int) -> None:
    """Case D."""
    coordinator = broker.services.groups.made
    if coordinator is None:
        return
    for group in list(coordinator.store.groups.values()):
        for member in list(group.members.values()):
            if member.session_timeout_ms <= by_ms and group.lease.has_session(member.member_id):
                group.lease.cancel_session(member.member_id)
                coordinator.rebalancer.end_session(group, member.member_id)


async def apply(broker: Broker, clock: Clock) -> None:
    """Everything but case D, for a clock that has been turned."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, TurnedLoop)
    loop.ahead_s = clock.ahead_ms / 1000
    engine: Any = broker.engine
    await loop.run_in_executor(None, engine.turn)
    coordinator = broker.services.groups.made
    if coordinator is not None:
        await coordinator.run_steps(coordinator.remover.expire())
    await _end_transactions(broker, clock)


async def _end_transactions(broker: Broker, clock: Clock) -> None:
    """Case E: InitProducerId ends the transaction of the producer before and fences it, as the coordinator does by
    itself at the timeout."""
    over = list(_over(broker, clock.now_ms()))
    if not over:
        return
    config = broker.config
    at = {name: (host, port) for name, host, port in registration.advertised(config, broker.ports)}
    assert broker.parts is not None
    client = BrokerClient(*at[config.inter_broker_listener], "clock", dialer=broker.parts.dialer)
    try:
        for transactional_id, timeout_ms in over:
            fields = {"transactional_id": transactional_id, "transaction_timeout_ms": timeout_ms}
            await client.send(OutgoingRequest("InitProducerId", 4, fields), REQUEST_LIMIT_MS)
        async with asyncio.timeout(END_LIMIT_S):
            for transactional_id, _ in over:
                while _state(broker, transactional_id) in ENDING:  # noqa: ASYNC110 - the data plane tells nobody
                    await asyncio.sleep(PAUSE_S)
    finally:
        await client.close()


def _over(broker: Broker, now_ms: int) -> Iterator[tuple[str, int]]:
    """(transactional id, timeout in ms) of the ongoing transactions whose time is over."""
    topic = broker.image.topics.get(TRANSACTION_STATE_TOPIC)
    if topic is None or broker.services.transactions.made is None:
        return
    transactions = broker.engine.transactions()
    for partition in range(len(topic.partitions)):
        for row in transactions.list(partition, [ONGOING], [], -1, None, now_ms):
            found = transactions.describe(row.transactional_id)
            if found.start_ms >= 0 and found.start_ms + found.timeout_ms <= now_ms:
                yield found.transactional_id, found.timeout_ms


def _state(broker: Broker, transactional_id: str) -> str | None:
    """None when the transactional id is known no more."""
    try:
        return broker.engine.transactions().describe(transactional_id).state
    except EngineError as error:
        if error.code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return None
        raise
