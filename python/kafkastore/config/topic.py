"""A topic's configuration: its overrides over the broker's ``log.*`` keys over Kafka's defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkastore.config.broker import SOURCE_DEFAULT, SOURCE_TOPIC, BrokerConfig
from kafkastore.config.definitions import ConfigKey, topic_keys
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


class TopicConfig:
    """The effective configuration of one topic, computed at each call; holds no copy of the broker's configuration."""

    __slots__ = ("broker", "overrides")

    def __init__(self, broker: BrokerConfig, overrides: Mapping[str, str]) -> None:
        self.broker = broker
        self.overrides = overrides

    def get(self, name: str) -> Any:
        """The parsed effective value."""
        text = self.text(name)
        return None if text is None else self.broker.topic_keys()[name].parse(text)

    def text(self, name: str) -> str | None:
        """The effective value as text, in the topic key's unit."""
        found = self.layers(name)
        return found[0][1] if found else None

    def layers(self, name: str) -> list[tuple[str, str, int]]:
        """Every (key, value, source) that ``name`` gets its value from, the one in effect first: the topic's own, then
        each broker synonym's layers, then the default (DescribeConfigs' synonyms)."""
        key = topic_keys()[name]
        found: list[tuple[str, str, int]] = []
        if name in self.overrides:
            found.append((name, self.overrides[name], SOURCE_TOPIC))
        for source in range(SOURCE_TOPIC + 1, SOURCE_DEFAULT + 1):
            for synonym, factor in key.synonyms:
                for value, layer in self.broker.layers(synonym):
                    if layer == source:
                        found.append((synonym, self._scaled(synonym, value, factor), source))
        if not key.synonyms and key.default is not None:
            found.append((name, key.default, SOURCE_DEFAULT))
        return found

    def _scaled(self, synonym: str, value: str, factor: int) -> str:
        return _scaled(self.broker.keys[synonym], value, factor)


def topic_defaults(broker: BrokerConfig) -> dict[str, str]:
    """The values of a topic without overrides, in their normal form: broker synonyms, else Kafka's defaults. Raises
    ConfigError when a broker's value is none for topics."""
    if broker.topic_defaults is None or broker.topic_defaults[0] != broker.revision:
        bare = TopicConfig(broker, {})
        keys = broker.topic_keys()
        found = {name: key.normal(text) for name, key in keys.items() if (text := bare.text(name)) is not None}
        broker.topic_defaults = broker.revision, found
    return dict(broker.topic_defaults[1])


def engine_topic_config(broker: BrokerConfig, overrides: Mapping[str, str], topic: str = "") -> dict[str, str]:
    """Every effective value of a topic that is not null, in its normal form, for the data plane. Overrides of unknown
    keys are left out, and those that are invalid, as somebody may have written them into the store: they are logged
    once, and nothing of the topic is deleted or compacted by default then."""
    keys, own = broker.topic_keys(), {}
    for name, text in overrides.items():
        if name in keys:
            try:
                own[name] = keys[name].normal(text)
            except ConfigError as error:
                broker.report_once(f"/config/topics/{topic} is invalid, {name} has no effect: {error.client_message}")
                own |= {key: value for key, value in HELD.items() if key not in overrides}
    return {**topic_defaults(broker), **own}


def check_inherited(broker: BrokerConfig, name: str, value: str) -> None:
    """Raises ConfigError, naming the broker's key, for a value that topics would inherit and cannot have."""
    own = broker.keys[name]
    for key in broker.topic_keys().values():
        for synonym, factor in key.synonyms:
            if synonym == name:
                try:
                    key.parse(_scaled(own, value, factor))
                except ConfigError as error:
                    reason = (error.client_message or "").partition(f"for configuration {key.name}: ")[2]
                    raise own.invalid(value, reason) from None


def _scaled(key: ConfigKey, value: str, factor: int) -> str:
    """A broker's value in the unit of the topic's key."""
    if factor == 1:
        return value
    number: int = key.parse(value)
    return str(number * factor) if number >= 0 else str(number)


HELD: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
"""The configuration of a topic whose own configuration is not known: no record is deleted or compacted."""


def held(known: Mapping[str, str]) -> dict[str, str]:
    """The known part of a topic's own configuration, over HELD unless that part says how long records are kept. A
    default does not count, since the cluster's own defaults may have been lost with the metadata."""
    is_said = "retention.ms" in known or known.get("cleanup.policy", "").strip() == "compact"
    return dict(known) if is_said else {**HELD, **known}


def validate_topic_configs(overrides: Mapping[str, str | None], broker: BrokerConfig | None = None) -> dict[str, str]:
    """Checks overrides by name and value, with the valid values of ``broker``, or Kafka's without one. Raises
    ConfigError (INVALID_CONFIG) with Kafka's message."""
    nulls = [name for name, value in overrides.items() if value is None]
    if nulls:
        raise ConfigError(f"Null value not supported for topic configs: {','.join(nulls)}")
    checked = {name: value for name, value in overrides.items() if value is not None}
    keys = topic_keys() if broker is None else broker.topic_keys()
    for name, value in checked.items():
        key = keys.get(name)
        if key is None:
            raise ConfigError(f"Unknown topic config name: {name}")
        key.parse(value)
    _check_together(keys, checked)
    return checked


def _check_together(keys: dict[str, ConfigKey], overrides: Mapping[str, str]) -> None:
    """Kafka's checks across keys (LogConfig.validateValues). Raises ConfigError."""

    def value(name: str) -> Any:
        return keys[name].parse(overrides[name]) if name in overrides else keys[name].parse(keys[name].default or "")

    if value("remote.storage.enable"):
        raise ConfigError(
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log "
            "storage."
        )
    most = "max.decompressed.message.bytes"
    if value(most) != keys[most].parse(keys[most].default or ""):
        raise ConfigError(f"{most}={value(most)}: this version has no limit for one decompressed record; leave it out")
    minimum, maximum = value("min.compaction.lag.ms"), value("max.compaction.lag.ms")
    if minimum > maximum:
        raise ConfigError(
            f"conflict topic config setting min.compaction.lag.ms ({minimum}) > max.compaction.lag.ms ({maximum})"
        )
