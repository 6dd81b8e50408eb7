"""Taking partitions of an internal topic over and giving them up.

Place: ``ReplicaManager.listen`` tells who leads → ``Elections`` → ``Partitions`` (what requests are told) and the
coordinator's :class:`Shards` (the state itself). Each load is a task of its own, so that partitions load beside each
other. A load that fails, by an error of the log or by a bug, leaves the partition to nobody (NOT_COORDINATOR): another
election may do better. Never: reads a record.
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
        """When this returns no request finds anything of the partition; the steps then answer the requests that wait in
        it. Also called for a partition of which there is nothing."""

    async def read(self, partition: int) -> Read | None:
        """Reads the partition's records; nothing when another load of the partition, or its end, came first. Raises
        KafkastoreError."""

    def enter(self, partition: int, read: Read, activate: Callable[[], bool]) -> Steps[None]:
        """Makes the state of what was read. Ends by calling ``activate``, and shows all of it to requests in that same
        step if the answer is True, nothing of it otherwise. What may come later, such as timers, may have further
        steps."""

    def close(self, partition: int) -> None:
        """Another broker has the partition."""


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
        """``run``: runs steps in turns. ``start``: runs a coroutine that nobody waits for."""
        self._partitions = partitions
        self._shards = shards
        self._run = run
        self._start = start

    def on_election(self, partition: int) -> None:
        """This broker leads the partition, or leads it in another epoch: what it kept is forgotten, and read anew."""
        number = self._partitions.begin(partition)
        self._leave(partition)
        self._start(self._load(partition, number))

    def on_resignation(self, partition: int) -> None:
        """This broker leads the partition no more."""
        self._partitions.give_up(partition)
        self._shards.close(partition)
        self._leave(partition)

    def give_up_all(self) -> None:
        """The broker stops."""
        for partition in list(self._partitions.states):
            self.on_resignation(partition)

    def _leave(self, partition: int) -> None:
        self._start(self._run(self._shards.leave(partition)))

    async def _load(self, partition: int, number: int) -> None:
        try:
            if self._partitions.is_late(partition, number):
                return  # given up before this ran: the data plane is not to believe that it loads
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
