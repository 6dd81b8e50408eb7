"""A broker with an authorizer, of either kind, whose users have certificates; and ACLs as requests have them.

The user ``admin`` is a super user. The others may do what ACLs allow them. ``Client`` asks over TLS, from an address of
its choice on the loopback interface.
"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import Any, NamedTuple

from parity.raw_client import ANSWER_TIMEOUT_SECONDS, RawClient
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, free_port, wait_until
from peer.certificates import Authority, Pair

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ADMIN = "CN=admin"

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS = range(2, 12)
IDEMPOTENT_WRITE = 12
DENY, ALLOW = 2, 3
CLUSTER_NAME = "kafka-cluster"
EFFECT_LIMIT_S = 20.0


class Acl(NamedTuple):
    """One ACL; ``user`` is the name in a certificate, ``*`` for every user."""

    user: str
    operation: int
    resource_type: int = TOPIC
    name: str = "t"
    pattern_type: int = LITERAL
    permission: int = ALLOW
    host: str = "*"

    def creation(self) -> dict[str, Any]:
        return {
            "resource_type": self.resource_type,
            "resource_name": self.name,
            "resource_pattern_type": self.pattern_type,
            "principal": f"User:{self.user}",
            "host": self.host,
            "operation": self.operation,
            "permission_type": self.permission,
        }


EVERYTHING = {
    "resource_type_filter": ANY,
    "resource_name_filter": None,
    "pattern_type_filter": ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": ANY,
    "permission_type": ANY,
}
"""The filter that matches every ACL."""


class AclWorld:
    """See the module. The certificates are made before the broker."""

    def __init__(self, factory: BrokerFactory, folder: Path, kind: str | None = None, **settings: str) -> None:
        self.authority = Authority(folder / "certificates")
        self.kind = kind or factory.kind
        self._pairs: dict[str, Pair] = {}
        self._clients: list[RawClient] = []
        self.broker: BrokerProcess = factory(start=False, kind=kind)
        self.port = free_port()
        given = self.broker.properties()
        # Apache Kafka's broker and its controller meet without a proof, and must not lock themselves out
        brokers = ";User:ANONYMOUS" if self.kind == "kafka" else ""
        self.broker.overrides |= {
            "listeners": f"{given['listeners']},SSL://127.0.0.1:{self.port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.broker.port},SSL://localhost:{self.port}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
            "ssl.keystore.location": str(self.authority.server().both),
            "ssl.keystore.type": "PEM",
            "ssl.client.auth": "required",
            "ssl.truststore.location": str(self.authority.ca),
            "ssl.truststore.type": "PEM",
            "authorizer.class.name": AUTHORIZER,
            "super.users": f"User:{ADMIN}{brokers}",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self.broker.start()
        self.admin = self.client(ADMIN)

    def pair(self, user: str) -> Pair:
        """The certificate of a user."""
        if user not in self._pairs:
            self._pairs[user] = self.authority.client(user, name=f"client-{len(self._pairs)}")
        return self._pairs[user]

    def client(self, user: str, source: str = "127.0.0.1") -> RawClient:
        """A connection of ``user`` from the address ``source``."""
        context = ssl.create_default_context(cafile=str(self.authority.ca))
        pair = self.pair(user)
        context.load_cert_chain(str(pair.chain), str(pair.key))
        raw = socket.create_connection(("127.0.0.1", self.port), ANSWER_TIMEOUT_SECONDS, source_address=(source, 0))
        self._clients.append(RawClient("", 0, context.wrap_socket(raw, server_hostname="localhost")))
        return self._clients[-1]

    def close(self) -> None:
        """Closes the connections of all clients."""
        for client in self._clients:
            client.close()

    def rd(self, user: str) -> dict[str, Any]:
        """Settings for librdkafka."""
        pair = self.pair(user)
        return {
            "bootstrap.servers": f"localhost:{self.port}",
            "security.protocol": "ssl",
            "ssl.ca.location": str(self.authority.ca),
            "ssl.certificate.location": str(pair.chain),
            "ssl.key.location": str(pair.key),
        }

    # ---- ACLs
    def add(self, *acls: Acl) -> list[int]:
        """The error codes. Returns when the ACLs are in effect: Apache Kafka answers before that."""
        asked = {"creations": [one.creation() for one in acls]}
        codes = [int(one.error_code) for one in self.admin.ask("create_acls", 3, asked).results]
        if self.kind == "kafka":
            added = {one for one, code in zip(acls, codes, strict=True) if code == 0}
            wait_until(lambda: added <= self.described(), EFFECT_LIMIT_S, "the ACLs are in effect")
        return codes

    def described(self, **wanted: Any) -> set[Acl]:
        """The ACLs that a filter matches."""
        answer = self.admin.ask("describe_acls", 3, {**EVERYTHING, **wanted})
        assert int(answer.error_code) == 0, answer
        return {
            Acl(
                one.principal.removeprefix("User:"),
                one.operation,
                resource.resource_type,
                resource.resource_name,
                resource.pattern_type,
                one.permission_type,
                one.host,
            )
            for resource in answer.resources
            for one in resource.acls
        }

    def remove(self, **wanted: Any) -> int:
        """Removes the ACLs that a filter matches; how many they were."""
        (found,) = self.admin.ask("delete_acls", 3, {"filters": [{**EVERYTHING, **wanted}]}).filter_results
        assert int(found.error_code) == 0, found
        if self.kind == "kafka":
            wait_until(lambda: not self.described(**wanted), EFFECT_LIMIT_S, "the ACLs have no effect any more")
        return len(found.matching_acls)

    def create_topics(self, *names: str) -> None:
        """As the super user. Returns when this broker answers with them."""
        topics = [
            {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
            for name in names
        ]
        answer = self.admin.ask("create_topics", 7, {"topics": topics, "timeout_ms": 30_000, "validate_only": False})
        assert {int(one.error_code) for one in answer.topics} <= {0}, answer

        def are_served() -> bool:
            asked = {"topics": [{"name": name, "topic_id": None} for name in names]} | METADATA
            return all(int(one.error_code) == 0 for one in self.admin.ask("metadata", 12, asked).topics)

        wait_until(are_served, EFFECT_LIMIT_S, "the topics are served")


METADATA = {"allow_auto_topic_creation": False, "include_topic_authorized_operations": True}
