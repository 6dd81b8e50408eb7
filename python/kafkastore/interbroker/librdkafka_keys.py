"""librdkafka's names of the keys that say how connections are protected, as those of Java's client.

A key of Java's counts before one of librdkafka's that means the same. Certificates and keys that librdkafka has in
files of their own are read here. Never: shows the value of a key that may be a secret.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

JAAS_KEY: Final = "sasl.jaas.config"
NAME_KEY: Final = "ssl.endpoint.identification.algorithm"
CHAIN_KEY: Final = "ssl.keystore.certificate.chain"
PRIVATE_KEY: Final = "ssl.keystore.key"
VERIFICATION_KEY: Final = "enable.ssl.certificate.verification"
RENAMED: Final = {
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.id": "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.secret": "sasl.oauthbearer.client.credentials.client.secret",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": CHAIN_KEY,
    "ssl.key.pem": PRIVATE_KEY,
}
SERVED_VALUES: Final = {
    VERIFICATION_KEY: ("true", "give the authority of the brokers' certificates as ssl.ca.location"),
    "enable.sasl.oauthbearer.unsecure.jwt": ("false", "give sasl.oauthbearer.method=oidc"),
    "sasl.oauthbearer.method": ("oidc", "give oidc, with sasl.oauthbearer.token.endpoint.url"),
    "sasl.oauthbearer.grant.type": ("client_credentials", "give client_credentials"),
}
"""Keys of which one value is served, and what to give instead of others."""
NOT_SERVED: Final = {
    "sasl.oauthbearer.config": "give sasl.oauthbearer.method=oidc, with sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.extensions": "leave it out",
    "ssl.ca.certificate.stores": "give ssl.ca.location",
    "ssl.crl.location": "leave it out, and give brokers that lost their keys other names",
    "ssl.curves.list": "leave it out",
    "ssl.engine.id": "give ssl.certificate.location and ssl.key.location",
    "ssl.engine.location": "give ssl.certificate.location and ssl.key.location",
    "ssl.providers": "leave it out",
    "ssl.sigalgs.list": "leave it out",
}
"""Keys without a counterpart, and what to do."""


def java_keys(given: Mapping[str, str]) -> dict[str, str]:
    """The keys with Java's names; others stay. Raises ConfigError of one sentence."""
    found = {key: value for key, value in given.items() if value != "" or key == NAME_KEY}
    _refuse(found)
    for name, java in RENAMED.items():
        if (value := found.pop(name, None)) is not None:
            found.setdefault(java, value)
    if found.get(NAME_KEY, "").lower() == "none":
        found[NAME_KEY] = ""
    _login(found)
    _authorities(found)
    _certificate(found)
    return found


def _refuse(found: dict[str, str]) -> None:
    for key, (served, fix) in SERVED_VALUES.items():
        value = found.pop(key, served)
        if value.strip().lower() != served:
            raise ConfigError(f"{key}={value} is not served; {fix}")
    for key, fix in NOT_SERVED.items():
        if key in found:
            raise ConfigError(f"{key} is not served; {fix}")


def _login(found: dict[str, str]) -> None:
    user, password = found.pop("sasl.username", None), found.pop("sasl.password", None)
    mechanism = found.get("sasl.mechanism", "")
    if JAAS_KEY in found or mechanism == "OAUTHBEARER" or user is password is None:
        return
    if user is None or password is None:
        missing = "sasl.username" if user is None else "sasl.password"
        raise ConfigError(f"{missing} is not set; librdkafka's sasl.username and sasl.password go together")
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    options = f"username={_quoted(user)} password={_quoted(password)}"
    found[JAAS_KEY] = f"org.apache.kafka.common.security.{module} required {options};"


def _quoted(value: str) -> str:
    text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def _authorities(found: dict[str, str]) -> None:
    path = found.pop("ssl.ca.location", "probe")
    if path == "probe":  # the authorities of the system, as without a key
        return
    if os.path.isdir(path):
        raise ConfigError(f"ssl.ca.location={path} is a directory, which is not read; give a file of certificates")
    found.setdefault("ssl.truststore.location", path)


def _certificate(found: dict[str, str]) -> None:
    certificate, key = found.pop("ssl.certificate.location", None), found.pop("ssl.key.location", None)
    if certificate is not None and key in (None, certificate) and PRIVATE_KEY not in found:
        found.setdefault("ssl.keystore.location", certificate)
        return
    for name, java, path in (
        ("ssl.certificate.location", CHAIN_KEY, certificate),
        ("ssl.key.location", PRIVATE_KEY, key),
    ):
        if path is not None and java not in found:
            found[java] = _read(name, path)
    if PRIVATE_KEY in found and CHAIN_KEY not in found:
        raise ConfigError(f"{PRIVATE_KEY}, or ssl.key, is set without a certificate; set ssl.certificate.location, too")


def _read(name: str, path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise ConfigError(f"{name}={path} cannot be read: {error.strerror or error}; give a file in PEM") from None
