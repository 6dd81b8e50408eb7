"""What administration takes when there is much of it: quotas, credentials, access control lists, tokens and topics'
settings, each in requests as tools send them.

    PYTHONPATH=tests:benches python -m administration [--brokers kafka,kafkastore] [--entities 5000] [--row quotas] ...

Starts the brokers (of the environment's ``kafkastore``, and Apache Kafka), one at a time. Of each row: the seconds that
all its requests took, and the longest of another client's heartbeats meanwhile.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from control.measure import Heartbeats

from parity.raw_client import RawClient
from peer.apache_kafka import ApacheKafkaForMeasurement
from peer.broker_process import BrokerProcess, free_port
from peer.kafkastore_broker import KafkastoreBroker

Steps = Iterator[tuple[str, int, str, int, dict[str, Any]]]
"""(row, count, API, version, request), a request each"""

LIMIT_S = 600.0
SALT, PASSWORD = b"0123456789abcdef", b"p" * 32
ANY = 1
TOPIC, LITERAL, READ, ALLOW = 2, 3, 3, 3


def quotas(count: int) -> Steps:
    def entries(value: float, *, is_removed: bool) -> list[dict[str, Any]]:
        op = {"key": "producer_byte_rate", "value": value, "remove": is_removed}
        return [{"entity": [{"entity_type": "user", "entity_name": f"u{at}"}], "ops": [op]} for at in range(count)]

    yield "quotas set", count, "alter_client_quotas", 1, {"entries": entries(1e6, is_removed=False)}
    everyone = [{"entity_type": "user", "match_type": 2, "match": None}]
    yield "quotas described", count, "describe_client_quotas", 1, {"components": everyone, "strict": False}
    yield "quotas removed", count, "alter_client_quotas", 1, {"entries": entries(0.0, is_removed=True)}


def users(count: int) -> Steps:
    upsertions = [
        {"name": f"s{at}", "mechanism": 1, "iterations": 4096, "salt": SALT, "salted_password": PASSWORD}
        for at in range(count)
    ]
    api = "alter_user_scram_credentials"
    yield "SCRAM users made", count, api, 0, {"deletions": [], "upsertions": upsertions}
    deletions = [{"name": f"s{at}", "mechanism": 1} for at in range(count)]
    yield "SCRAM users deleted", count, api, 0, {"deletions": deletions, "upsertions": []}


def acls(count: int) -> Steps:
    def creation(topic: str, principal: str) -> dict[str, Any]:
        who = {"principal": principal, "host": "*", "operation": READ, "permission_type": ALLOW}
        return {"resource_type": TOPIC, "resource_name": topic, "resource_pattern_type": LITERAL, **who}

    def of(name: str | None) -> dict[str, Any]:
        anyone = {"principal_filter": None, "host_filter": None, "operation": ANY, "permission_type": ANY}
        where = {"resource_type_filter": TOPIC, "resource_name_filter": name, "pattern_type_filter": LITERAL}
        return {"filters": [where | anyone]}

    for kind, made in (
        ("of as many topics", [creation(f"t{at}", "User:a") for at in range(count)]),
        ("of one topic", [creation("t", f"User:u{at}") for at in range(count)]),
    ):
        yield f"ACLs {kind} made", count, "create_acls", 3, {"creations": made}
        yield f"ACLs {kind} deleted by one filter", count, "delete_acls", 3, of(None)


def settings(count: int) -> Steps:
    for at in range(0, count, 1000):
        topics = [
            {"name": f"c{one}", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
            for one in range(at, min(at + 1000, count))
        ]
        yield (
            "topics made",
            count,
            "create_topics",
            7,
            {"topics": topics, "timeout_ms": 600_000, "validate_only": False},
        )
    changed = [{"name": "retention.ms", "config_operation": 0, "value": "1000000"}]
    resources = [{"resource_type": TOPIC, "resource_name": f"c{at}", "configs": changed} for at in range(count)]
    yield "topics' settings", count, "incremental_alter_configs", 1, {"resources": resources, "validate_only": False}


def tokens(count: int) -> Steps:
    wanted: dict[str, Any] = {"owner_principal_type": None, "owner_principal_name": None}
    wanted |= {"renewers": [], "max_lifetime_ms": -1}
    for _ in range(count):
        yield "tokens, one after another", count, "create_delegation_token", 3, wanted


ROWS: dict[str, Callable[[int], Steps]] = {
    "quotas": quotas,
    "users": users,
    "acls": acls,
    "settings": settings,
    "tokens": tokens,
}


def start(kind: str, folder: Path) -> tuple[BrokerProcess, int]:
    """A broker whose anonymous clients may do everything, and the port of its listener for users."""
    port = free_port()
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="secret";'
    overrides = {
        "super.users": "User:ANONYMOUS;User:admin",
        "delegation.token.secret.key": "secret",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.users.plain.sasl.jaas.config": jaas,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,USERS:SASL_PLAINTEXT",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    }
    made = (KafkastoreBroker if kind == "kafkastore" else ApacheKafkaForMeasurement)(folder / kind, overrides)
    users_listener = f"USERS://127.0.0.1:{port}"
    listeners = made.properties()["listeners"] + "," + users_listener
    overrides |= {"listeners": listeners}
    if kind == "kafka":
        plain = listeners.partition(",")[0]
        overrides |= {
            "advertised.listeners": f"{plain},{users_listener}",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        }
    made.overrides = overrides
    return made.start(), port


def measure(kind: str, names: list[str], count: int) -> dict[str, tuple[float, float]]:
    """(seconds, longest heartbeat in seconds) of each row."""
    found: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        broker, users_port = start(kind, Path(folder))
        try:
            heartbeats = Heartbeats(broker.port)
            for name in names:
                client = RawClient("127.0.0.1", users_port if name == "tokens" else broker.port)
                client.set_timeout(LIMIT_S)
                if name == "tokens":
                    client.ask("sasl_handshake", 1, {"mechanism": "PLAIN"})
                    client.ask("sasl_authenticate", 2, {"auth_bytes": b"\0admin\0secret"})
                heartbeats.look()
                for row, _, api, version, request in ROWS[name](count):
                    begun = time.monotonic()
                    answer = client.ask(api, version, request)
                    took_s = time.monotonic() - begun
                    assert_done(answer)
                    before = found.get(row, (0.0, 0.0))
                    longest_s = before[1] if name == "tokens" else max(before[1], heartbeats.look())
                    found[row] = before[0] + took_s, longest_s
                if name == "tokens":
                    found[row] = found[row][0], heartbeats.look()
                client.close()
            heartbeats.stop()
        finally:
            broker.kill()
    return found


def assert_done(answer: Any) -> None:
    """Raises AssertionError when an answer says that anything failed."""
    rows = [answer]
    for name in ("entries", "results", "filter_results", "topics", "responses"):
        rows += getattr(answer, name, None) or ()
    failed = [row for row in rows if getattr(row, "error_code", 0)]
    assert not failed, failed[0]


def main() -> None:
    parser = argparse.ArgumentParser(prog="administration", description=__doc__)
    parser.add_argument("--brokers", default="kafka,kafkastore")
    parser.add_argument("--entities", type=int, default=5000)
    parser.add_argument("--row", action="append", choices=list(ROWS))
    arguments = parser.parse_args()
    kinds = arguments.brokers.split(",")
    found = {kind: measure(kind, arguments.row or list(ROWS), arguments.entities) for kind in kinds}
    print(f"| {arguments.entities} of | " + " | ".join(f"{kind}, s | heartbeat, ms" for kind in kinds) + " |")
    print("|---" * (1 + 2 * len(kinds)) + "|")
    for row in found[kinds[0]]:
        cells = (f"{found[kind][row][0]:.2f} | {found[kind][row][1] * 1000:.0f}" for kind in kinds)
        print(f"| {row} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
