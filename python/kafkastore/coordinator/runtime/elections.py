"""Takes partitions of an internal topic over at elections, and gives them up at resignations.

Place: ``ReplicaManager.listen`` reports elections → ``Elections`` → ``Partitions`` (the error codes of requests) and
the coordinator's :class:`Shards` (the state itself). Each load is a task of its own, so that partitions load in
parallel. After a load that fails, by an error of the log or by a bug, the partition is not coordinated here
(NOT_COORDINATOR) until the next election. Never: reads a record.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kafkastore.coordinator.runtime.partitions import Partitions
    from kafkastore.coordinator.runtime.steps import Steps

logger = logging.getLogger("kafkastore.coordinator.runtime")

Read = TypeVar("Read")


class Shards(Protocol[Read]):
    """A coordinator's state, by partition of its topic."""

    def leave(self, partition: int) -> Steps[None]:
        """When this returns no request finds any state of the partition; the steps then answer the requests that wait
        in it. Also called for a partition that has no state here."""

    async def read(self, partition: int) -> Read | None:
        """Reads the partition's records. Returns None when another load of the partition, or its end, came first.
        Raises KafkastoreError."""

    def enter(self, partition: int, read: Read, activate: Callable[[], bool]) -> Steps[None]:
        """Makes the partition's state from ``read``, then calls ``activate``. If that returns True, all of the state
        becomes visible to requests in the same step; otherwise none of it does. Later work, such as timers, may take
        further steps."""

    def close(self, partition: int) -> None:
        """Ends the partition, which another broker has now."""


class Elections(Generic[Read]):
    """See the module. Runs on the loop."""

    __slots__ = ("_partitions", "_run", "_shards", "_start")

    def __init__(
        self,
        partitions: Partitions,
        shards: Shards[Read],
        run: Callable[[Steps[None]], Coroutine[Any, Any, None]],
        start: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """``run``: runs steps in turns. ``start``: runs a coroutine in the background."""
        self._partitions = partitions
        self._shards = shards
        self._run = run
        self._start = start

    def on_election(self, partition: int) -> None:
        """This broker leads the partition, or leads it in another epoch: drops the partition's state and loads it
        anew."""
        number = self._partitions.begin(partition)
        self._leave(partition)
        self._start(self._load(partition, number))

    def on_resignation(self, partition: int) -> None:
        """This broker no longer leads the partition."""
        self._partitions.give_up(partition)
        self._shards.close(partition)
        self._leave(partition)

    def give_up_all(self) -> None:
        """Gives up all partitions, as the broker stops."""
        for partition in list(self._partitions.states):
            self.on_resignation(partition)

    def _leave(self, partition: int) -> None:
        self._start(self._run(self._shards.leave(partition)))

    async def _load(self, partition: int, number: int) -> None:
        try:
            if self._partitions.is_late(partition, number):
                return  # given up before this ran: the data plane must not begin a load
            read = await self._shards.read(partition)
            if read is not None and not self._partitions.is_late(partition, number):
                activate = partial(self._partitions.activate, partition, number)
                await self._run(self._shards.enter(partition, read, activate))
        except KafkastoreError as error:
            self._fail(partition, number, str(error))
        except Exception as error:  # a bug must not leave the partition loading for ever
            logger.exception("Loading %s-%d failed", self._partitions.topic, partition)
            self._fail(partition, number, repr(error))

    def _fail(self, partition: int, number: int, reason: str) -> None:
        logger.error("Failed to load %s-%d: %s", self._partitions.topic, partition, reason)
        if not self._partitions.is_late(partition, number):
            self.on_resignation(partition)
