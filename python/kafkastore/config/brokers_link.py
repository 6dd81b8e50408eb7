"""How the brokers of a cluster reach each other: the protocol of the listener ``inter.broker.listener.name``, and what
tells a broker from a client there.

========================  ===========================================================================
listener                  what proves that a client is a broker
========================  ===========================================================================
PLAINTEXT, SSL            the secret of ``kafkastore.inter.broker.secret.file``; nothing without it
SSL, client.auth=required the secret, else the principal of its certificate
SASL_PLAINTEXT, SASL_SSL  its principal: the user of ``sasl.mechanism.inter.broker.protocol``
========================  ===========================================================================

A principal is a broker's when it is the one of this broker itself, or a super user. Never: opens a file, logs a
password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.config.jaas import parse_login
from kafkastore.config.sasl import JAAS, PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, sasl_settings
from kafkastore.config.secret import FILE_KEY
from kafkastore.config.tls import CLIENT_AUTH_KEY, tls_settings
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from kafkastore.config.broker import BrokerConfig
    from kafkastore.config.listeners import Listener

MECHANISM_KEY: Final = "sasl.mechanism.inter.broker.protocol"
NAMES_KEY: Final = "ssl.endpoint.identification.algorithm"
MECHANISMS: Final = (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512)
"""The mechanisms by which brokers prove to each other who they are."""


class BrokerLogin(NamedTuple):
    """As whom this broker logs in to others."""

    mechanism: str
    name: str
    password: str

    def __repr__(self) -> str:
        return f"User({self.name}, hidden)"


class BrokersLink(NamedTuple):
    """See the module."""

    listener: Listener
    tls: dict[str, str] | None
    """The ``ssl.*`` keys by which this broker checks another, without a listener's prefix."""
    user: BrokerLogin | None
    is_by_principal: bool
    """Whether the principal of a client tells that it is a broker."""


def brokers_link(config: BrokerConfig) -> BrokersLink:
    """Raises ConfigError."""
    listener = next(one for one in config.listeners if one.name == config.inter_broker_listener)
    tls = _tls(config, listener) if listener.has_tls else None
    has_secret = bool(config.get(FILE_KEY))
    if not listener.has_sasl:
        is_mutual = tls is not None and tls.get(CLIENT_AUTH_KEY) == "required"
        return BrokersLink(listener, tls, None, is_mutual and not has_secret)
    if has_secret:
        raise ConfigError(
            f"{FILE_KEY}={config.text(FILE_KEY)} cannot be proven on {listener!r}, where brokers log in as a user; "
            "remove it, or give inter.broker.listener.name an SSL listener"
        )
    return BrokersLink(listener, tls, _user(config, listener), is_by_principal=True)


def _tls(config: BrokerConfig, listener: Listener) -> dict[str, str]:
    found = tls_settings(config, listener)
    if not {"ssl.truststore.location", "ssl.truststore.certificates"} & found.keys():
        raise ConfigError(
            f"ssl.truststore.location is not set; brokers reach each other on {listener!r}, and must know which "
            "authority signs their certificates"
        )
    own = config.of_listeners.get(listener.name.lower(), {})
    found[NAMES_KEY] = own.get(NAMES_KEY, config.static.get(NAMES_KEY, "https")).strip()
    return found


def _user(config: BrokerConfig, listener: Listener) -> BrokerLogin:
    mechanism = (config.text(MECHANISM_KEY) or "").strip()
    if mechanism not in MECHANISMS:
        raise ConfigError(
            f"Invalid value {mechanism} for configuration {MECHANISM_KEY}: brokers reach each other on {listener!r}, "
            f"and log in by one of {', '.join(MECHANISMS)}"
        )
    enabled = sasl_settings(config, listener).mechanisms
    if mechanism not in enabled:
        raise ConfigError(
            f"Invalid value {mechanism} for configuration {MECHANISM_KEY}: it is not among the mechanisms of "
            f"{listener!r} ({', '.join(enabled)}); add it to sasl.enabled.mechanisms"
        )
    key = f"{mechanism.lower()}.{JAAS}"
    name = f"listener.name.{listener.name.lower()}.{key}"
    text = config.of_listeners.get(listener.name.lower(), {}).get(key, "")
    return BrokerLogin(mechanism, *parse_login(name, text))
