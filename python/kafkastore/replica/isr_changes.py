"""Asks the controller for the in-sync sets that leaders on this broker propose, and applies its decision (KIP-497).

The data plane proposes (``IsrChange``), at most one change of a partition at a time. All waiting changes go in one
AlterPartition, one request at a time. The outcome of a change:

A  Decided: the state in the response is the new lease.
B  The partition has another epoch by now: its state is read from the store and is the new lease (H21). The change is
   sent again while the store has no newer state: it may be in force beneath a later one, so it is not withdrawn.
C  Refused for now (a member has died, or is about to stop): withdrawn. The data plane does not propose the refused
   follower again for a while.
D  This broker is no longer the leader, or its lease has changed: the change is dropped. The newer lease is on its way.
E  No answer, or an answer from a broker that is not the controller: sent again. The controller may have written the
   change, so the high watermark waits for both sets until the outcome is known.

This module never changes a set by itself.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode, KafkastoreError, error_name
from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.image import PartitionState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkastore._core import Engine, IsrChange
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.replica.manager import ReplicaManager

    Key = tuple[str, int]
    Ask = Callable[[OutgoingRequest, int], Awaitable[Any]]
    ReadState = Callable[[str, int], Awaitable[PartitionState | None]]

logger = logging.getLogger("kafkastore.replica.isr_changes")

TIMEOUT_MS: Final = 5_000
"""How long an answer may take before the controller is asked again."""

RETRY_S: Final = 0.05
LAST_RETRY_S: Final = 1.0
"""The pause before asking again; it doubles."""

_RETRIED: Final = frozenset(
    (
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.STALE_BROKER_EPOCH,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.REQUEST_TIMED_OUT,
    )
)
_GONE: Final = frozenset(
    (
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NEW_LEADER_ELECTED,
    )
)


class _IsrChange(NamedTuple):
    leader_epoch: int
    partition_epoch: int
    in_sync_replicas: tuple[tuple[int, int], ...]


class IsrChanges:
    """See the module. Runs on the loop."""

    def __init__(
        self,
        node_id: int,
        held: MetadataImage,
        engine: Engine,
        replica_manager: ReplicaManager,
        ask: Ask,
        read_state: ReadState,
    ) -> None:
        self.node_id = node_id
        self.broker_epoch = -1
        self.held = held
        self.engine = engine
        self.replica_manager = replica_manager
        self._ask = ask
        self._read_state = read_state
        self._waiting: dict[Key, _IsrChange] = {}
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False
        self.counts = {"IsrShrinks": 0, "IsrExpands": 0, "FailedIsrUpdates": 0}
        """Counts under Kafka's names: changes that are in force, and changes that were refused."""

    def propose(self, event: IsrChange) -> None:
        """Puts a leader's proposal into the next AlterPartition."""
        change = _IsrChange(event.leader_epoch, event.partition_epoch, tuple(event.in_sync_replicas))
        self._waiting[event.topic, event.partition] = change
        if self._task is None and not self._is_stopped:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Sends no more requests."""
        self._is_stopped = True
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    # ---- asking
    async def _run(self) -> None:
        pause = RETRY_S
        while self._waiting:
            changes, self._waiting = self._waiting, {}
            try:
                again = await self._send(changes)
            except Exception:  # a bug must not keep the in-sync sets as they are for good
                logger.exception("Asking for %d in-sync sets failed", len(changes))
                again = changes
            if not again:
                pause = RETRY_S
                continue
            for key, change in again.items():
                self._waiting.setdefault(key, change)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LAST_RETRY_S)
        self._task = None

    async def _send(self, changes: dict[Key, _IsrChange]) -> dict[Key, _IsrChange]:
        """Sends an AlterPartition with these changes; returns the changes to send again (cases B and E)."""
        current = {key: change for key, change in changes.items() if self._is_current(key, change)}
        if not current:
            return {}
        try:
            response = await self._ask(self._request(current), TIMEOUT_MS)
        except KafkastoreError as error:
            logger.info("The controller could not be asked for %d in-sync sets: %s", len(current), error)
            return current
        if response.error_code != ErrorCode.NONE:
            logger.info("The controller refused %d in-sync sets: %s", len(current), error_name(response.error_code))
            return current
        again = dict(current)
        for topic in response.topics:
            name = self._name_of(topic.topic_id)
            for one in topic.partitions:
                change = again.pop((name, one.partition_index), None)
                if change is None:
                    continue
                if one.error_code in _RETRIED or not await self._settle((name, one.partition_index), change, one):
                    again[name, one.partition_index] = change
        return again

    def _is_current(self, key: Key, change: _IsrChange) -> bool:
        state = self.held.partition(*key)
        return (
            state is not None
            and state.leader == self.node_id
            and state.leader_epoch == change.leader_epoch
            and state.partition_epoch <= change.partition_epoch
        )

    def _name_of(self, topic_id: bytes | None) -> str:
        topic = self.held.topic_by_id(topic_id) if topic_id is not None else None
        return "" if topic is None else topic.name

    def _request(self, changes: dict[Key, _IsrChange]) -> OutgoingRequest:
        by_topic: dict[str, list[Any]] = {}
        for (name, number), change in changes.items():
            members = tuple(
                {"broker_id": node, "broker_epoch": self.broker_epoch if node == self.node_id else epoch}
                for node, epoch in change.in_sync_replicas
            )
            data = {
                "partition_index": number,
                "leader_epoch": change.leader_epoch,
                "new_isr_with_epochs": members,
                "leader_recovery_state": 0,
                "partition_epoch": change.partition_epoch,
            }
            by_topic.setdefault(name, []).append(data)
        topics = [
            {"topic_id": self.held.topics[name].topic_id, "partitions": partitions}
            for name, partitions in by_topic.items()
        ]
        fields = {"broker_id": self.node_id, "broker_epoch": self.broker_epoch, "topics": topics}
        return OutgoingRequest("AlterPartition", 3, fields)

    # ---- answers
    async def _settle(self, key: Key, change: _IsrChange, answer: Any) -> bool:
        """Applies the answer for one change. False while the outcome of the change is unknown."""
        code = answer.error_code
        if code == ErrorCode.NONE:  # A
            state = self.held.partition(*key)
            replicas = () if state is None else state.replicas
            if state is not None and len(answer.isr) != len(state.isr):
                self.counts["IsrShrinks" if len(answer.isr) < len(state.isr) else "IsrExpands"] += 1
            self._take(
                key,
                PartitionState(answer.leader_id, answer.leader_epoch, answer.partition_epoch, replicas, answer.isr),
            )
        elif code == ErrorCode.INVALID_UPDATE_VERSION:  # B
            try:
                found = await self._read_state(*key)
            except KafkastoreError:  # the store is unavailable
                return False
            if found is not None:
                self._take(key, found)
                return found.partition_epoch > change.partition_epoch  # a replica of the store may be behind
        elif code not in _GONE:  # C; what is left is D
            self.counts["FailedIsrUpdates"] += 1
            logger.info("The in-sync set %s of %s-%d is refused: %s", change.in_sync_replicas, *key, error_name(code))
            with suppress(EngineError):  # the partition is not here any more
                self.engine.withdraw_isr_change(*key, change.partition_epoch)
        return True

    def _take(self, key: Key, state: PartitionState) -> None:
        name, number = key
        topic = self.held.topic(name)
        if (
            topic is None
            or state.leader != self.node_id
            or not self._is_current(key, _IsrChange(state.leader_epoch, state.partition_epoch, ()))
        ):
            return  # of another leader, or stale: the controller sends the current state
        self.held.merge(name, topic.topic_id, {number: state})
        self.replica_manager.publish_leases(topic, [number])
