"""The transaction coordinator, as the control plane knows it: which partitions of ``__transaction_state`` this broker
coordinates, and what is in them.

Place: elections → TransactionCoordinator → ``Transactions`` of the data plane, which serves the requests of producers,
aborts transactions whose timeout is over, sends markers and removes expired ids. Handlers ask here for lists and
descriptions. Runs on the broker's loop. Never: decides about a transaction, sees a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kafkastore.coordinator.runtime.elections import Elections
from kafkastore.coordinator.runtime.partitions import Partitions
from kafkastore.coordinator.runtime.running import in_turns
from kafkastore.coordinator.transaction.listing import ListedTransactions, describe_transaction, list_transactions
from kafkastore.coordinator.transaction.shards import TransactionShards
from kafkastore.errors import CoordinatorNotAvailableError, ErrorCode
from kafkastore.internal_topics import TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kafkastore._core import TransactionDescription, Transactions
    from kafkastore.coordinator.runtime.steps import Steps
    from kafkastore.coordinator.transaction.config import TransactionConfig
    from kafkastore.coordinator.transaction.listing import TransactionFilters

T = TypeVar("T")


class TransactionCoordinator:
    """See the module."""

    def __init__(
        self,
        config: TransactionConfig,
        transactions: Transactions,
        now_ms: Callable[[], int],
        start: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """``now_ms`` is the wall clock. ``start`` runs a coroutine in the background."""
        self.config = config
        self.partitions = Partitions(TRANSACTION_STATE_TOPIC)
        self._transactions = transactions
        self._now_ms = now_ms
        self._elections = Elections(self.partitions, TransactionShards(transactions), self.run_steps, start)

    # ---- life

    def startup(self) -> None:
        """Serves requests from now on; partitions are added by ``on_election``."""
        self._transactions.configure(**self.config._asdict())
        self.partitions.is_running = True

    def shutdown(self) -> None:
        """Ends the service: the data plane answers the requests that wait with NOT_COORDINATOR, and new requests with
        COORDINATOR_NOT_AVAILABLE."""
        self._elections.give_up_all()
        self.partitions.is_running = False
        self._transactions.stop()

    def on_election(self, partition: int, _leader_epoch: int = 0) -> None:
        """This broker leads the partition of ``__transaction_state``: loads it, serves its transactional ids, and
        finishes the transactions that were prepared."""
        self._elections.on_election(partition)

    def on_resignation(self, partition: int) -> None:
        """This broker no longer leads the partition."""
        self._elections.on_resignation(partition)

    async def run_steps(self, steps: Steps[T]) -> T:
        return await in_turns(steps)

    # ---- administration

    async def list_transactions(self, filters: TransactionFilters) -> ListedTransactions:
        """While a partition loads, at the call or after the list is made, the answer is an error, as in Kafka: the list
        would not be complete."""
        if not self.partitions.is_running:
            return ListedTransactions(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if self.partitions.is_loading:
            return ListedTransactions(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        partitions = sorted(self.partitions.states)
        found = await self.run_steps(list_transactions(self._transactions, partitions, filters, self._now_ms()))
        if self.partitions.is_loading:
            return ListedTransactions(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return found

    def describe_transaction(self, transactional_id: str) -> TransactionDescription:
        """Raises KafkastoreError with the error code for the client."""
        if not self.partitions.is_running:
            raise CoordinatorNotAvailableError
        return describe_transaction(self._transactions, transactional_id)
