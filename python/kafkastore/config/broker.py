"""The broker's configuration: a file, overrides, run-time changes, Kafka's defaults.

Precedence of a value: the run-time change for this broker, the run-time change for all brokers, the file with its
overrides, Kafka's default. Without a file the embedded profile replaces it (:data:`EMBEDDED_PROFILE`).
"""

from __future__ import annotations

import logging
import os
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from kafkastore.config.authorizer import KEYS as AUTHORIZER_KEYS
from kafkastore.config.authorizer import authorizer_settings
from kafkastore.config.connection_limits import LISTENER_LIMITS, check_listener_limit
from kafkastore.config.definitions import broker_keys, topic_keys, with_ranges
from kafkastore.config.effect import EVERY_KEY_PAGE, alike, refuse_protection, without_effect
from kafkastore.config.listener_keys import listener_key, of_listeners
from kafkastore.config.listeners import Listener, is_loopback, parse_address, parse_listeners, parse_protocol_map
from kafkastore.config.properties import read_properties
from kafkastore.config.providers import resolved
from kafkastore.config.removed import REMOVED_KEY, parse_removed
from kafkastore.config.sasl import sasl_settings
from kafkastore.config.tls import CLIENT_AUTH_KEY, tls_settings, without_client_auth
from kafkastore.errors import ConfigError, StartupError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    from kafkastore.config.authorizer import AuthorizerSettings
    from kafkastore.config.brokers_link import BrokersLink
    from kafkastore.config.definitions import ConfigKey
    from kafkastore.config.secret import Secret

logger = logging.getLogger("kafkastore.config")

QUORUM_KEYS: Final = frozenset(["process.roles", "controller.quorum.voters", "controller.quorum.bootstrap.servers"])
"""The keys by which a Kafka 4 broker knows its controllers; see ``kraft.py``."""

REMOVED_KEYS: Final = {
    "port": "use listeners",
    "host.name": "use listeners",
    "advertised.host.name": "use advertised.listeners",
    "advertised.port": "use advertised.listeners",
    "inter.broker.protocol.version": "leave it out, brokers find out what others understand",
    "log.message.format.version": "leave it out, new records have the format of Kafka 0.11 and later",
    "log.message.timestamp.difference.max.ms": "use log.message.timestamp.before.max.ms and "
    "log.message.timestamp.after.max.ms",
    "delegation.token.master.key": "use delegation.token.secret.key",
    "quota.producer.default": "set quotas with kafka-configs",
    "quota.consumer.default": "set quotas with kafka-configs",
    "offsets.commit.required.acks": "leave it out, commits wait for all in-sync replicas",
    "auto.include.jmx.reporter": "leave it out",
    "log.message.downconversion.enable": "leave it out",
}
"""The keys of old Kafka brokers that no broker has any more: what to do instead."""

SECRET_LENGTH: Final = 8

LONGEST_NAME: Final = 100
"""Characters; no key has so many."""

EMBEDDED_PROFILE: Final = {
    "node.id": "1",
    "listeners": "PLAINTEXT://localhost:9092",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
"""The configuration of ``kafkastore broker`` without a file: one broker that needs no formatted storage. The data goes
to :func:`default_log_dir`, which survives a reboot and does not depend on the working directory. Only this host reaches
the listener, since there is no authentication."""

# DescribeConfigs' sources (org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigSource)
SOURCE_TOPIC: Final = 1
SOURCE_DYNAMIC_BROKER: Final = 2
SOURCE_DYNAMIC_DEFAULT_BROKER: Final = 3
SOURCE_STATIC_BROKER: Final = 4
SOURCE_DEFAULT: Final = 5

METADATA_FILE: Final = "kafkastore-metadata.sqlite"
"""The name of the metadata store's file in a log directory."""


def default_log_dir() -> str:
    """``$XDG_DATA_HOME/kafkastore`` or ``~/.local/share/kafkastore``."""
    home = os.path.expanduser("~")
    given = os.environ.get("XDG_DATA_HOME", "")
    base = given if os.path.isabs(given) else os.path.join(home, ".local", "share")
    if given and not os.path.isabs(given):
        logger.warning("XDG_DATA_HOME=%s is no absolute path and does not count; the data are in %s", given, base)
    if base.startswith("~"):
        raise ConfigError("log.dirs is not given and this user has no home directory for it; set log.dirs")
    if "," in base:
        raise ConfigError(f"log.dirs is not given, and in {base} a comma would separate two directories; set log.dirs")
    return os.path.join(base, "kafkastore")


class BrokerConfig:
    """Effective configuration of one broker. Values by Kafka's names: ``get`` parsed, ``text`` as written. ``ranges``
    replaces Kafka's valid values, by key of brokers or topics: a simulation has smaller segments."""

    def __init__(
        self,
        properties: Mapping[str, str],
        *,
        is_embedded: bool = False,
        ranges: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._ranges = ranges
        self.keys = keys = with_ranges(broker_keys(), ranges)
        self.is_embedded = is_embedded
        self.static: dict[str, str] = {name: value for name, value in properties.items() if name in keys}
        self._of_listeners = {name: value for name, value in properties.items() if listener_key(name) is not None}
        self.of_listeners = of_listeners(self._of_listeners)
        self.authorizer: AuthorizerSettings | None = authorizer_settings(properties)
        self.unknown: list[str] = sorted(name for name in properties if name not in keys and listener_key(name) is None)
        refuse_protection(properties)
        self.dynamic_default: dict[str, str] = {}
        self.dynamic_broker: dict[str, str] = {}
        self._parsed: dict[str, Any] = {}
        self._reported: set[str] = set()
        self.inter_broker_secret: Secret | None = None
        self.revision = 0  # rises with each change at run time
        self.topic_defaults: tuple[int, dict[str, str]] | None = None  # a cache of topic.py: (revision, defaults)
        for name, value in self.static.items():
            _check_characters(keys[name], value)
            self._parsed[name] = _parse_at_start(keys[name], value)
        self.node_id: int = self._node_id()
        self.log_dirs: list[str] = self._log_dirs()
        self.listeners: list[Listener]
        self.advertised_listeners: list[Listener]
        self._read_listeners()
        self._check_values()

    @classmethod
    def load(cls, path: str | None, overrides: Iterable[str] = (), *, is_start: bool = True) -> BrokerConfig:
        """Loads a ``server.properties`` (None: the embedded profile); ``key=value`` overrides replace its values. Logs
        unknown keys, and with ``is_start`` what a broker with this configuration would not do. Raises ConfigError for
        an invalid value."""
        given = {} if path is None else _read_file(path)
        for override in overrides:
            name, separator, value = override.partition("=")
            if not separator or not name.strip():
                raise ConfigError(f"--override {override}: give it as key=value, as in --override num.partitions=3")
            given[name.strip()] = value.strip()
        if path is not None:
            _check_is_configuration(path, given)
        given, references = resolved(given)
        try:
            config = cls({**EMBEDDED_PROFILE, **given} if path is None else given, is_embedded=path is None)
        except ConfigError as error:
            raise ConfigError(_without_values(str(error.client_message), references)) from None
        config.warn_of_unknown_keys()
        if is_start:
            config._warn(without_effect(given))
        return config

    def warn_of_unknown_keys(self) -> None:
        for name in self.unknown:
            if name in AUTHORIZER_KEYS:
                continue
            if name in REMOVED_KEYS:
                logger.warning("Configuration %s was removed in Kafka 4 and is ignored; %s", name, REMOVED_KEYS[name])
                continue
            near = f"; did you mean {meant}?" if (meant := alike(name, self.keys)) else ""
            # without its value, maybe a secret; a name that is longer than any is none
            shown = name if len(name) <= LONGEST_NAME else f"{name[:8]}… ({len(name)} characters)"
            logger.warning("Unknown configuration %s is ignored%s", shown, near)

    def _warn(self, idle: Sequence[str]) -> None:
        if idle:
            logger.warning("Without effect in this version: %s (%s lists every key)", ", ".join(idle), EVERY_KEY_PAGE)
        if spared := without_client_auth(self):
            logger.warning(
                "ssl.client.auth does not count for listeners with SASL: clients of %s need no certificate; set "
                "listener.name.%s.ssl.client.auth",
                ", ".join(spared),
                spared[0].lower(),
            )
        if lost := self.sends_elsewhere():
            is_told = bool(self.text("advertised.listeners"))
            logger.warning(
                "%r is open to other hosts and advertised.listeners names %s, which is another place there; name this "
                "host as others reach it"
                if is_told
                else "%r is open to other hosts and advertises %s, which is another place there; set "
                "advertised.listeners",
                *lost,
            )

    def sends_elsewhere(self) -> tuple[Listener, str] | None:
        """A listener that other hosts can reach, with the advertised host by which they cannot; None when there is
        none."""
        advertised = {one.name: one.host for one in self.advertised_listeners}
        for listener in self.listeners:
            if not listener.is_loopback and is_loopback(advertised.get(listener.name, "")):
                return listener, advertised[listener.name]
        return None

    def report_once(self, sentence: str) -> None:
        """Logs what is wrong with a stored configuration, which is looked at again and again."""
        if sentence not in self._reported:
            self._reported.add(sentence)
            logger.error("%s", sentence)

    def as_written(self) -> BrokerConfig:
        """A copy of this configuration without the run-time changes."""
        return BrokerConfig({**self._of_listeners, **self.static}, ranges=self._ranges)

    def changed(self, *, default: Mapping[str, str] | None = None, broker: Mapping[str, str] | None = None) -> Self:
        """A copy as it were after :meth:`set_dynamic`, to check values that bound each other."""
        found = copy(self)
        found._parsed, found.topic_defaults = {}, None  # noqa: SLF001 - of its own kind
        found.set_dynamic(default=default, broker=broker)
        return found

    # ---- values
    def topic_keys(self) -> dict[str, ConfigKey]:
        """The keys of topics, with the ``ranges`` of this broker."""
        return with_ranges(topic_keys(), self._ranges)

    def get(self, name: str) -> Any:
        """The parsed effective value; None where Kafka's default is null."""
        try:
            return self._parsed[name]
        except KeyError:
            text = self.text(name)
            value = self._parsed[name] = None if text is None else self.keys[name].parse(text)
            return value

    def get_int(self, name: str) -> int:
        """The parsed value of a key that is a whole number and never null."""
        value = self.get(name)
        assert isinstance(value, int), name
        return value

    def text(self, name: str) -> str | None:
        """The effective value as text."""
        for layer in (self.dynamic_broker, self.dynamic_default, self.static):
            if name in layer:
                return layer[name]
        return broker_keys()[name].default

    def layers(self, name: str) -> list[tuple[str, int]]:
        """Every (value, source) that ``name`` has, the one in effect first (DescribeConfigs' synonyms)."""
        found = []
        for layer, source in (
            (self.dynamic_broker, SOURCE_DYNAMIC_BROKER),
            (self.dynamic_default, SOURCE_DYNAMIC_DEFAULT_BROKER),
            (self.static, SOURCE_STATIC_BROKER),
        ):
            if name in layer:
                found.append((layer[name], source))
        default = broker_keys()[name].default
        if default is not None:
            found.append((default, SOURCE_DEFAULT))
        return found

    def set_dynamic(self, *, default: Mapping[str, str] | None = None, broker: Mapping[str, str] | None = None) -> None:
        """Replaces the run-time changes for all brokers or for this broker. The values must have been checked."""
        if default is not None:
            self.dynamic_default = dict(default)
        if broker is not None:
            self.dynamic_broker = dict(broker)
        self._parsed.clear()
        self.revision += 1

    def engine_options(self) -> dict[str, str]:
        """Every effective value that is not null, in its normal form, for the data plane."""
        options = {name: key.normal(text) for name, key in self.keys.items() if (text := self.text(name)) is not None}
        for listener, own in self.of_listeners.items():
            limits = {name: self.keys[name].normal(own[name]) for name in LISTENER_LIMITS & own.keys()}
            options |= {f"listener.name.{listener}.{name}": limit for name, limit in limits.items()}
        options["log.dirs"] = ",".join(self.log_dirs)
        options["inter.broker.listener.name"] = self.inter_broker_listener
        if self.inter_broker_secret is not None:
            options["kafkastore.inter.broker.secret"] = self.inter_broker_secret.text
        if self.knows_brokers_by_principal:
            options["kafkastore.inter.broker.principals"] = "true"
        if not self.is_member:
            options["kafkastore.is.alone"] = "true"
        return options

    def load_secret(self) -> None:
        """Reads the secret that brokers share; :attr:`inter_broker_secret` is None before. Raises StartupError."""
        from kafkastore.config.secret import read_secret

        self.inter_broker_secret = read_secret(self.get)
        has_brokers = self.is_member or self.inter_broker_secret is not None
        if self.authorizer is not None and has_brokers and not self.must_brokers_prove:
            raise StartupError(
                "authorizer.class.name in a cluster needs brokers that know each other; set "
                "kafkastore.inter.broker.secret.file, and leave kafkastore.inter.broker.secret.required at true, or "
                "give inter.broker.listener.name a listener with SASL"
            )

    # ---- derived
    @property
    def metadata_path(self) -> str:
        """The SQLite file of the embedded metadata store: beside the partitions of the first log directory, where Kafka
        ignores the file (Kafka reads directories and its own files only). An existing file is found in any log
        directory, so ``log.dirs`` may be reordered or get a new first directory."""
        path: str | None = self.get("kafkastore.metadata.path")
        if path:
            return path
        paths = [os.path.join(directory, METADATA_FILE) for directory in self.log_dirs]
        return next((one for one in paths if os.path.exists(one)), paths[0])

    @property
    def is_member(self) -> bool:
        """Whether the metadata store is shared with other brokers: ZooKeeper, or an SQLite file that
        ``kafkastore.metadata.path`` names. A broker with neither is alone, and keeps its metadata with its data."""
        return self.get("zookeeper.connect") is not None or self.get("kafkastore.metadata.path") is not None

    @property
    def metadata_setting(self) -> str:
        """``key=value`` of the setting that determines :attr:`metadata_path`, for error messages."""
        for name in ("kafkastore.metadata.path", "log.dirs"):
            if self.get(name):
                return f"{name}={self.text(name)}"
        return f"log.dir={self.text('log.dir')}"

    @property
    def inter_broker_listener(self) -> str:
        """The name of the listener on which brokers reach each other: ``inter.broker.listener.name``, else the first
        whose protocol is ``security.inter.broker.protocol``, else the first."""
        named: str | None = self.get("inter.broker.listener.name")
        if named:
            return named.upper()
        protocol = self.get("security.inter.broker.protocol")
        matching = [listener.name for listener in self.listeners if listener.protocol == protocol]
        return (matching or [self.listeners[0].name])[0]

    @property
    def knows_brokers_by_principal(self) -> bool:
        """Whether the principal of a client on the brokers' listener tells that it is a broker."""
        return self.brokers_link is not None and self.brokers_link.is_by_principal

    @property
    def has_broker_proof(self) -> bool:
        """Whether there is something that brokers prove to each other; known after :meth:`load_secret`."""
        return self.knows_brokers_by_principal or self.inter_broker_secret is not None

    @property
    def must_brokers_prove(self) -> bool:
        """Whether nobody may act as a broker of this cluster without a proof; known after :meth:`load_secret`."""
        secret = self.inter_broker_secret
        return self.knows_brokers_by_principal or (secret is not None and secret.is_required)

    @property
    def removed_brokers(self) -> frozenset[int]:
        """The brokers that get no replicas, since they were removed from the cluster."""
        return parse_removed(self.text(REMOVED_KEY))

    @property
    def metrics_listener(self) -> tuple[str, int] | None:
        """(host, port) where the metrics are served, None when they are not."""
        text = self.text("kafkastore.metrics.listener")
        return parse_address("kafkastore.metrics.listener", text) if text else None

    @property
    def rack(self) -> str | None:
        rack: str | None = self.get("broker.rack")
        return rack or None

    def _node_id(self) -> int:
        static = self.static
        if "node.id" in static and "broker.id" in static and self.get("node.id") != self.get("broker.id"):
            raise ConfigError(
                f"node.id={static['node.id']} and broker.id={static['broker.id']} differ; give only node.id"
            )
        for name in ("node.id", "broker.id"):
            if name in static and self.get(name) >= 0:
                node_id: int = self.get(name)
                return node_id
        return 1

    def _log_dirs(self) -> list[str]:
        if self.is_embedded and not {"log.dirs", "log.dir"} & self.static.keys():
            self.static["log.dirs"] = default_log_dir()
            self._parsed.pop("log.dirs", None)
        name = "log.dirs" if self.get("log.dirs") is not None else "log.dir"
        shown = self.text(name) or '""'
        try:
            directories = [os.path.abspath(directory) for directory in self.get(name) if directory]
        except FileNotFoundError:
            raise ConfigError(
                f"Invalid value {shown} for configuration {name}: the working directory is gone; give absolute paths"
            ) from None
        if not directories:
            raise ConfigError(f"Invalid value {shown} for configuration {name}: give at least one directory")
        for directory in self.get(name):
            if directory.startswith(("~", "$")) and not os.path.isdir(directory):
                raise ConfigError(
                    f"Invalid value {shown} for configuration {name}: {directory.partition('/')[0]} is for a "
                    "shell and means nothing here; give an absolute path"
                )
        if len(set(directories)) != len(directories):
            raise ConfigError(f"Invalid value {shown} for configuration {name}: each directory may be given only once")
        return directories

    def _read_listeners(self) -> None:
        protocols = parse_protocol_map(self.text("listener.security.protocol.map") or "")
        controllers = {name.upper() for name in (self.get("controller.listener.names") or [])}
        for name in controllers:  # a KRaft file: the names are parsed, but no controller listener is opened
            protocols.setdefault(name, "PLAINTEXT")
        text = self.text("listeners") or ""
        self.listeners = [
            listener for listener in parse_listeners("listeners", text, protocols) if listener.name not in controllers
        ]
        if not self.listeners:
            shown = text or '""'
            raise ConfigError(
                f"Invalid value {shown} for configuration listeners: give at least one, as PLAINTEXT://:9092"
            )
        for listener in self.listeners:
            if listener.has_sasl:
                sasl_settings(self, listener)
        if self.inter_broker_listener not in {listener.name for listener in self.listeners}:
            raise ConfigError(
                f"inter.broker.listener.name={self.get('inter.broker.listener.name')} is none of listeners={text}; "
                "other brokers could not reach this one"
            )
        if not QUORUM_KEYS.isdisjoint(self.static):
            from kafkastore.config.kraft import check_quorum

            check_quorum(self, protocols)
        self.brokers_link = self._read_brokers_link()
        advertised = self.text("advertised.listeners")
        if advertised:
            self.advertised_listeners = [
                self._advertise(listener)
                for listener in parse_listeners("advertised.listeners", advertised, protocols, is_advertised=True)
                if listener.name not in controllers
            ]
            self._check_advertised(advertised)
        else:
            self.advertised_listeners = [self._advertise(listener) for listener in self.listeners]

    def _read_brokers_link(self) -> BrokersLink | None:
        """How brokers reach each other; None for a broker that is alone."""
        if not self.is_member:
            return None
        from kafkastore.config.brokers_link import brokers_link

        return brokers_link(self)

    def _check_values(self) -> None:
        """Kafka's checks beyond each key's type and range (KafkaConfig.validateValues). Raises ConfigError."""
        from kafkastore.config.broker_values import check_broker_value

        for name, value in self.static.items():
            check_broker_value(self, name, value)
        for listener, keys in self.of_listeners.items():
            for name in LISTENER_LIMITS & keys.keys():
                check_listener_limit(listener, name, keys[name])
        _ = self.metrics_listener

    def _check_advertised(self, text: str) -> None:
        names = {listener.name for listener in self.listeners}
        for listener in self.advertised_listeners:
            if listener.name not in names:
                raise ConfigError(
                    f"Invalid value {text} for configuration advertised.listeners: {listener.name} is not among "
                    f"listeners ({', '.join(sorted(names))})"
                )

    def _advertise(self, listener: Listener) -> Listener:
        host = listener.host
        if host in ("", "0.0.0.0", "::"):  # noqa: S104
            host = _canonical_host_name()
            if self.is_embedded and not _has_address(host):
                host = "localhost"
        return Listener(listener.name, host, listener.port, listener.protocol)

    @property
    def open_listeners(self) -> list[Listener]:
        """The listeners that other hosts can reach and that do not authenticate clients."""
        return [one for one in self.listeners if not one.is_loopback and not self._authenticates(one)]

    def _authenticates(self, listener: Listener) -> bool:
        """Whether every client of the listener proves who it is: by SASL, or by a certificate."""
        if listener.has_sasl:
            return True
        return listener.has_tls and tls_settings(self, listener).get(CLIENT_AUTH_KEY) == "required"


def _canonical_host_name() -> str:
    import socket

    return socket.getfqdn()


def _has_address(host: str) -> bool:
    import socket

    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False


def _without_values(message: str, references: Mapping[str, str]) -> str:
    """A message in which values that have come from elsewhere, secrets maybe, are as they stand in the file."""
    for value, reference in references.items():
        for shown in (value, value.strip(), ascii(value)[1:-1]):
            message = message.replace(f"Invalid value {shown} for ", f"Invalid value {reference} for ")
            if len(shown) >= SECRET_LENGTH:  # a shorter one may be a part of any word
                message = message.replace(shown, reference)
    return message


def _check_characters(key: ConfigKey, value: str) -> None:
    """Raises ConfigError for NUL and for half of a surrogate pair: escapes can make them, and no path, number or name
    has them."""
    if "\0" in value or any("\ud800" <= one <= "\udfff" for one in value):
        raise key.invalid(
            ascii(value)[1:-1],
            "it has a character that no file system or client takes; check its \\u escapes, and that it is UTF-8",
        )


def _parse_at_start(key: ConfigKey, value: str) -> Any:
    try:
        return key.parse(value)
    except ConfigError as error:
        default = "" if key.default in (None, "") else f"; Kafka's default is {key.default}"
        raise ConfigError(f"{error.client_message}{default}") from None


def _check_is_configuration(path: str, given: Mapping[str, str]) -> None:
    """Raises ConfigError for a file in which no key is a broker's: another file was meant."""
    known = broker_keys()
    if given and not any(
        name in known or name in AUTHORIZER_KEYS or name.startswith("listener.name.") or name in REMOVED_KEYS
        for name in given
    ):
        raise ConfigError(f"{path} has no key of a broker; give the path of a server.properties")


def _read_file(path: str) -> dict[str, str]:
    try:
        return read_properties(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"Cannot read {path or repr(path)}: {reason}; give the path of a server.properties") from None
