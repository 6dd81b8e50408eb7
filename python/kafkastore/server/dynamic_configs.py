"""Broker configuration changed at run time: ``/config/brokers/<default>`` for all, ``/config/brokers/<id>`` for one.

Kept in the store in Kafka's layout, applied at once: the broker's effective values, the engine's options and the effective
configuration of every topic (topics inherit ``log.*``). Knows which values are right only through ``config``; whether a key
may be changed at run time is for the handler to say (``ConfigKey.update_mode``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.config import TopicConfig, broker_keys, topic_defaults
from kafkastore.metadata.nodes import decode_config, encode_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.server.context import BrokerServices

DEFAULT_BROKER = "<default>"


class DynamicConfigs:
    """See the module. Runs on the loop."""

    def __init__(self, broker: BrokerServices) -> None:
        self.broker = broker

    def overrides(self, broker: str) -> dict[str, str]:
        """What was changed for ``broker``: a node id as text, or DEFAULT_BROKER."""
        config = self.broker.config
        return dict(config.dynamic_default if broker == DEFAULT_BROKER else config.dynamic_broker)

    async def load(self) -> None:
        """Reads the store's nodes into the broker's configuration; wrong values left by hand are dropped."""
        tree = {path: data for path, data, _ in await self.broker.store.get_tree("/config/brokers")}
        config = self.broker.config
        config.set_dynamic(
            default=_decode(tree.get(f"/config/brokers/{DEFAULT_BROKER}")),
            broker=_decode(tree.get(f"/config/brokers/{config.node_id}")),
        )

    async def set_overrides(self, broker: str, overrides: Mapping[str, str]) -> None:
        """Replaces what was changed for ``broker`` (node id as text, or DEFAULT_BROKER) and applies it. Raises
        ConfigError for a wrong value, and then nothing has changed."""
        for name, value in overrides.items():
            broker_keys()[name].parse(value)
        path = f"/config/brokers/{broker}"
        await self.broker.store.ensure_path(path)
        await self.broker.store.set(path, encode_config(overrides))
        if broker == DEFAULT_BROKER:
            self.broker.config.set_dynamic(default=overrides)
        elif broker == str(self.broker.node_id):
            self.broker.config.set_dynamic(broker=overrides)
        self.apply()

    def apply(self) -> None:
        """Gives the engine the effective values of the broker and of every topic."""
        services = self.broker
        services.engine.set_broker_options(services.config.engine_options())
        defaults = topic_defaults(services.config)
        for topic in services.image.topics.values():
            services.engine.set_topic_config(topic.name, {**defaults, **topic.configs})


def _decode(data: bytes | None) -> dict[str, str]:
    keys = broker_keys()
    return {name: value for name, value in decode_config(data or b"").items() if name in keys}


def effective_topic_config(broker: BrokerServices, overrides: Mapping[str, str]) -> dict[str, str]:
    """What the engine is given for a topic with these overrides."""
    return TopicConfig(broker.config, overrides).effective()
