"""The configuration of a test's broker, as server.properties would have it.

The defaults are those that make a test fast: the topics of the coordinators have one partition, a group does not wait
for its first members. What the test gives in ``config`` goes before them.

Listeners, in this order: the one of clients, named after its protocol; ``FAULTS``, the same without TLS on loopback, to
which the proxy of ordered faults connects (``proxy.py``); ``BROKERS``, where brokers prove themselves with a secret.
``FAULTS`` is missing where clients show certificates, ``BROKERS`` where a broker is alone and anybody may connect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kafkastore.config import BrokerConfig
from kafkastore.config.secret import FILE_KEY, new_secret, write_secret
from kafkastore.errors import ConfigError
from kafkastore.testing.security import Security

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FAULTS: Final = "FAULTS"
BROKERS: Final = "BROKERS"
LOOPBACK: Final = "127.0.0.1"

DEFAULTS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}

OURS: Final = (
    "advertised.listeners",
    "inter.broker.listener.name",
    "kafkastore.metadata.path",
    "listener.security.protocol.map",
    "listeners",
    "log.dirs",
    "node.id",
    "zookeeper.connect",
)
"""Keys that arguments of their own decide."""


@dataclass(frozen=True)
class Settings:
    """Of one broker; ``folder`` is its own, ``home`` that of its cluster."""

    home: Path
    node_id: int = 1
    host: str = LOOPBACK
    security: Security = field(default_factory=Security)
    given: Mapping[str, Any] = field(default_factory=dict)
    """The test's own ``config``."""
    of_cluster: Mapping[str, str] = field(default_factory=dict)
    """What the brokers of a cluster have beside the defaults; empty for a broker that is alone."""

    @property
    def folder(self) -> Path:
        return self.home / f"broker-{self.node_id}"

    @property
    def certificates(self) -> Path:
        return self.home / "tls"

    @property
    def clients(self) -> str:
        """The name of the listener of clients."""
        return self.security.protocol

    @property
    def has_faults(self) -> bool:
        return not self.security.shows_certificates

    @property
    def has_brokers(self) -> bool:
        return bool(self.of_cluster) or self.security.protocol != "PLAINTEXT"

    def config(self, port: int) -> BrokerConfig:
        """``port``: of clients, 0 for one that the system chooses; it chooses those of the other listeners at each
        start. Makes the files that the configuration names. Raises ConfigError."""
        for key in OURS:
            if key in self.given:
                raise ConfigError(f"config: {key} belongs to the broker of tests; leave it out")
        host = f"[{self.host}]" if ":" in self.host else self.host
        hosts = {self.clients: host}
        protocols = {self.clients: self.security.protocol}
        if self.has_faults:
            hosts[FAULTS] = host
            protocols[FAULTS] = "SASL_PLAINTEXT" if self.security.has_sasl else "PLAINTEXT"
        if self.has_brokers:
            hosts[BROKERS] = LOOPBACK
            protocols[BROKERS] = "PLAINTEXT"
        ports = {self.clients: port}
        of_clients = [name for name in hosts if name != BROKERS]
        properties = {
            "node.id": str(self.node_id),
            "listeners": ",".join(f"{name}://{at}:{ports.get(name, 0)}" for name, at in hosts.items()),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "inter.broker.listener.name": BROKERS if self.has_brokers else self.clients,
            "log.dirs": str(self.folder / "data"),
        }
        properties |= self.security.broker_properties(self.certificates, of_clients)
        properties |= DEFAULTS
        properties |= self.of_cluster
        if self.has_brokers:
            properties[FILE_KEY] = str(self._secret)
        self.prepare()
        return BrokerConfig(properties | {key: _text(value) for key, value in self.given.items()})

    def prepare(self) -> None:
        """Makes the files that all brokers of the home have, where they are not yet: certificates and secret."""
        self.security.make_files(self.certificates, self.host)
        if self.has_brokers and not self._secret.exists():
            write_secret(self._secret, new_secret())

    @property
    def _secret(self) -> Path:
        return self.home / "inter-broker.secret"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
