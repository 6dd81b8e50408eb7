"""The partitions, replicas and configuration of internal topics, as Kafka creates them (see ``internal_topics.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.internal_topics import INTERNAL_TOPICS
from kafkastore.topic.new_topic import NewTopic

if TYPE_CHECKING:
    from kafkastore.config import BrokerConfig

ALONE_FIX: Final = "set it to 1 for a broker that is alone"


def internal_topic(config: BrokerConfig, name: str) -> NewTopic:
    """An internal topic with the partitions, replicas and configuration that Kafka gives it."""
    prefix = INTERNAL_TOPICS[name].key_prefix
    return NewTopic(
        name,
        partitions=config.get_int(f"{prefix}.num.partitions"),
        replication_factor=config.get_int(f"{prefix}.replication.factor"),
        configs=internal_configs(config, name),
    )


def too_few_brokers(config: BrokerConfig, name: str, live: int) -> str:
    """Why an internal topic cannot be created: its replicas need more brokers than the ``live`` ones."""
    key = f"{INTERNAL_TOPICS[name].key_prefix}.replication.factor"
    factor = config.get_int(key)
    is_there = f"{live} broker is" if live == 1 else f"{live} brokers are"
    fix = ALONE_FIX if not config.is_member else f"start more brokers, or set it to {max(live, 1)} at most"
    return f"{key}={factor} needs {factor} brokers and {is_there} here; {fix}"


def unfit_for_one_broker(config: BrokerConfig, name: str) -> list[str]:
    """``key=value`` of the keys with which a broker that is alone cannot create an internal topic, or cannot write to
    it."""
    prefix = INTERNAL_TOPICS[name].key_prefix
    keys = [f"{prefix}.{each}" for each in ("replication.factor", "min.isr") if f"{prefix}.{each}" in config.keys]
    return [f"{key}={config.get_int(key)}" for key in keys if config.get_int(key) > 1]


def internal_configs(config: BrokerConfig, name: str) -> dict[str, str]:
    """The configuration that Kafka creates an internal topic with; empty for any other topic."""
    topic = INTERNAL_TOPICS.get(name)
    if topic is None:
        return {}
    own = {key: str(config.get_int(f"{topic.key_prefix}.{of}")) for key, of in topic.configs_from_keys.items()}
    return topic.constant_configs | own
