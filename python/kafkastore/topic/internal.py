"""The partitions, replicas and configuration of internal topics, as Kafka creates them (see ``internal_topics.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.internal_topics import INTERNAL_TOPICS
from kafkastore.topic.new_topic import NewTopic

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig


def internal_topic(config: BrokerConfig, name: str) -> NewTopic:
    """An internal topic with the partitions, replicas and configuration that Kafka gives it."""
    prefix = INTERNAL_TOPICS[name].key_prefix
    return NewTopic(
        name,
        partitions=config.get_int(f"{prefix}.num.partitions"),
        replication_factor=config.get_int(f"{prefix}.replication.factor"),
        configs=internal_configs(config, name),
    )


def internal_configs(config: BrokerConfig, name: str) -> dict[str, str]:
    """The configuration that Kafka creates an internal topic with; empty for any other topic."""
    topic = INTERNAL_TOPICS.get(name)
    if topic is None:
        return {}
    own = {key: str(config.get_int(f"{topic.key_prefix}.{of}")) for key, of in topic.configs_from_keys.items()}
    return topic.constant_configs | own
