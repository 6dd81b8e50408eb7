"""The ``ssl.*`` keys of a listener, as the data plane takes them (``rust/net/tls/settings.rs``, which reads the files).

``listener.name.<listener>.ssl.X`` replaces ``ssl.X`` for one listener (KIP-103); the listener's name stands in lower
case. Never: reads a certificate, holds a password longer than the configuration does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.config.connection_limits import LISTENER_LIMITS
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.config.broker import BrokerConfig

LISTENER_PREFIX: Final = "listener.name."

SERVED: Final = frozenset(
    [
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.principal.mapping.rules",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "kafkastore.ssl.crl.location",
    ]
)
"""The keys with an effect on a listener with TLS."""

IDLE: Final = frozenset(
    ["ssl.endpoint.identification.algorithm", "ssl.keymanager.algorithm", "ssl.protocol", "ssl.trustmanager.algorithm"]
)
"""Keys that choose among Java's implementations, or that only clients read: accepted, without an effect here."""

CLIENT_AUTH: Final = ("none", "requested", "required")


def is_listener_key(name: str) -> bool:
    """Whether a key sets one of :data:`SERVED` for one listener."""
    return listener_key(name) is not None


def listener_key(name: str) -> tuple[str, str] | None:
    """(listener in lower case, key) of ``listener.name.<listener>.<key>`` when the key is served or idle, or limits
    connections."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    listener, _, key = name.removeprefix(LISTENER_PREFIX).partition(".")
    return (listener, key) if key in SERVED or key in IDLE or key in LISTENER_LIMITS else None


def of_listeners(properties: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The keys set for one listener alone, by listener in lower case."""
    found: dict[str, dict[str, str]] = {}
    for name, value in properties.items():
        if (parts := listener_key(name)) is not None:
            found.setdefault(parts[0], {})[parts[1]] = value
    return found


def tls_settings(config: BrokerConfig, listener: str) -> dict[str, str]:
    """The ``ssl.*`` keys that are set for ``listener``, without its prefix; keys with Kafka's defaults are left out.
    Raises ConfigError for a ``ssl.client.auth`` that Kafka does not have."""
    own = config.of_listeners.get(listener.lower(), {})
    found = {}
    for name in SERVED:
        value = own.get(name) or config.static.get(name) or ""
        if value.strip():
            found[name] = value.strip()
    how = found.get("ssl.client.auth", "none")
    if how not in CLIENT_AUTH:
        raise ConfigError(
            f"Invalid value {how} for configuration ssl.client.auth: String must be one of: required, requested, none"
        )
    return found
