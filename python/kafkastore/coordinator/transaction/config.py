"""The broker's configuration of transactions, read once, under Kafka's names and with Kafka's defaults.

``transaction.partition.verification.enable`` is not here: the data plane reads it, since it belongs to the partitions
that transactions write to. ``transaction.state.log.*`` is what ``__transaction_state`` is created with
(``topic/internal.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig


class TransactionConfig(NamedTuple):
    """See the module."""

    max_timeout_ms: int = 900_000
    """The longest timeout that a producer may ask for."""

    id_expiration_ms: int = 604_800_000
    """How long a transactional id without a transaction is remembered after its last change."""

    abort_interval_ms: int = 10_000
    """The time between two searches for transactions whose timeout is over."""

    expiry_interval_ms: int = 3_600_000
    """The time between two searches for transactional ids that have expired."""

    @classmethod
    def from_broker_config(cls, config: BrokerConfig) -> TransactionConfig:
        return cls(
            max_timeout_ms=config.get_int("transaction.max.timeout.ms"),
            id_expiration_ms=config.get_int("transactional.id.expiration.ms"),
            abort_interval_ms=config.get_int("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            expiry_interval_ms=config.get_int("transaction.remove.expired.transaction.cleanup.interval.ms"),
        )
