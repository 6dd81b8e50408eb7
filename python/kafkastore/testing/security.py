"""Who may connect to a test's broker: its security protocol, its users, certificates made on the fly; and the settings
with which clients connect, in the names of Java's clients and of librdkafka.

Passwords of PLAIN are in the broker's configuration. Users of SCRAM are written to a broker that has started. The
certificates are for the broker's host and ``localhost``; their authority is new for each broker or cluster.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kafkastore._core import issue_certificates
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SCRAM: Final = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
"""Mechanism -> its number in AlterUserScramCredentials, its hash."""

MECHANISMS: Final = ("PLAIN", *SCRAM)
DEFAULT_USERS: Final = {"admin": "admin-secret"}
ITERATIONS: Final = 4096
DAYS: Final = 365

_MODULES: Final = {"PLAIN": "plain.PlainLoginModule"} | dict.fromkeys(SCRAM, "scram.ScramLoginModule")


@dataclass(frozen=True)
class Security:
    """See the module. Raises ConfigError for values that do not go together."""

    protocol: str = "PLAINTEXT"
    mechanism: str = "PLAIN"
    users: Mapping[str, str] = field(default_factory=dict)
    """User -> password. With ``shows_certificates`` each user has a certificate, too."""
    shows_certificates: bool = False
    """Whether clients have to show a certificate (``ssl.client.auth=required``)."""

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ConfigError(f"security_protocol={self.protocol} is none of {', '.join(PROTOCOLS)}")
        if self.mechanism not in MECHANISMS:
            raise ConfigError(f"sasl_mechanism={self.mechanism} is none of {', '.join(MECHANISMS)}")
        if self.shows_certificates and not self.has_tls:
            raise ConfigError(f"client_certificates=True needs TLS, and security_protocol={self.protocol} has none")
        if self.users and not (self.has_sasl or self.shows_certificates):
            raise ConfigError(
                f"users={', '.join(self.users)} need security_protocol=SASL_PLAINTEXT or SASL_SSL, or "
                f"client_certificates=True; with security_protocol={self.protocol} alone nobody says who he is"
            )

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    @property
    def names(self) -> Mapping[str, str]:
        """The users, :data:`DEFAULT_USERS` where the test gave none and somebody has to be there."""
        return self.users or (DEFAULT_USERS if self.has_sasl or self.shows_certificates else {})

    # ---- the broker's side
    def broker_properties(self, folder: Path, listeners: list[str]) -> dict[str, str]:
        """For listeners of these names, which have this protocol or the same without TLS."""
        found: dict[str, str] = {}
        if self.has_sasl:
            found["sasl.enabled.mechanisms"] = self.mechanism
        if self.has_sasl and self.mechanism == "PLAIN":
            users = " ".join(f"user_{name}={_quoted(password)}" for name, password in self.names.items())
            jaas = f"org.apache.kafka.common.security.{_MODULES['PLAIN']} required {users};"
            found |= {f"listener.name.{one.lower()}.plain.sasl.jaas.config": jaas for one in listeners}
        if self.has_tls:
            found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(folder / "broker.pem")}
        if self.shows_certificates:
            name = listeners[0].lower()
            found |= {
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(folder / "ca.pem"),
                f"listener.name.{name}.ssl.client.auth": "required",
                f"listener.name.{name}.ssl.principal.mapping.rules": "RULE:^CN=([^,]*).*$/$1/",
            }
        return found

    def make_files(self, folder: Path, host: str) -> None:
        """The certificates, unless they are there already."""
        if not self.has_tls or (folder / "broker.pem").exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        users = list(self.names) if self.shows_certificates else []
        hosts = list(dict.fromkeys((host, "localhost")))
        authority, broker, pairs = issue_certificates(hosts, users, int(time.time()), DAYS)
        (folder / "ca.pem").write_text(authority[0])
        for name, pair in zip(users, pairs, strict=True):
            _write(folder / f"user-{name}.pem", "".join(pair))
        _write(folder / "broker.pem", "".join(broker))  # last: it says that all are there

    def scram_upsertions(self) -> list[dict[str, Any]]:
        """The rows of AlterUserScramCredentials; none without SCRAM."""
        if not self.has_sasl or self.mechanism not in SCRAM:
            return []
        import hashlib
        import secrets

        number, digest = SCRAM[self.mechanism]
        salt = secrets.token_bytes(16)
        return [
            {
                "name": name,
                "mechanism": number,
                "iterations": ITERATIONS,
                "salt": salt,
                "salted_password": hashlib.pbkdf2_hmac(digest, password.encode(), salt, ITERATIONS),
            }
            for name, password in self.names.items()
        ]

    # ---- the clients' side
    def java_properties(self, folder: Path, user: str | None) -> dict[str, str]:
        found = {"security.protocol": self.protocol}
        if self.has_sasl:
            name, password = self._user(user)
            found["sasl.mechanism"] = self.mechanism
            found["sasl.jaas.config"] = (
                f"org.apache.kafka.common.security.{_MODULES[self.mechanism]} required "
                f"username={_quoted(name)} password={_quoted(password)};"
            )
        if self.has_tls:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(folder / "ca.pem")}
        if self.shows_certificates:
            pem = folder / f"user-{self._user(user)[0]}.pem"
            found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem)}
        return found

    def librdkafka_properties(self, folder: Path, user: str | None) -> dict[str, str]:
        found = {"security.protocol": self.protocol}
        if self.has_sasl:
            name, password = self._user(user)
            found |= {"sasl.mechanism": self.mechanism, "sasl.username": name, "sasl.password": password}
        if self.has_tls:
            found["ssl.ca.location"] = str(folder / "ca.pem")
        if self.shows_certificates:
            pem = str(folder / f"user-{self._user(user)[0]}.pem")
            found |= {"ssl.certificate.location": pem, "ssl.key.location": pem}
        return found

    def _user(self, wanted: str | None) -> tuple[str, str]:
        users = self.names
        name = next(iter(users)) if wanted is None else wanted
        if name not in users:
            raise ConfigError(f"user={name} is none of this broker's users: {', '.join(users)}")
        return name, users[name]


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
