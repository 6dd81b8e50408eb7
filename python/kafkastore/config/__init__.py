"""Kafka's configuration, parsed: ``broker`` (of a broker), ``topic`` (of a topic), ``definitions`` (the keys),
``listeners`` (listener strings), ``properties`` (the format of the file)."""

from __future__ import annotations

from kafkastore.config.broker import (
    SOURCE_DEFAULT,
    SOURCE_DYNAMIC_BROKER,
    SOURCE_DYNAMIC_DEFAULT_BROKER,
    SOURCE_STATIC_BROKER,
    SOURCE_TOPIC,
    BrokerConfig,
)
from kafkastore.config.definitions import ConfigKey, broker_keys, topic_keys
from kafkastore.config.listeners import Listener
from kafkastore.config.topic import (
    HELD,
    TopicConfig,
    engine_topic_config,
    held,
    validate_topic_configs,
)

__all__ = [
    "HELD",
    "SOURCE_DEFAULT",
    "SOURCE_DYNAMIC_BROKER",
    "SOURCE_DYNAMIC_DEFAULT_BROKER",
    "SOURCE_STATIC_BROKER",
    "SOURCE_TOPIC",
    "BrokerConfig",
    "ConfigKey",
    "Listener",
    "TopicConfig",
    "broker_keys",
    "engine_topic_config",
    "held",
    "topic_keys",
    "validate_topic_configs",
]
