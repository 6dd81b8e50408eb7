"""Topics in which the broker keeps its own state: their names, and what Kafka creates them with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.topic.new_topic import NewTopic

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig

_PREFIXES: Final = {
    "__consumer_offsets": "offsets.topic",
    "__transaction_state": "transaction.state.log",
    "__share_group_state": "share.coordinator.state.topic",
}
"""How the keys of each begin."""


def is_internal(name: str) -> bool:
    """Whether the broker keeps its own state in the topic."""
    return name in _PREFIXES


def internal_topic(config: BrokerConfig, name: str) -> NewTopic:
    """An internal topic with the partitions, replicas and configuration that Kafka gives it."""
    prefix, get = _PREFIXES[name], config.get_int
    return NewTopic(
        name,
        partitions=get(f"{prefix}.num.partitions"),
        replication_factor=get(f"{prefix}.replication.factor"),
        configs=internal_configs(config, name),
    )


def internal_configs(config: BrokerConfig, name: str) -> dict[str, str]:
    """The configuration that Kafka creates an internal topic with; empty for any other topic."""
    prefix = _PREFIXES.get(name)
    if prefix is None:
        return {}
    get = config.get_int
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(get(f"{prefix}.segment.bytes")),
    }
    if name != "__consumer_offsets":
        configs |= {"min.insync.replicas": str(get(f"{prefix}.min.isr"))}
    if name == "__transaction_state":
        configs |= {"compression.type": "uncompressed", "unclean.leader.election.enable": "false"}
    return configs
