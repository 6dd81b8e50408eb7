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
