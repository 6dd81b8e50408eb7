"""The ``ssl.*`` keys of a listener, as the data plane takes them (``rust/net/tls/context.rs``, which reads the files).

``listener.name.<listener>.ssl.X`` replaces ``ssl.X`` for one listener (KIP-103); the listener's name stands in lower
case. Never: reads a certificate, holds a password longer than the configuration does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from kafkastore.config.broker import BrokerConfig
    from kafkastore.config.listeners import Listener

SERVED: Final = frozenset(
    [
        "ssl.cipher.suites",
        "ssl.client.auth",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
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

IDLE: Final = frozenset(["ssl.keymanager.algorithm", "ssl.protocol", "ssl.trustmanager.algorithm"])
"""Keys that choose among Java's implementations: accepted, without an effect here."""

CLIENT_AUTH_KEY: Final = "ssl.client.auth"
CLIENT_AUTH: Final = ("none", "requested", "required")


def without_client_auth(config: BrokerConfig) -> list[str]:
    """The listeners whose clients need no certificate though ``ssl.client.auth`` asks for one: it does not count where
    there is SASL, unless the listener has its own (KIP-684)."""
    if config.static.get(CLIENT_AUTH_KEY, "").strip() not in CLIENT_AUTH[1:]:
        return []
    of_listeners = config.of_listeners
    return [
        one.name
        for one in config.listeners
        if one.has_tls and one.has_sasl and CLIENT_AUTH_KEY not in of_listeners.get(one.name.lower(), {})
    ]


def tls_settings(config: BrokerConfig, listener: Listener) -> dict[str, str]:
    """The ``ssl.*`` keys that are set for ``listener``, without its prefix; keys with Kafka's defaults are left out.
    Clients of a listener with SASL need a certificate only where its own ``ssl.client.auth`` says so (KIP-684). Raises
    ConfigError for a ``ssl.client.auth`` that Kafka does not have."""
    own = config.of_listeners.get(listener.name.lower(), {})
    found = {}
    for name in SERVED:
        is_shared = not (name == CLIENT_AUTH_KEY and listener.has_sasl)
        value = own.get(name) or (config.static.get(name) if is_shared else None) or ""
        if value.strip():
            found[name] = value.strip()
    how = found.get(CLIENT_AUTH_KEY, "none")
    if how not in CLIENT_AUTH:
        raise ConfigError(
            f"Invalid value {how} for configuration ssl.client.auth: String must be one of: required, requested, none"
        )
    return found
