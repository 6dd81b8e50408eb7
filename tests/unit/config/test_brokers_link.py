"""How brokers reach each other: what each protocol needs, and which values refuse the start."""

from __future__ import annotations

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.config.brokers_link import BrokerLogin
from kafkastore.config.properties import parse_properties
from kafkastore.errors import ConfigError

TRUST = "ssl.truststore.location=/ca.pem"
SECRET = "kafkastore.inter.broker.secret.file=/secret"
MECHANISM = "sasl.mechanism.inter.broker.protocol=PLAIN"
ENABLED = "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256"
JAAS = (
    "listener.name.brokers.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="kafka" password="hush" user_kafka="hush" user_alice="other";'
)
SASL = (ENABLED, MECHANISM, JAAS)


def config(protocol: str, *given: str) -> BrokerConfig:
    common = (
        "listeners=PLAINTEXT://127.0.0.1:9092,BROKERS://:9093",
        f"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,BROKERS:{protocol}",
        "inter.broker.listener.name=BROKERS",
        "kafkastore.metadata.path=/metadata.sqlite",
    )
    return BrokerConfig(parse_properties("\n".join((*common, *given))))


def test_brokers_are_known_by_their_secret_or_by_their_principals() -> None:
    plain = config("PLAINTEXT").brokers_link
    assert plain is not None
    assert (plain.tls, plain.user, plain.is_by_principal) == (None, None, False)

    one_way = config("SSL", TRUST).brokers_link
    mutual = config("SSL", TRUST, "listener.name.brokers.ssl.client.auth=required").brokers_link
    both = config("SSL", TRUST, "listener.name.brokers.ssl.client.auth=required", SECRET).brokers_link
    assert [one is not None and one.is_by_principal for one in (one_way, mutual, both)] == [False, True, False]

    user = config("SASL_PLAINTEXT", *SASL)
    assert user.brokers_link == (user.listeners[1], None, BrokerLogin("PLAIN", "kafka", "hush"), True)
    assert user.must_brokers_prove
    assert "hush" not in repr(user.brokers_link)


def test_names_in_certificates_are_checked_unless_the_key_is_empty() -> None:
    key = "ssl.endpoint.identification.algorithm"
    own = f"listener.name.brokers.{key}"
    for given, expected in (((), "https"), ((f"{key}=",), ""), ((f"{key}=", f"{own}=https"), "https")):
        link = config("SASL_SSL", TRUST, *SASL, *given).brokers_link
        assert link is not None
        assert link.tls is not None
        assert link.tls[key] == expected


def test_a_broker_that_is_alone_reaches_nobody() -> None:
    alone = BrokerConfig({"listeners": "SSL://127.0.0.1:9092", "ssl.keystore.location": "/broker.pem"})
    assert alone.brokers_link is None
    assert not alone.must_brokers_prove


@pytest.mark.parametrize(
    ("protocol", "given", "said"),
    [
        ("SSL", (), "^ssl.truststore.location is not set; brokers reach each other on BROKERS"),
        ("SASL_SSL", SASL, "^ssl.truststore.location is not set"),
        ("SASL_PLAINTEXT", (ENABLED, JAAS), "^Invalid value GSSAPI for configuration sasl.mechanism.inter.broker"),
        ("SASL_PLAINTEXT", (ENABLED, JAAS, MECHANISM.replace("PLAIN", "OAUTHBEARER")), "log in by one of PLAIN, SCRAM"),
        ("SASL_PLAINTEXT", (ENABLED, JAAS, MECHANISM.replace("PLAIN", "SCRAM-SHA-512")), "is not among the mechanisms"),
        ("SASL_PLAINTEXT", (*SASL[:2], JAAS.replace('password="hush"', "")), "has no username and password"),
        ("SASL_PLAINTEXT", (*SASL, SECRET), "secret.file=/secret cannot be proven on BROKERS"),
    ],
)
def test_what_is_missing_is_named_in_one_sentence_without_secrets(
    protocol: str, given: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        config(protocol, *given)
    assert "hush" not in str(raised.value)
    assert "\n" not in str(raised.value)
