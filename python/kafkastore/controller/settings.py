"""The settings that the controller takes from the broker's configuration. Plain values, so that a simulation can make
them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.config import BrokerConfig

REBALANCE_DELAY_S = 5.0
"""The time from a controller's election to its first rebalance of preferred leaders; Kafka's."""

LEADER_IMBALANCE_PERCENTAGE = 10
"""Kafka's leader.imbalance.per.broker.percentage, a key that Kafka 4 dropped."""


class ControllerSettings(NamedTuple):
    min_insync_replicas: int = 1
    is_unclean_election_allowed: bool = False
    is_auto_rebalance_enabled: bool = True
    imbalance_check_interval_s: float = 300.0
    imbalance_percentage: int = LEADER_IMBALANCE_PERCENTAGE
    listener: str | None = None
    """The name of the listener for broker to broker requests; when None, each broker's first listener."""
    request_timeout_ms: int = 30_000
    """Kafka's controller.socket.timeout.ms."""
    has_changes: bool = False
    """Whether the store has dynamic broker configuration (``broker_configs.py``)."""
    is_alone: bool = False
    """Whether the broker is a cluster of one, whose controller logs its elections and moves at DEBUG only."""
    removed_brokers: frozenset[int] = frozenset()
    """The brokers that get no new replicas."""

    def min_isr(self, configs: Mapping[str, str]) -> int:
        """The min.insync.replicas of a topic with these overrides."""
        return int(configs.get("min.insync.replicas", self.min_insync_replicas))

    def allows_unclean_election(self, configs: Mapping[str, str]) -> bool:
        own = configs.get("unclean.leader.election.enable")
        return self.is_unclean_election_allowed if own is None else own == "true"


def settings_of(config: BrokerConfig) -> ControllerSettings:
    """The settings in the broker's file; the controller reads dynamic changes itself (``broker_configs.py``)."""
    written = config.as_written()
    return ControllerSettings(
        min_insync_replicas=written.get_int("min.insync.replicas"),
        is_unclean_election_allowed=bool(written.get("unclean.leader.election.enable")),
        is_auto_rebalance_enabled=bool(config.get("auto.leader.rebalance.enable")),
        imbalance_check_interval_s=float(config.get_int("leader.imbalance.check.interval.seconds")),
        listener=config.text("inter.broker.listener.name"),
        request_timeout_ms=config.get_int("controller.socket.timeout.ms"),
        has_changes=bool(config.dynamic_default or config.dynamic_broker),
        is_alone=not config.is_member,
        removed_brokers=written.removed_brokers,
    )
