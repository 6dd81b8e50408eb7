"""How a command of ours connects to brokers: the ``client.properties`` that Kafka's tools take as ``--command-config``.

Read are ``security.protocol``, ``sasl.mechanism`` (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512), ``sasl.jaas.config`` and
``ssl.*``; other keys belong to other programs. Never: shows a password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore._core import BrokerLogin, BrokerTls, StartError
from kafkastore.config.brokers_link import MECHANISMS, NAMES_KEY
from kafkastore.config.jaas import parse_login
from kafkastore.config.properties import parse_properties
from kafkastore.config.sasl import JAAS
from kafkastore.errors import ConfigError
from kafkastore.interbroker.dialer import Dialer

if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def read_command_config(path: str | None) -> Dialer:
    """What opens the connections of a command; without a file they are plain. Raises ConfigError."""
    return Dialer() if path is None else dialer_of(read_properties(path))


def read_properties(path: str) -> Mapping[str, str]:
    """The keys of a ``client.properties``. Raises ConfigError."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_properties(file.read())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"--command-config {path} cannot be read: {reason}; give a client.properties") from None


def dialer_of(properties: Mapping[str, str]) -> Dialer:
    """What opens connections as Java's client would with these properties. Raises ConfigError."""
    protocol = properties.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise ConfigError(
            f"Invalid value {protocol} for configuration security.protocol: give {', '.join(PROTOCOLS[:-1])} or "
            f"{PROTOCOLS[-1]}"
        )
    tls = None
    if protocol.endswith("SSL"):
        pairs = {NAMES_KEY: "https"} | {key: value for key, value in properties.items() if key.startswith("ssl.")}
        try:
            tls = BrokerTls(pairs)
        except StartError as error:
            raise ConfigError(str(error)) from None
    return Dialer(tls, _login(properties) if protocol.startswith("SASL") else None)


def _login(properties: Mapping[str, str]) -> BrokerLogin:
    mechanism = properties.get("sasl.mechanism", "GSSAPI").strip()
    if mechanism not in MECHANISMS:
        raise ConfigError(
            f"Invalid value {mechanism} for configuration sasl.mechanism: give one of {', '.join(MECHANISMS)}"
        )
    return BrokerLogin.of_user(mechanism, *parse_login(JAAS, properties.get(JAAS, "")))
