"""Which keys have an effect in this version, and which ask for a protection that this version does not have.

Kafka has more keys than this broker implements. Three kinds: keys with an effect; keys without effect, which are logged
once at the start; keys that ask for protection (authentication, authorisation, encryption, limits against clients,
policies, a second copy in other storage). An operator who sets a key of the third kind relies on it, so the start is
refused until the feature exists, unless the value is Kafka's default, which asks for no protection. How a broker logs
in elsewhere, and which Java classes do it, protects nobody: such keys are of the second kind.

Never decides what a value means, and holds no list of keys beside the tables of ``definitions`` but the lists below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.config import sasl, tls
from kafkastore.config.definitions import broker_keys, topic_keys
from kafkastore.config.listener_keys import LISTENER_PREFIX, listener_key
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.config.definitions import ConfigKey

EVERY_KEY_PAGE: Final = "page docs/configuration-keys.md of the source"

_WITH_EFFECT: Final = frozenset(
    [
        "advertised.listeners",
        "alter.log.dirs.replication.quota.window.num",
        "alter.log.dirs.replication.quota.window.size.seconds",
        "authorizer.class.name",
        "auto.create.topics.enable",
        "auto.leader.rebalance.enable",
        "broker.id",
        "broker.rack",
        "config.providers",
        "connections.max.idle.ms",
        "controller.listener.names",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.voters",
        "controller.quota.window.num",
        "controller.quota.window.size.seconds",
        "controller.socket.timeout.ms",
        "default.replication.factor",
        "delegation.token.expiry.check.interval.ms",
        "delegation.token.expiry.time.ms",
        "delegation.token.max.lifetime.ms",
        "delegation.token.secret.key",
        "delete.topic.enable",
        "fetch.max.bytes",
        "follower.replication.throttled.rate",
        "group.initial.rebalance.delay.ms",
        "group.max.session.timeout.ms",
        "group.max.size",
        "group.min.session.timeout.ms",
        "inter.broker.listener.name",
        "kafkastore.accept.log.loss",
        "kafkastore.control.max.bytes",
        "kafkastore.cut.files.max.bytes",
        "kafkastore.group.max.bytes",
        "kafkastore.groups.unstored.max.bytes",
        "kafkastore.inter.broker.secret.file",
        "kafkastore.inter.broker.secret.required",
        "kafkastore.fetch.session.cache.max.bytes",
        "kafkastore.log.level",
        "kafkastore.metadata.path",
        "kafkastore.metrics.listener",
        "kafkastore.metrics.max.partitions",
        "kafkastore.removed.brokers",
        "kafkastore.unsent.max.bytes",
        "kafkastore.zookeeper.digest",
        "leader.imbalance.check.interval.seconds",
        "leader.replication.throttled.rate",
        "listener.security.protocol.map",
        "listeners",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.enable",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.threads",
        "log.dir",
        "log.dirs",
        "log.flush.offset.checkpoint.interval.ms",
        "log.flush.scheduler.interval.ms",
        "log.flush.start.offset.checkpoint.interval.ms",
        "log.initial.task.delay.ms",
        "log.message.format.legacy.enable",
        "log.retention.check.interval.ms",
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "max.incremental.fetch.session.cache.slots",
        "max.request.partition.size.limit",
        "metadata.log.dir",
        "node.id",
        "num.network.threads",
        "num.partitions",
        "num.recovery.threads.per.data.dir",
        "num.replica.alter.log.dirs.threads",
        "offset.metadata.max.bytes",
        "offsets.commit.timeout.ms",
        "offsets.retention.check.interval.ms",
        "offsets.retention.minutes",
        "offsets.topic.compression.codec",
        "offsets.topic.num.partitions",
        "offsets.topic.replication.factor",
        "offsets.topic.segment.bytes",
        "process.roles",
        "producer.id.expiration.check.interval.ms",
        "producer.id.expiration.ms",
        "queued.max.request.bytes",
        "quota.window.num",
        "quota.window.size.seconds",
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "replica.fetch.backoff.ms",
        "replica.fetch.max.bytes",
        "replica.fetch.min.bytes",
        "replica.fetch.response.max.bytes",
        "replica.fetch.wait.max.ms",
        "replica.high.watermark.checkpoint.interval.ms",
        "replica.lag.time.max.ms",
        "replica.selector.class",
        "replica.socket.receive.buffer.bytes",
        "replica.socket.timeout.ms",
        "replication.quota.window.num",
        "replication.quota.window.size.seconds",
        "security.inter.broker.protocol",
        "socket.connection.setup.timeout.ms",
        "socket.listen.backlog.size",
        "socket.receive.buffer.bytes",
        "socket.request.max.bytes",
        "socket.send.buffer.bytes",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        "transaction.max.timeout.ms",
        "transaction.partition.verification.enable",
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        "transaction.state.log.min.isr",
        "transaction.state.log.num.partitions",
        "transaction.state.log.replication.factor",
        "transaction.state.log.segment.bytes",
        "transactional.id.expiration.ms",
        "zookeeper.connect",
        "zookeeper.connection.timeout.ms",
        "zookeeper.max.in.flight.requests",
        "zookeeper.session.timeout.ms",
        "zookeeper.set.acl",
        "zookeeper.ssl.cipher.suites",
        "zookeeper.ssl.client.enable",
        "zookeeper.ssl.enabled.protocols",
        "zookeeper.ssl.endpoint.identification.algorithm",
        "zookeeper.ssl.keystore.location",
        "zookeeper.ssl.keystore.password",
        "zookeeper.ssl.keystore.type",
        "zookeeper.ssl.protocol",
        "zookeeper.ssl.truststore.location",
        "zookeeper.ssl.truststore.type",
    ]
)
"""Broker keys that work as in Kafka, besides the broker keys that are defaults of topic keys with an effect."""

TOPIC_KEYS_WITHOUT_EFFECT: Final = frozenset(
    [
        "errors.deadletterqueue.group.enable",
        "local.retention.bytes",
        "local.retention.ms",
        "max.decompressed.message.bytes",
        "preallocate",
        "remote.copy.lag.bytes",
        "remote.copy.lag.ms",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
    ]
)

_PROTECTION_PREFIXES: Final = ("ssl.", "sasl.")
"""Prefixes of keys that ask for protection, also after ``listener.name.<listener>.``, as in Kafka."""

_PROTECTION: Final = frozenset(
    [
        "alter.config.policy.class.name",
        "client.quota.callback.class",
        "cordoned.log.dirs",
        "create.topic.policy.class.name",
        "max.decompressed.message.bytes",
        "principal.builder.class",
        "remote.log.storage.system.enable",
        "security.inter.broker.protocol",
        "zookeeper.ssl.crl.enable",
        "zookeeper.ssl.ocsp.enable",
    ]
)


_INSTEAD: Final = {
    "cordoned.log.dirs": "this version puts new replicas into every log directory",
    "max.decompressed.message.bytes": "this version has no limit for one decompressed record",
    "remote.log.storage.system.enable": "this version copies nothing to other storage",
}
"""What happens all the same, for keys that ask for something else than authentication and the like."""

_PROTECTS_NOBODY: Final = (
    "sasl.client.callback.handler.class",
    "sasl.jaas.config",
    "sasl.kerberos.",
    "sasl.login.",
    "sasl.mechanism.controller.protocol",
    "sasl.oauthbearer.assertion.",
    "sasl.oauthbearer.client.credentials.",
    "sasl.oauthbearer.jwt.retriever.class",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url",
    "ssl.allow.",
    "ssl.provider",
    "ssl.secure.random.implementation",
)
"""Beginnings of keys, also after ``listener.name.<listener>.[<mechanism>.]``. ``sasl.jaas.config`` counts behind these
alone, in Kafka too."""


def has_effect(name: str) -> bool:
    """Whether a broker key has an effect in this version."""
    return name in _WITH_EFFECT or name in tls.SERVED or name in sasl.SERVED or name in _topic_defaults()


def without_effect(properties: Mapping[str, str]) -> list[str]:
    """The known broker keys among ``properties`` that have no effect, in alphabetical order."""
    keys = broker_keys()
    return sorted(
        name for name in properties if name in keys and not has_effect(name) and not asks_for_protection(name)
    )


def asks_for_protection(name: str) -> bool:
    """Whether a key asks for protection, whatever its value. The key need not be in Kafka's table."""
    if name in tls.SERVED or name in tls.IDLE or name in sasl.SERVED or listener_key(name) is not None:
        return False
    if name.startswith(_PROTECTS_NOBODY):
        return False
    if name.startswith(LISTENER_PREFIX):
        if any(f".{one}" in name for one in _PROTECTS_NOBODY):
            return False
        key = name.removeprefix(LISTENER_PREFIX).partition(".")[2]
        return ".ssl." in name or ".sasl." in name or key in _PROTECTION or key.endswith("connections.max.reauth.ms")
    return name in _PROTECTION or name.startswith(_PROTECTION_PREFIXES)


def refuse_protection(properties: Mapping[str, str]) -> None:
    """Raises ConfigError with the first key that asks for a protection that this version does not have."""
    keys = broker_keys()
    for name in sorted(properties):
        if not asks_for_protection(name) or name.startswith("zookeeper."):  # the store's settings refuse zookeeper.*
            continue
        value, key = properties[name].strip(), keys.get(name)
        if not value or (key is not None and _is_default(key, value)):
            continue
        if name in _INSTEAD:
            raise ConfigError(f"{name}={value}: {_INSTEAD[name]}; remove the key")
        shown = "[hidden]" if key is None or key.is_sensitive else value
        own = name.removeprefix(LISTENER_PREFIX).partition(".")[2] if name.startswith(LISTENER_PREFIX) else name
        meant = "" if own in keys else alike(own, sorted(tls.SERVED | sasl.SERVED))
        near = f" (did you mean {meant}?)" if meant else ""
        raise ConfigError(
            f"{name}={shown} asks for a protection that this version does not have{near}, and clients would be served "
            "without it; remove the key to run without that protection"
        )


def alike(name: str, keys: Iterable[str]) -> str:
    """The key that a typing error made ``name`` of, "" when none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name.lower(), list(keys), 1, 0.9)), "")


def _is_default(key: ConfigKey, value: str) -> bool:
    try:
        return key.default is not None and key.normal(value) == key.normal(key.default)
    except ConfigError:  # its own check says what is wrong
        return False


_defaults_of_topics: set[str] = set()


def _topic_defaults() -> set[str]:
    """Broker keys that topics inherit from."""
    if not _defaults_of_topics:
        for key in topic_keys().values():
            if key.name not in TOPIC_KEYS_WITHOUT_EFFECT:
                _defaults_of_topics.update(name for name, _ in key.synonyms)
    return _defaults_of_topics
