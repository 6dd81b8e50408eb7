"""How a command or a function of ours connects to brokers: the ``client.properties`` that Kafka's tools take as
``--command-config``, or its keys as a mapping.

Read are ``security.protocol``, ``sasl.*`` and ``ssl.*`` (``rust/client/security.rs`` says which), in the names of
Java's client or of librdkafka; other keys belong to other programs. Never: shows a password.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from kafkastore._core import StartError, client_security
from kafkastore.config.properties import parse_properties
from kafkastore.errors import ConfigError
from kafkastore.interbroker.dialer import Dialer
from kafkastore.interbroker.librdkafka_keys import java_keys

CommandConfig = str | os.PathLike[str] | Mapping[str, str] | None
"""The path of a ``client.properties``, its keys, or nothing: PLAINTEXT."""
SECURITY: Final = ("security.protocol", "ssl.", "sasl.")
SPARK_PREFIX: Final = "kafka."


def read_command_config(command_config: CommandConfig) -> Dialer:
    """What opens the connections of a command; without keys they are plain. Raises ConfigError."""
    return dialer_of(properties_of(command_config))


def properties_of(command_config: CommandConfig) -> dict[str, str]:
    """The keys that say how connections are protected, in Java's names. Raises ConfigError."""
    if command_config is None:
        return {}
    given: Mapping[str, str]
    given = command_config if isinstance(command_config, Mapping) else _read(os.fspath(command_config))
    return {key: value for key, value in java_keys(given).items() if key.startswith(SECURITY)}


def spark_options(command_config: CommandConfig) -> dict[str, str]:
    """The same keys as options of Spark's source and sink. Raises ConfigError."""
    return {SPARK_PREFIX + key: value for key, value in properties_of(command_config).items()}


def dialer_of(properties: Mapping[str, str]) -> Dialer:
    """What opens connections as Java's client would with these properties. Raises ConfigError."""
    try:
        return Dialer(*client_security(dict(properties)))
    except StartError as error:
        raise ConfigError(str(error)) from None


def _read(path: str) -> Mapping[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            return parse_properties(file.read())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"command_config {path} cannot be read: {reason}; give a client.properties") from None
