"""Who may do what on a directory that Apache Kafka wrote: ACLs, users, quotas, configurations of brokers and tokens are
there when kafkastore opens it (KIP-631)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from clients.test_delegation_tokens import SECRET, Tokens, as_java, settle, write
from clients.test_sasl import MECHANISMS, Guarded, start
from peer.java_tools import JavaTools
from peer.topics import create_topic

__all__ = ["start"]

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
NOTHING: Any = None  # which the type of AclBindingFilter has forgotten
ANY = AclBindingFilter(
    ResourceType.ANY, NOTHING, ResourcePatternType.ANY, NOTHING, NOTHING, AclOperation.ANY, AclPermissionType.ANY
)
TOPIC, PREFIXED, LITERAL = ResourceType.TOPIC, ResourcePatternType.PREFIXED, ResourcePatternType.LITERAL
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
ACLS = [
    AclBinding(TOPIC, "by-", PREFIXED, "User:alice", "*", AclOperation.WRITE, ALLOW),
    AclBinding(TOPIC, "by-", PREFIXED, "User:alice", "*", AclOperation.READ, ALLOW),
    AclBinding(TOPIC, "by-bob", LITERAL, "User:alice", "*", AclOperation.ALL, DENY),
    AclBinding(ResourceType.GROUP, "*", LITERAL, "User:bob", "10.0.0.1", AclOperation.READ, ALLOW),
    AclBinding(ResourceType.TRANSACTIONAL_ID, "a/b", LITERAL, "User:bob", "*", AclOperation.DESCRIBE, ALLOW),
]
ENTITIES = {
    "a user": ("users", "carol", "producer_byte_rate=123456,request_percentage=12.5"),
    "every user": ("users", None, "consumer_byte_rate=65536"),
    "a client": ("clients", "a client/1", "controller_mutation_rate=3.5"),
    "an address": ("ips", "127.0.0.1", "connection_creation_rate=7"),
    "every broker": ("brokers", None, "log.retention.ms=123456789"),
    "this broker": ("brokers", "1", "log.cleaner.threads=2"),
    "a topic": ("topics", "by-alice", "retention.ms=987654321"),
}


class Settings:
    """What Kafka's tools set and show on one broker."""

    def __init__(self, guarded: Guarded, java: JavaTools, folder: Path) -> None:
        self.guarded, self.java = guarded, java
        self.admin = AdminClient({"bootstrap.servers": guarded.broker.bootstrap})
        self.tokens = Tokens(guarded, java, folder)

    def configs(self, kind: str, name: str | None, *arguments: str) -> str:
        entity = ["--entity-type", kind, *(["--entity-name", name] if name else ["--entity-default"])]
        done = self.java.tool("kafka-configs", "--bootstrap-server", self.guarded.broker.bootstrap, *arguments, *entity)
        assert done.exit == 0, done
        return done.out

    def set(self) -> None:
        for future in self.admin.create_acls(ACLS).values():
            future.result(30)
        for kind, name, values in ENTITIES.values():
            self.configs(kind, name, "--alter", "--add-config", values)

    def shown(self) -> dict[str, object]:
        bindings = self.admin.describe_acls(ANY).result(30)
        texts = {said: self.configs(kind, name, "--describe") for said, (kind, name, _) in ENTITIES.items()}
        told = {said: sorted(text.replace(",", "").split()) for said, text in texts.items()}
        return {"ACLs": sorted(map(str, bindings)), "tokens": self.tokens.run("--describe").out, **told}


@pytest.mark.timeout(180)
def test_who_may_do_what_is_as_before_on_a_directory_of_apache_kafka(
    start: Callable[..., Guarded], java: JavaTools, tmp_path: Path
) -> None:
    given = SECRET | {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
    kafka = start(given, "kafka")
    create_topic(kafka.broker.bootstrap, "by-alice")
    create_topic(kafka.broker.bootstrap, "by-bob")
    settings = Settings(kafka, java, tmp_path)
    settings.set()
    for mechanism in MECHANISMS[1:]:
        kafka.add_user(mechanism, "carol's", "carol")
    token = settings.tokens.create("--renewer-principal", "User:bob")
    ended = settings.tokens.create()
    settings.tokens.run("--expire", "--hmac", ended.hmac, "--expiry-time-period", "-1")
    settle(kafka)
    before = settings.shown()
    assert len(before["ACLs"]) == len(ACLS)  # type: ignore[arg-type]
    assert kafka.broker.stop() in (0, 143)

    ours = start(given, "kafkastore", kafka.broker.log_dirs)
    taken = Settings(ours, java, tmp_path)
    assert taken.shown() == before
    said = ours.broker.output()
    assert "Taken over from Kafka's metadata: 5 ACLs, 2 SCRAM credentials, 2 configurations of brokers, 1 del" in said
    assert "without a word on how long their records are kept" not in said
    for mechanism in MECHANISMS[1:]:
        assert ours.lets_in(ours.login(mechanism, "carol's", "carol"))
        assert not ours.lets_in(ours.login(mechanism, "another's", "carol"))
    write(ours, java, "by-alice", as_java(ours, token))
    with pytest.raises(Exception, match="TopicAuthorizationException"):
        write(ours, java, "by-bob", as_java(ours, token))
    assert ours.broker.stop() == 0

    again = start(given, "kafkastore", kafka.broker.log_dirs)
    assert Settings(again, java, tmp_path).shown() == before
    assert "Taken over from Kafka's metadata" not in again.broker.output()
