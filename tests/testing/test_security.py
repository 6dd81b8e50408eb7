"""Who may connect to a broker of tests, and with which settings."""

from __future__ import annotations

import pytest

from kafkastore.errors import ConfigError
from kafkastore.testing import Broker, Cluster
from kafkastore.testing.dev_file import AUTHORIZER
from testing.clients import produce, producer

USERS = {"admin": "admin-secret", "alice": 'a"b\\c ü'}


@pytest.mark.parametrize(
    ("protocol", "mechanism", "shows_certificates"),
    [
        ("SSL", "PLAIN", False),
        ("SSL", "PLAIN", True),
        ("SASL_PLAINTEXT", "SCRAM-SHA-256", False),
        ("SASL_SSL", "PLAIN", False),
        ("SASL_SSL", "SCRAM-SHA-512", True),
    ],
)
def test_client_of_each_protocol_is_let_in_and_faults_reach_it(
    protocol: str, mechanism: str, *, shows_certificates: bool
) -> None:
    users = USERS if protocol.startswith("SASL") or shows_certificates else None
    with Broker(
        topics={"t": 1},
        security_protocol=protocol,
        sasl_mechanism=mechanism,
        users=users,
        client_certificates=shows_certificates,
        host="localhost",  # where a broker may have two sockets
    ) as broker:
        client = producer(broker, "alice" if users else None)
        assert produce(client, "t", [b"a"]) == [None]
        if shows_certificates:
            with pytest.raises(ConfigError, match="client_certificates=True"):
                broker.faults.answer("Produce", error="NOT_LEADER_OR_FOLLOWER")
            return
        order = broker.faults.answer("Produce", error="NOT_LEADER_OR_FOLLOWER", times=1)
        assert produce(client, "t", [b"b"]) == [None]
        assert order.count == 1


def test_wrong_password_is_refused() -> None:
    with Broker(topics={"t": 1}, security_protocol="SASL_PLAINTEXT", users=USERS) as broker:
        client = producer(broker, sasl_password="wrong", message_timeout_ms=300)
        (error,) = produce(client, "t", [b"a"])
        assert error is not None
        assert broker.server.engine.partition_offsets("t", 0).log_end_offset == 0
        with pytest.raises(ConfigError, match="user=bob is none of this broker's users: admin, alice"):
            broker.client_properties("bob")


def test_settings_of_java_clients() -> None:
    with Broker(security_protocol="SASL_SSL", sasl_mechanism="SCRAM-SHA-256", users=USERS) as broker:
        found = broker.client_properties("alice")
    authority = found.pop("ssl.truststore.location")
    assert authority.endswith("/ca.pem")
    assert found == {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="alice" password="a\\"b\\\\c ü";',
        "ssl.truststore.type": "PEM",
    }


def test_brokers_of_a_secured_cluster_know_each_other_and_its_clock_ends_transactions() -> None:
    with Cluster(
        2,
        topics={"t": 1},
        security_protocol="SASL_SSL",
        users=USERS,
        config={
            "authorizer.class.name": AUTHORIZER,
            "super.users": "User:admin",
        },
    ) as cluster:
        assert produce(cluster, "t", [b"a"]) == [None]
        (error,) = produce(producer(cluster, "alice"), "t", [b"b"])
        assert error is not None
        assert error.name() == "TOPIC_AUTHORIZATION_FAILED"
        client = producer(cluster, transactional_id="x", transaction_timeout_ms=10_000)
        client.init_transactions(20)
        client.begin_transaction()
        client.produce("t", b"never")
        client.flush(10)
        cluster.clock.advance(seconds=11)
        states = [one.server.engine.transactions() for one in cluster.brokers]
        assert not any(row.state == "Ongoing" for one in states for row in one.list(0, ["Ongoing"], [], -1, None, 0))
