"""The transactional ids of this broker, by partition of ``__transaction_state``: loads them and gives them up.

Place: ``Elections`` calls it when this broker is elected for a partition, or gives it up; the state itself is in the
data plane (``Transactions``). A load that begins replaces the data plane's state of the partition, and so does the end
of the partition. Until then the data plane writes under the leader epoch of the load before, so the log refuses its
records once this broker leads in another epoch. Activating a partition also makes the data plane send the markers of
transactions that were prepared: nothing here waits for a request. Never: sees a record or a transactional id.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NamedTuple

from kafkastore._core import EngineError
from kafkastore.errors import KafkastoreError
from kafkastore.internal_topics import TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore._core import LoadedTransactions, Transactions
    from kafkastore.coordinator.runtime.steps import Steps

logger = logging.getLogger("kafkastore.coordinator.transaction")


class LoadedShard(NamedTuple):
    """A partition that was read, and is not active yet."""

    number: int
    """The number of the load in the data plane."""

    loaded: LoadedTransactions


class TransactionShards:
    """The :class:`kafkastore.coordinator.runtime.elections.Shards` of transactional ids."""

    __slots__ = ("_transactions",)

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def leave(self, partition: int) -> Steps[None]:
        """Does nothing: the data plane drops its state when the next load begins, or when the partition is closed, and
        answers the requests that wait."""
        del partition
        yield from ()

    async def read(self, partition: int) -> LoadedShard | None:
        """Reads the partition's records in the thread pool, beside other partitions that load."""
        try:
            number = self._transactions.begin(partition)
            loop = asyncio.get_running_loop()
            loaded = await loop.run_in_executor(None, self._transactions.load, partition, number)
        except EngineError as error:
            raise KafkastoreError(str(error), error.code) from error
        return None if loaded is None else LoadedShard(number, loaded)

    def enter(self, partition: int, read: LoadedShard, activate: Callable[[], bool]) -> Steps[None]:
        """Makes the data plane serve the partition's transactional ids, and finish their prepared transactions."""
        yield from ()
        if not activate():
            return
        self._transactions.activate(partition, read.number)
        loaded = read.loaded
        if loaded.skipped:
            logger.warning(
                "Skipped %d records of %s-%d (%s)",
                loaded.skipped, TRANSACTION_STATE_TOPIC, partition, loaded.skip_reason,
            )  # fmt: skip
        if loaded.count:
            logger.info("Loaded %d transactional ids of %s-%d", loaded.count, TRANSACTION_STATE_TOPIC, partition)

    def close(self, partition: int) -> None:
        self._transactions.close(partition)
