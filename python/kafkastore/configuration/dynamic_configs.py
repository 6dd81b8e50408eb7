"""Broker configuration changed at run time: ``/config/brokers/<default>`` for all, ``/config/brokers/<id>`` for one.

Kept in the store in Kafka's layout, applied at once: to the broker's effective values, the engine's options and the
effective configuration of every topic (topics inherit ``log.*``). ``config`` checks the values; the handler decides
whether a key may be changed at run time (``ConfigKey.update_mode``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.config import HELD, engine_topic_config
from kafkastore.config.broker_values import check_broker_value
from kafkastore.errors import ConfigError
from kafkastore.metadata.node_content import InvalidNodeError, report
from kafkastore.metadata.nodes import decode_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.metadata.store import MetadataStore

DEFAULT_BROKER = "<default>"


class DynamicConfigs:
    """See the module. Runs on the loop."""

    def __init__(self, config: BrokerConfig, store: MetadataStore, image: MetadataImage) -> None:
        self._config = config
        self._store = store
        self._image = image

    def overrides(self, broker: str) -> dict[str, str]:
        """The overrides of ``broker``: a node id as text, or DEFAULT_BROKER."""
        config = self._config
        return dict(config.dynamic_default if broker == DEFAULT_BROKER else config.dynamic_broker)

    async def load(self) -> None:
        """Reads the store's nodes into the broker's configuration. Unknown keys, as an operator may have written by
        hand, are dropped. An invalid node is logged, and nothing is deleted or compacted by default then."""
        tree = {path: data for path, data, _ in await self._store.get_tree("/config/brokers")}
        config = self._config
        config.set_dynamic(
            default=_decode(config, tree, f"/config/brokers/{DEFAULT_BROKER}"),
            broker=_decode(config, tree, f"/config/brokers/{config.node_id}"),
        )

    def topic_configs(self) -> dict[str, dict[str, str]]:
        """The effective configuration of every topic, as the engine takes it."""
        topics = self._image.topics.values()
        return {topic.name: engine_topic_config(self._config, topic.configs, topic.name) for topic in topics}

    def log_configs(self) -> dict[str, dict[str, str]]:
        """As :meth:`topic_configs`, for opening logs. The entry "" is for topics that only the log directories know:
        the broker's defaults, but nothing is deleted, since no configuration of those topics allows that."""
        return {"": engine_topic_config(self._config, HELD), **self.topic_configs()}

    def apply(self, engine: Engine) -> None:
        """Gives the engine the effective values of the broker and of every topic."""
        engine.set_broker_options(self._config.engine_options())
        for name, config in self.topic_configs().items():
            engine.set_topic_config(name, config)


_HELD = {f"log.{name}": value for name, value in HELD.items()}
"""In place of overrides that cannot be read: they may have said that nothing is deleted."""


def _decode(config: BrokerConfig, tree: Mapping[str, bytes], path: str) -> dict[str, str]:
    try:
        found = decode_config(tree.get(path, b""))
    except InvalidNodeError as error:
        report(path, "nothing of it holds, and no default deletes or compacts anything", error)
        return dict(_HELD)
    taken = {}
    for name, value in found.items():
        if name in config.keys:
            try:
                check_broker_value(config, name, value)
                taken[name] = value
            except ConfigError as error:
                config.report_once(f"{path} is invalid, {name} has no effect: {error.client_message}")
                taken |= {key: held for key, held in _HELD.items() if key not in found}
    return taken
