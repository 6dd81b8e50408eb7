"""Broker configuration changed at run time: ``/config/brokers/<default>`` for all, ``/config/brokers/<id>`` for one.

Kept in the store in Kafka's layout, applied at once: to the broker's effective values, the engine's options and the
effective configuration of every topic (topics inherit ``log.*``). ``config`` checks the values; the handler decides
whether a key may be changed at run time (``ConfigKey.update_mode``). The engine gets addresses where
``max.connections.per.ip.overrides`` names hosts.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from kafkastore.config import HELD, engine_topic_config
from kafkastore.config.broker_values import check_run_time_value
from kafkastore.config.connection_limits import OVERRIDES_KEY, parse_overrides
from kafkastore.dynamic_config.hosts import Hosts
from kafkastore.errors import ConfigError, InvalidRequestError
from kafkastore.metadata.node_content import InvalidNodeError, report
from kafkastore.metadata.nodes import decode_config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.metadata.store import MetadataStore

DEFAULT_BROKER = "<default>"


class DynamicBrokerConfigs:
    """See the module. Runs on the loop."""

    def __init__(self, config: BrokerConfig, store: MetadataStore, image: MetadataImage) -> None:
        self._config = config
        self._store = store
        self._image = image
        self._hosts = Hosts()

    def overrides(self, broker: str) -> dict[str, str]:
        """The overrides of ``broker``: a node id as text, or DEFAULT_BROKER."""
        config = self._config
        return dict(config.dynamic_default if broker == DEFAULT_BROKER else config.dynamic_broker)

    async def load(self) -> None:
        """Reads the store's nodes into the broker's configuration. Unknown keys, as an operator may have written by
        hand, are dropped. An invalid node is logged, and nothing is deleted or compacted by default then."""
        tree = {path: data for path, data, _ in await self._store.get_tree("/config/brokers")}
        paths = [f"/config/brokers/{name}" for name in (DEFAULT_BROKER, self._config.node_id)]
        default, broker = effective(self._config, [(path, tree.get(path, b"")) for path in paths])
        self._config.set_dynamic(default=default, broker=broker)

    def topic_configs(self) -> dict[str, dict[str, str]]:
        """The effective configuration of every topic, as the engine takes it."""
        topics = self._image.topics.values()
        return {topic.name: engine_topic_config(self._config, topic.configs, topic.name) for topic in topics}

    def log_configs(self) -> dict[str, dict[str, str]]:
        """As :meth:`topic_configs`, for opening logs. The entry "" is for topics that only the log directories know:
        the broker's defaults, but nothing is deleted, since no configuration of those topics allows that."""
        return {"": engine_topic_config(self._config, HELD), **self.topic_configs()}

    def engine_options(self) -> dict[str, str]:
        """The effective values of the broker, as the engine takes them."""
        options = self._config.engine_options()
        if OVERRIDES_KEY in options:
            limits = parse_overrides(options[OVERRIDES_KEY])
            rows = [f"{address}:{count}" for host, count in limits for address in self._hosts.addresses(host)]
            options[OVERRIDES_KEY] = ",".join(rows)
        return options

    @asynccontextmanager
    async def looked_up(self, values: Sequence[str]) -> AsyncIterator[None]:
        """Looks up the hosts in new values of ``max.connections.per.ip.overrides``, for :meth:`check_hosts` in the
        block."""
        hosts = []
        for value in values:
            with suppress(ConfigError):  # the check of the value says it
                hosts += [host for host, _ in parse_overrides(value)]
        async with self._hosts.checked(hosts):
            yield

    def check_hosts(self, overrides: Mapping[str, str]) -> None:
        """Raises InvalidRequestError when a host in new overrides has no address."""
        value = overrides.get(OVERRIDES_KEY, "")
        unknown = [host for host, _ in parse_overrides(value) if not self._hosts.addresses(host)]
        if unknown:
            raise InvalidRequestError(
                f"Invalid value {value} for configuration {OVERRIDES_KEY}: {unknown[0]} is no host with an address"
            )

    def apply(self, engine: Engine) -> None:
        """Gives the engine the effective values of the broker and of every topic."""
        self.give_options(engine)
        for name, config in self.topic_configs().items():
            engine.set_topic_config(name, config)
        self.look_up_hosts(engine)

    def give_options(self, engine: Engine) -> None:
        """Gives the engine the effective values of the broker."""
        engine.set_broker_options(self.engine_options())

    def look_up_hosts(self, engine: Engine) -> None:
        """Gives the engine the addresses of hosts as soon as name servers have answered."""
        hosts = {host for host, _ in parse_overrides(self._config.text(OVERRIDES_KEY) or "")}
        self._hosts.keep(hosts)
        for host in hosts:
            self._hosts.look_up(host, partial(self.give_options, engine))


_HELD = {f"log.{name}": value for name, value in HELD.items()}
"""In place of overrides that cannot be read: they may have said that nothing is deleted."""


def effective(config: BrokerConfig, nodes: Sequence[tuple[str, bytes]]) -> tuple[dict[str, str], dict[str, str]]:
    """What holds of the nodes of all brokers and of one broker, each with its path. What is wrong is logged."""
    layers = [_decode(config, path, data) for path, data in nodes]
    for (path, _), taken in zip(nodes, layers, strict=True):
        _keep(config, path, taken, lambda name, value: config.keys[name].parse(value))
    together = config.changed(default=layers[0], broker=layers[1])
    for (path, _), taken in zip(nodes, layers, strict=True):
        _keep(config, path, taken, partial(check_run_time_value, together))
    return layers[0], layers[1]


def _decode(config: BrokerConfig, path: str, data: bytes) -> dict[str, str]:
    try:
        found = decode_config(data)
    except InvalidNodeError as error:
        report(path, "nothing of it holds, and no default deletes or compacts anything", error)
        return dict(_HELD)
    return {name: value for name, value in found.items() if name in config.keys}


def _keep(config: BrokerConfig, path: str, taken: dict[str, str], is_right: Callable[[str, str], object]) -> None:
    """Takes out of ``taken`` what is wrong. When that was about logs, no default deletes or compacts anything."""
    for name, value in list(taken.items()):
        try:
            is_right(name, value)
        except ConfigError as error:
            config.report_once(f"{path} is invalid, {name} has no effect: {error.client_message}")
            del taken[name]
            if name.startswith("log.") and not name.startswith("log.cleaner."):
                taken.update((key, held) for key, held in _HELD.items() if key not in taken)
