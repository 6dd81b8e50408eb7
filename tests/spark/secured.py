"""Secured brokers for Spark: an authorizer, TLS, and users that prove who they are by SCRAM, a certificate, a token of
OAUTHBEARER or a delegation token.

The listener without a proof is the administrator's. What a user may do is what ACLs say.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from clients.acl_world import AUTHORIZER
from clients.test_delegation_tokens import create
from clients.test_sasl import authenticate, handshake, scram_final
from peer.apache_kafka import ApacheKafka
from peer.broker_process import BrokerProcess, free_port, wait_until
from peer.certificates import Authority
from peer.kafkastore_broker import KafkastoreBroker
from peer.token_endpoint import CLIENT_ID, CLIENT_SECRET, TokenEndpoint
from peer.tokens import AuthorizationServer
from peer.wire_socket import WireSocket

USER = "alice"
"""Of every login; of the certificate it is the common name."""
PASSWORD = "a-secret-that-nobody-may-see"
LIMIT_S = 20.0
MECHANISM = "SCRAM-SHA-512"
OAUTH = "org.apache.kafka.common.security.oauthbearer"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SESSION_MS = 4_000
"""After so long a client logs in again, over another connection (KIP-368)."""
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
DESCRIBE_CONFIGS = AclOperation.DESCRIBE_CONFIGS
TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.BROKER
TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID
PREFIXED, LITERAL = ResourcePatternType.PREFIXED, ResourcePatternType.LITERAL
LOGINS = ("by_scram", "by_plain", "by_certificate", "by_bearer", "by_token_file", "by_delegation_token")
"""The methods of Secured that give one."""
Properties = dict[str, str]


class Right(NamedTuple):
    """What an ACL allows."""

    operation: AclOperation
    kind: ResourceType
    name: str
    pattern: ResourcePatternType = LITERAL

    def binding(self, user: str) -> AclBinding:
        who = f"User:{user}"
        return AclBinding(self.kind, self.name, self.pattern, who, "*", self.operation, AclPermissionType.ALLOW)


class KafkaWithTokens(ApacheKafka):
    """Reads keys of tokens from a file, which its JVM has to be told."""

    jvm = [*ApacheKafka.jvm]  # noqa: RUF012 - each broker has its own, see World


def of_everything(user: str | None = None) -> AclBindingFilter:
    """The filter for all ACLs, of a user or of everybody."""
    every: Any = None
    who: Any = user and f"User:{user}"
    kinds = ResourceType.ANY, every, ResourcePatternType.ANY
    return AclBindingFilter(*kinds, who, every, AclOperation.ANY, AclPermissionType.ANY)


def scram(user: str, password: str, *, is_token: bool = False) -> Properties:
    token = ' tokenauth="true"' if is_token else ""
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.jaas.config": f'{SCRAM_MODULE} required username="{user}" password="{password}"{token};',
    }


@dataclass
class Secured:
    """One broker, or the first of several. ``port``: SASL_SSL; ``tls_port``: SSL with certificates of clients."""

    broker: BrokerProcess
    port: int
    tls_port: int
    token_port: int
    authority: Authority
    tokens: AuthorizationServer
    endpoint: TokenEndpoint
    secrets: list[str] = field(default_factory=lambda: [PASSWORD, CLIENT_SECRET])
    """What may be shown nowhere."""
    others: Sequence[tuple[BrokerProcess, int]] = ()
    """More brokers of the cluster, each with its port of SASL_SSL."""

    @property
    def kind(self) -> str:
        return self.broker.kind

    @property
    def bootstrap(self) -> str:
        return ",".join(f"localhost:{port}" for port in (self.port, *(port for _, port in self.others)))

    def bootstrap_of(self, login: Properties) -> str:
        return f"localhost:{self.tls_port}" if login["security.protocol"] == "SSL" else self.bootstrap

    # ---- logins: properties of a client

    def trusting(self, login: Properties) -> Properties:
        return login | {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority.ca)}

    def by_scram(self, user: str = USER, password: str = PASSWORD) -> Properties:
        return self.trusting(scram(user, password))

    def by_plain(self) -> Properties:
        login = self.by_scram()
        jaas = login["sasl.jaas.config"].replace(SCRAM_MODULE, PLAIN_MODULE)
        return login | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}

    def by_certificate(self, user: str = USER, **given: Any) -> Properties:
        pair = self.authority.client(f"CN={user}", name=f"client-{user}-{time.monotonic_ns()}", **given)
        own = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(pair.both)}
        return self.trusting({"security.protocol": "SSL", **own})

    def by_bearer(self) -> Properties:
        """A token of the token endpoint."""
        module = f"{OAUTH}.OAuthBearerLoginModule required"
        return self.trusting(
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": self.endpoint.url,
                "sasl.jaas.config": f'{module} clientId="{CLIENT_ID}" clientSecret="{CLIENT_SECRET}";',
            }
        )

    def by_token_file(self, token: str | None = None) -> Properties:
        token = token or self.tokens.token()
        path = self.authority.folder / f"token-{time.monotonic_ns()}"
        path.write_text(token + "\n")
        self.secrets.append(token)
        login = self.by_bearer()
        del login["sasl.jaas.config"]
        return login | {"sasl.oauthbearer.token.endpoint.url": path.as_uri()}

    def by_delegation_token(self, lifetime_ms: int = -1) -> Properties:
        """What executors get: a token, which alice has made by her password."""
        with WireSocket(self.token_port, 20) as wire:
            assert handshake(wire, MECHANISM) == 0
            first = f"n={USER},r=abc"
            code, _, challenge, _ = authenticate(wire, f"n,,{first}".encode())
            assert code == 0
            final = scram_final(MECHANISM, first, challenge, PASSWORD)
            assert authenticate(wire, final.encode())[0] == 0
            code, token_id, hmac = create(wire, lifetime_ms=lifetime_ms)
        assert code == 0
        time.sleep(0.5 if self.kind == "kafka" else 0)  # it answers before its brokers know the token
        secret = base64.b64encode(hmac).decode()
        self.secrets.append(secret)
        return self.trusting(scram(token_id, secret, is_token=True))

    # ---- rights

    @cached_property
    def admins(self) -> list[AdminClient]:
        """Of each broker."""
        servers = [self.broker.bootstrap, *(broker.bootstrap for broker, _ in self.others)]
        return [AdminClient({"bootstrap.servers": one, "log_level": 0}) for one in servers]

    @property
    def admin(self) -> AdminClient:
        return self.admins[0]

    def add_user(self, user: str = USER, password: str = PASSWORD) -> None:
        given = UserScramCredentialUpsertion(
            user, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), password.encode()
        )
        self.admin.alter_user_scram_credentials([given])[user].result(LIMIT_S)

    def allow(self, *rights: Right, user: str = USER) -> None:
        """These rights alone, of the user by SASL and of the user by a certificate. Returns when they are in effect."""
        names = (user, f"CN={user}")
        for name in names:
            old = of_everything(name)
            for future in self.admin.delete_acls([old]).values():
                future.result(LIMIT_S)
        wanted = {right.binding(name) for right in rights for name in names}
        for future in (self.admin.create_acls(sorted(wanted, key=str)) if wanted else {}).values():
            future.result(LIMIT_S)
        for admin in self.admins:
            wait_until(partial(self._has_rights, admin, names, wanted), LIMIT_S, "the ACLs are in effect")

    @staticmethod
    def _has_rights(admin: AdminClient, names: tuple[str, ...], wanted: set[AclBinding]) -> bool:
        found = admin.describe_acls(of_everything()).result(LIMIT_S)
        return {one for one in found if one.principal.removeprefix("User:") in names} == wanted


def settings_of(kind: str, authority: Authority, tokens: AuthorizationServer) -> Properties:
    """What a secured broker has beside the settings of every broker of tests, but for its listeners."""
    sasl = {
        "sasl.enabled.mechanisms": f"PLAIN,{MECHANISM},OAUTHBEARER",
        "connections.max.reauth.ms": str(SESSION_MS),
        "sasl.oauthbearer.jwks.endpoint.url": tokens.url,
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "https://issuer",
        "delegation.token.secret.key": "a secret of all brokers",
        "connection.failed.authentication.delay.ms": "10",
    }
    for listener in ("sasl_ssl", "sasl_plaintext"):
        prefix = f"listener.name.{listener}"
        sasl[f"{prefix}.scram-sha-512.sasl.jaas.config"] = f"{SCRAM_MODULE} required;"
        sasl[f"{prefix}.plain.sasl.jaas.config"] = f'{PLAIN_MODULE} required user_{USER}="{PASSWORD}";'
        sasl[f"{prefix}.oauthbearer.sasl.jaas.config"] = f"{OAUTH}.OAuthBearerLoginModule required;"
        if kind == "kafka":
            handler = f"{OAUTH}.OAuthBearerValidatorCallbackHandler"
            sasl[f"{prefix}.oauthbearer.sasl.server.callback.handler.class"] = handler
    return sasl | {
        "ssl.keystore.location": str(authority.server().both),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(authority.ca),
        "ssl.truststore.type": "PEM",
        "listener.name.ssl.ssl.client.auth": "required",
        "authorizer.class.name": AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,REPLICATION:PLAINTEXT,"
        "SASL_SSL:SASL_SSL,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
    }


def listeners_of(broker: BrokerProcess, ports: tuple[int, int, int]) -> Properties:
    own = broker.properties()
    added = "SASL_SSL://localhost:{},SSL://localhost:{},SASL_PLAINTEXT://localhost:{}".format(*ports)
    plain = own.get("advertised.listeners") or own["listeners"]
    return {
        "listeners": f"{own['listeners']},{added.replace('localhost', '127.0.0.1')}",
        "advertised.listeners": f"{plain},{added}",
    }


def secure(
    broker: BrokerProcess, ports: tuple[int, int, int], authority: Authority, tokens: AuthorizationServer
) -> None:
    """Gives a broker that has not started the settings and listeners of a secured one."""
    if isinstance(broker, KafkaWithTokens):
        broker.jvm = [*broker.jvm, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.url}"]
    broker.overrides |= settings_of(broker.kind, authority, tokens) | listeners_of(broker, ports)


def secured(kind: str, folder: Path) -> Iterator[Secured]:
    """One broker."""
    authority = Authority(folder / "certificates")
    tokens = AuthorizationServer(folder / "keys")
    endpoint = TokenEndpoint(tokens.token)
    broker: BrokerProcess = (KafkaWithTokens if kind == "kafka" else KafkastoreBroker)(folder / "broker")
    ports = free_port(), free_port(), free_port()
    secure(broker, ports, authority, tokens)
    try:
        broker.start()
        made = Secured(broker, *ports, authority, tokens, endpoint)
        made.add_user()
        yield made
        assert broker.is_running(), broker.output()[-4000:]
    finally:
        broker.kill()
        endpoint.close()
