"""How commands connect: what a client.properties must have, and which values are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkastore.errors import ConfigError
from kafkastore.interbroker.command_config import properties_of, read_command_config, spark_options

JAAS = 'sasl.jaas.config=a.Module required username="alice" password="hush";'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("security.protocol=TLS", "^security.protocol=TLS is not a protocol; give PLAINTEXT, SSL, SASL_"),
        ("security.protocol=SASL_PLAINTEXT", "^sasl.mechanism is not set, and Kafka's default, GSSAPI, is not"),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN", "^sasl.jaas.config has no username and password"),
        (f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\n{JAAS}", "^sasl.mechanism=GSSAPI is not served"),
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER", "^sasl.oauthbearer.token.endpoint.url is not"),
    ],
)
def test_what_is_missing_is_named_in_one_sentence_without_secrets(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "client.properties"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said) as raised:
        read_command_config(str(path))
    assert "hush" not in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^command_config .*nothing cannot be read: No such file"):
        read_command_config(str(tmp_path / "nothing"))


def test_a_password_and_a_protocol_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n{JAAS}\nacks=all\n")
    dialer = read_command_config(str(path))
    assert dialer.tls is None
    assert dialer.login is not None
    assert not dialer.login.is_secret


def test_a_mapping_is_as_good_as_a_file_and_other_keys_are_left_alone(tmp_path: Path) -> None:
    given = {"security.protocol": "SSL", "ssl.truststore.location": "/ca.pem", "acks": "all"}
    path = tmp_path / "client.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
    del given["acks"]
    assert properties_of(path) == properties_of(str(path)) == properties_of({**given, "acks": "all"}) == given
    assert spark_options(given) == {"kafka.security.protocol": "SSL", "kafka.ssl.truststore.location": "/ca.pem"}
    assert properties_of(None) == {}


PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.mark.parametrize(
    ("librdkafka", "java"),
    [
        (
            {
                "security.protocol": "sasl_ssl",
                "sasl.mechanisms": "PLAIN",
                "sasl.username": "a",
                "sasl.password": 'x"\\y',
            },
            {
                "security.protocol": "sasl_ssl",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{PLAIN} username="a" password="x\\"\\\\y";',
            },
        ),
        (  # of both kinds: Java's counts
            {"sasl.mechanism": "SCRAM-SHA-512", "sasl.mechanisms": "PLAIN", "sasl.username": "a", "sasl.password": "b"},
            {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": f'{SCRAM} username="a" password="b";'},
        ),
        (
            {"sasl.jaas.config": "own", "sasl.username": "a", "sasl.password": "b", "ssl.ca.location": "/ca.pem"},
            {"sasl.jaas.config": "own", "ssl.truststore.location": "/ca.pem"},
        ),
        (
            {
                "sasl.mechanisms": "OAUTHBEARER",
                "sasl.oauthbearer.method": "OIDC",
                "sasl.oauthbearer.client.id": "i",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.scope": "all",
                "sasl.oauthbearer.token.endpoint.url": "https://x/y",
            },
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.client.credentials.client.id": "i",
                "sasl.oauthbearer.client.credentials.client.secret": "s",
                "sasl.oauthbearer.scope": "all",
                "sasl.oauthbearer.token.endpoint.url": "https://x/y",
            },
        ),
        (
            {
                "enable.ssl.certificate.verification": "true",
                "ssl.endpoint.identification.algorithm": "none",
                "ssl.ca.location": "probe",
                "ssl.ca.pem": "CA",
                "ssl.certificate.pem": "C",
                "ssl.key.pem": "K",
                "ssl.key.password": "p",
            },
            {
                "ssl.endpoint.identification.algorithm": "",
                "ssl.truststore.certificates": "CA",
                "ssl.keystore.certificate.chain": "C",
                "ssl.keystore.key": "K",
                "ssl.key.password": "p",
            },
        ),
        (
            {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "p"},
            {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "p"},
        ),
        (
            {"ssl.certificate.location": "/me.pem", "ssl.key.location": "/me.pem"},
            {"ssl.keystore.location": "/me.pem"},
        ),
    ],
    ids=lambda keys: " ".join(keys)[:60],
)
def test_keys_of_librdkafka_become_those_of_java(librdkafka: dict[str, str], java: dict[str, str]) -> None:
    assert properties_of({**librdkafka, "metadata.broker.list": "h:1"}) == java


def test_certificate_and_key_of_librdkafka_are_read_from_their_files(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    certificate.write_text("CERTIFICATE")
    key.write_text("KEY")
    found = properties_of({"ssl.certificate.location": str(certificate), "ssl.key.location": str(key)})
    assert found == {"ssl.keystore.certificate.chain": "CERTIFICATE", "ssl.keystore.key": "KEY"}
    found = properties_of({"ssl.certificate.location": str(certificate), "ssl.key.pem": "OWN"})
    assert found == {"ssl.keystore.certificate.chain": "CERTIFICATE", "ssl.keystore.key": "OWN"}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"enable.ssl.certificate.verification": "false"}, "enable.ssl.certificate.verification=false is not served; "),
        ({"ssl.crl.location": "/x"}, "ssl.crl.location is not served; leave it out"),
        ({"sasl.oauthbearer.method": "default"}, "sasl.oauthbearer.method=default is not served; give oidc, with"),
        (
            {"sasl.username": "hush"},
            "sasl.password is not set; librdkafka's sasl.username and sasl.password go together",
        ),
        ({"sasl.password": "hush"}, "sasl.username is not set; librdkafka's sasl.username and sasl.password go"),
        ({"ssl.ca.location": "/"}, "ssl.ca.location=/ is a directory, which is not read; give a file of certificates"),
        (
            {"ssl.certificate.location": "/nowhere", "ssl.key.pem": "hush"},
            "ssl.certificate.location=/nowhere cannot be read: No such file",
        ),
        ({"ssl.key.pem": "hush"}, "ssl.keystore.key, or ssl.key, is set without a certificate; set"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, dict) else "",
)
def test_keys_of_librdkafka_that_cannot_be_served_get_a_sentence(keys: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        properties_of(keys)
    assert str(raised.value).startswith(said)
    assert "hush" not in str(raised.value)
