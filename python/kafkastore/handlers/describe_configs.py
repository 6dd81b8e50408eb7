"""DescribeConfigs (32): the configuration of a topic or a broker, the source of each value, its synonyms (KIP-226).

Reads the broker's configuration and the metadata image, and the store for groups and subscriptions to clients'
metrics; changes nothing. A value's source is that of its first synonym:
the topic's own setting, then this broker's run-time setting, the cluster-wide run-time setting, the file, the default.
Synonyms of one source stand in the order in which the broker prefers the keys (``log.retention.ms`` before
``log.retention.hours``). Synonyms before the described key itself are left out: so a default that comes from a key of
another unit shows no synonym.

One resource's error never fails the others, except an invalid resource type, which fails every resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from kafkastore._core import LazyRows
from kafkastore.acl_words import DESCRIBE_CONFIGS
from kafkastore.config.broker import SOURCE_DEFAULT, SOURCE_DYNAMIC_DEFAULT_BROKER, SOURCE_STATIC_BROKER, SOURCE_TOPIC
from kafkastore.config.client_metrics import SUBSCRIPTION_KEYS
from kafkastore.config.definitions import broker_keys, group_keys, topic_keys
from kafkastore.config.topic import TopicConfig
from kafkastore.errors import ConfigError, ErrorCode, InvalidRequestError, KafkastoreError, UnknownTopicOrPartitionError
from kafkastore.handlers import broker_loggers
from kafkastore.handlers.config_resources import (
    BROKER,
    BROKER_LOGGER,
    GROUP,
    NAMED_KINDS,
    RESOURCE_TYPES,
    TOPIC,
    authorize_configs,
    broker_id,
)
from kafkastore.handlers.repeats import Repeats
from kafkastore.topic_names import validate_topic_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kafkastore._core import Unwritten
    from kafkastore.config.broker import BrokerConfig
    from kafkastore.config.definitions import ConfigKey
    from kafkastore.protocol.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
    from kafkastore.requests.context import RequestContext

Synonyms = list[tuple[str, str | None, int]]
"""(key, value, source), the one in effect first."""

SOURCE_DYNAMIC_BROKER_LOGGER, SOURCE_CLIENT_METRICS, SOURCE_GROUP = 6, 7, 8
UNKNOWN_TYPE = 0
CONFIG_TYPES = {
    "boolean": 1, "string": 2, "int": 3, "short": 4, "long": 5, "double": 6, "list": 7, "class": 8, "password": 9,
}  # fmt: skip
QUOTAS = (
    "follower.replication.throttled.rate",
    "leader.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
)
"""Limits that are set at run time only; Kafka lists a limit once it is set."""

MAX_KEPT = 1000
MAX_KEPT_LENGTH = 1000
"""How many entries of topics are kept for the next answers, and the longest entry that is kept, in bytes."""

UNIT_GROUPS = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
"""Broker keys for the same setting in different units, in the order of precedence."""


async def handle(context: RequestContext, request: DescribeConfigsRequest) -> Unwritten:
    if any(resource.resource_type not in RESOURCE_TYPES for resource in request.resources):
        raise InvalidRequestError
    entries, repeats = _entries_of(context, request), Repeats()
    named = {kind: await _named_configs(context, request, kind) for kind in NAMED_KINDS}

    def result(resource: DescribeConfigsResource) -> bytes:
        name = resource.resource_type, resource.resource_name
        try:
            repeats.check(name)
            authorize_configs(context, DESCRIBE_CONFIGS, *name)
            row = _result(context, entries, named, resource)
        except UnknownTopicOrPartitionError as error:
            row = _failed(context, resource, error, message="")
        except KafkastoreError as error:
            row = _failed(context, resource, error)
        repeats.note(name, len(row))
        return row

    return context.answer(results=LazyRows(request.resources, result))


def _result(
    context: RequestContext,
    entries: Entries,
    named: Mapping[int, Mapping[str, Mapping[str, str]]],
    resource: DescribeConfigsResource,
) -> bytes:
    kind = resource.resource_type
    if kind not in NAMED_KINDS:
        configs = _DESCRIBERS[kind](context, entries, resource)
    elif not resource.resource_name:
        what = "Group" if kind == GROUP else "Client metrics subscription"
        raise InvalidRequestError(f"{what} name must not be empty")
    else:
        describe = _group if kind == GROUP else _client_metrics
        configs = describe(context, entries, resource, named[kind][resource.resource_name])
    return context.row(
        "DescribeConfigsResult",
        error_code=ErrorCode.NONE,
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=configs,
    )


def _failed(
    context: RequestContext, resource: DescribeConfigsResource, error: KafkastoreError, message: str | None = None
) -> bytes:
    return context.row(
        "DescribeConfigsResult",
        error_code=error.code,
        error_message=error.client_message if message is None else message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=(),
    )


# ---- entries that many resources share
class Entries:
    """The entries that answers of one version, with or without synonyms and documentation, have in common, as bytes.
    Each is made at its first use and holds as long as the broker's configuration does not change."""

    def __init__(self, context: RequestContext, include_synonyms: bool, include_documentation: bool) -> None:
        self.revision = context.broker.config.revision
        self._encoder = context.encoder("DescribeConfigsResourceResult")
        self._synonym = None
        if include_synonyms:
            self._synonym = context.encoder("DescribeConfigsSynonym")
        self._include_documentation = include_documentation
        self._of_topics: dict[tuple[str, str | None], bytes] = {}
        self._of_broker: dict[str, bytes] = {}

    def of_topic(self, config: BrokerConfig, name: str, value: str | None) -> bytes:
        """The entry of a topic's key ``name``; ``value`` is the topic's own, or None."""
        found = self._of_topics.get((name, value))
        if found is None:
            topic = TopicConfig(config, {} if value is None else {name: value})
            key = topic_keys()[name]
            found = self.entry(name, key, _as_text(topic.get(name)), _topic_synonyms(topic, key))
            if len(self._of_topics) < MAX_KEPT and len(found) <= MAX_KEPT_LENGTH:
                self._of_topics[name, value] = found
        return found

    def of_broker(self, config: BrokerConfig, name: str) -> bytes:
        """The entry of this broker's key ``name``."""
        found = self._of_broker.get(name)
        if found is None:
            key = broker_keys().get(name)
            value = None if key is None else _as_text(config.get(name))
            unknown: Synonyms = [(name, None, SOURCE_STATIC_BROKER)]
            synonyms = unknown if key is None else _broker_synonyms(config, name)
            found = self._of_broker[name] = self.entry(name, key, value, synonyms)
        return found

    def entry(self, name: str, key: ConfigKey | None, value: str | None, synonyms: Synonyms) -> bytes:
        is_sensitive = key is None or key.is_sensitive  # the value of an unknown key may be a secret
        is_topic_key = key is not None and key is topic_keys().get(name)
        source = synonyms[0][2] if synonyms else SOURCE_DEFAULT
        return self._encoder.row(
            {
                "name": name,
                "value": None if is_sensitive else value,
                "read_only": not is_topic_key and (key is None or key.update_mode == "read-only"),
                "config_source": source,
                "is_default": source == SOURCE_DEFAULT,
                "is_sensitive": is_sensitive,
                "synonyms": self._synonym_rows(synonyms, is_sensitive=is_sensitive),
                "config_type": UNKNOWN_TYPE if key is None else CONFIG_TYPES[key.type],
                "documentation": _documentation(key) if self._include_documentation else None,
            }
        )

    def _synonym_rows(self, synonyms: Synonyms, *, is_sensitive: bool) -> list[bytes]:
        """No rows when the client did not ask for synonyms."""
        if self._synonym is None:
            return []
        return [
            self._synonym.row({"name": other, "value": None if is_sensitive else text, "source": source})
            for other, text, source in synonyms
        ]


_entries: WeakKeyDictionary[BrokerConfig, dict[tuple[int, bool, bool], Entries]] = WeakKeyDictionary()


def _entries_of(context: RequestContext, request: DescribeConfigsRequest) -> Entries:
    kinds = _entries.setdefault(context.broker.config, {})
    wants_documentation = request.include_documentation
    wants_synonyms = request.include_synonyms
    kind = context.api_version, wants_synonyms, wants_documentation
    found = kinds.get(kind)
    if found is None or found.revision != context.broker.config.revision:
        found = kinds[kind] = Entries(context, kind[1], kind[2])
    return found


# ---- a function for each type of resource
async def _named_configs(
    context: RequestContext, request: DescribeConfigsRequest, kind: int
) -> Mapping[str, Mapping[str, str]]:
    """The configurations of the groups, or of the subscriptions to clients' metrics, that are asked for."""
    names = {one.resource_name: None for one in request.resources if one.resource_type == kind and one.resource_name}
    return await context.broker.named_configs.read(NAMED_KINDS[kind], names) if names else {}


def _topic(context: RequestContext, entries: Entries, resource: DescribeConfigsResource) -> list[bytes]:
    name = resource.resource_name
    validate_topic_name(name)
    found = context.broker.image.topic(name)
    if found is None:
        raise UnknownTopicOrPartitionError
    config, overrides = context.broker.config, found.configs
    return [
        entries.of_topic(config, name, overrides.get(name))
        for name in _requested_names(resource, (name for name, key in topic_keys().items() if not key.is_internal))
    ]


def _broker(context: RequestContext, entries: Entries, resource: DescribeConfigsResource) -> list[bytes]:
    config = context.broker.config
    keys = broker_keys()
    name = resource.resource_name
    if not name:
        found = []
        for key in _requested_names(resource, config.dynamic_default):
            synonyms = [one for one in _broker_synonyms(config, key) if one[2] == SOURCE_DYNAMIC_DEFAULT_BROKER]
            found.append(entries.entry(key, keys.get(key), config.dynamic_default[key], synonyms))
        return found
    if broker_id(name) != context.broker.node_id:
        raise InvalidRequestError(
            f"Unexpected broker id, expected {context.broker.node_id} or empty string, but received {name}"
        )
    known = [key for key in keys if not keys[key].is_internal and _is_listed(config, key)]
    return [entries.of_broker(config, key) for key in _requested_names(resource, [*known, *config.unknown])]


def _is_listed(config: BrokerConfig, name: str) -> bool:
    if name in QUOTAS:
        return _is_set(config, name)
    return not name.startswith("zookeeper.") or config.text("zookeeper.connect") is not None


def _is_set(config: BrokerConfig, name: str) -> bool:
    return config.layers(name)[0][1] != SOURCE_DEFAULT


def _broker_logger(context: RequestContext, entries: Entries, resource: DescribeConfigsResource) -> list[bytes]:
    del entries
    name = resource.resource_name
    if not name:
        raise InvalidRequestError("Broker id must not be empty")
    if broker_id(name) != context.broker.node_id:
        raise InvalidRequestError(f"Unexpected broker id, expected {context.broker.node_id} but received {name}")
    return [
        context.row(
            "DescribeConfigsResourceResult",
            name=one,
            value=broker_loggers.level_of(one),
            read_only=False,
            config_source=SOURCE_DYNAMIC_BROKER_LOGGER,
            is_default=False,
            is_sensitive=False,
            synonyms=(),
            config_type=UNKNOWN_TYPE,
            documentation="",
        )
        for one in _requested_names(resource, broker_loggers.names())
    ]


def _client_metrics(
    context: RequestContext, entries: Entries, resource: DescribeConfigsResource, own: Mapping[str, str]
) -> list[bytes]:
    del context
    found = []
    for name in _requested_names(resource, SUBSCRIPTION_KEYS):
        key = SUBSCRIPTION_KEYS[name]
        synonyms: Synonyms = [(name, _shown(key, own[name]), SOURCE_CLIENT_METRICS)] if name in own else []
        found.append(entries.entry(name, key, synonyms[0][1] if synonyms else key.default, synonyms))
    return found


def _group(
    context: RequestContext, entries: Entries, resource: DescribeConfigsResource, own: Mapping[str, str]
) -> list[bytes]:
    config, keys, found = context.broker.config, group_keys(), []
    for name in _requested_names(resource, (name for name in keys if name in own or not keys[name].is_internal)):
        synonyms: Synonyms = [(name, _shown(keys[name], own[name]), SOURCE_GROUP)] if name in own else []
        if keys[name].synonyms:
            synonyms += _broker_synonyms(config, keys[name].synonyms[0][0])
        else:
            synonyms.append((name, keys[name].default, SOURCE_DEFAULT))
        found.append(entries.entry(name, keys[name], synonyms[0][1], synonyms))
    return found


_DESCRIBERS: dict[int, Callable[[RequestContext, Entries, DescribeConfigsResource], list[bytes]]] = {
    TOPIC: _topic,
    BROKER: _broker,
    BROKER_LOGGER: _broker_logger,
}


def _shown(key: ConfigKey, text: str) -> str:
    """A value in its normal form; what somebody has written into the store by hand as it is."""
    try:
        return key.normal(text)
    except ConfigError:
        return text


# ---- names and synonyms
def _requested_names(resource: DescribeConfigsResource, names: Iterable[str]) -> list[str]:
    requested = frozenset(resource.configuration_keys or ())
    return [name for name in names if name in requested] if requested else list(names)


def _topic_synonyms(config: TopicConfig, key: ConfigKey) -> Synonyms:
    found: Synonyms = []
    if key.name in config.overrides:
        found.append((key.name, _as_text(config.get(key.name)), SOURCE_TOPIC))
    if key.synonyms:
        found += _broker_synonyms(config.broker, key.synonyms[0][0])
    return found


def _broker_synonyms(config: BrokerConfig, name: str) -> Synonyms:
    group = next((names for names in UNIT_GROUPS if name in names), (name,))
    found: Synonyms = [
        (other, value, source)
        for layer in range(SOURCE_TOPIC + 1, SOURCE_DEFAULT + 1)
        for other in group
        for value, source in config.layers(other)
        if source == layer
    ]
    first = next((position for position, one in enumerate(found) if one[0] == name), len(found))
    return found[first:]


def _as_text(value: object) -> str | None:
    """A parsed value as Kafka prints it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    return _double_as_text(value) if isinstance(value, float) else str(value)


def _double_as_text(value: float) -> str:
    """As Java prints it: ``0.5``, ``1.0E7``, ``1.7976931348623157E308``."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        digits, _, exponent = f"{value:.17e}".partition("e")
        digits = repr(float(digits))
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _documentation(key: ConfigKey | None) -> str | None:
    """The facts in the table of keys; the prose is in Apache Kafka's documentation."""
    if key is None:
        return None
    facts = [f"Type: {key.type}", f"default: {'null' if key.default is None else key.default or 'empty'}"]
    if key.valid:
        facts.append(f"valid values: {key.valid}")
    return f"{'; '.join(facts)}. Means what it means in Apache Kafka 4.4: see {key.name} in its documentation."
