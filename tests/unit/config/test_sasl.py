"""What a listener with SASL is told, and which values refuse the start."""

from __future__ import annotations

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.config.sasl import sasl_settings
from kafkastore.config.tls import tls_settings
from kafkastore.errors import ConfigError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
JAAS = "listener.name.clients.plain.sasl.jaas.config"
GIVEN = {
    "listeners": "PLAINTEXT://127.0.0.1:9092,CLIENTS://:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_SSL",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    JAAS: f'{PLAIN} username="a" password="b" user_alice="secret" user_bob="other";',
}


def config(changes: dict[str, str] | None = None) -> BrokerConfig:
    return BrokerConfig({**GIVEN, **(changes or {})})


def test_users_and_mechanisms_of_a_listener_are_read() -> None:
    found = config({"connections.max.reauth.ms": "5000"})
    settings = sasl_settings(found, found.listeners[1])
    assert settings.mechanisms == ["PLAIN", "SCRAM-SHA-512"]
    assert settings.plain_users == {"alice": "secret", "bob": "other"}
    assert (settings.max_session_ms, settings.max_frame_bytes, settings.failure_delay_ms) == (5000, 524_288, 100)
    assert found.unknown == []
    assert "secret" not in repr(settings)


def test_mechanisms_of_a_listener_come_before_those_of_all() -> None:
    found = config({"listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-256"})
    assert sasl_settings(found, found.listeners[1]).mechanisms == ["SCRAM-SHA-256"]


def test_a_listener_with_sasl_is_not_open() -> None:
    assert config().open_listeners == []


def test_a_copy_without_changes_at_run_time_has_the_keys_of_listeners() -> None:
    assert config().as_written().of_listeners == config().of_listeners


def test_clients_with_sasl_need_a_certificate_only_where_their_listener_says_so() -> None:
    """KIP-684"""
    found = config({"ssl.client.auth": "required"})
    assert "ssl.client.auth" not in tls_settings(found, found.listeners[1])
    found = config({"listener.name.clients.ssl.client.auth": "required"})
    assert tls_settings(found, found.listeners[1])["ssl.client.auth"] == "required"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "GSSAPI is not served; give PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ({"sasl.enabled.mechanisms": "PLAIN,plain"}, "plain is not served"),
        ({"sasl.enabled.mechanisms": ""}, "sasl.enabled.mechanisms is empty, and listener"),
        ({JAAS: ""}, f"{JAAS} is not set"),
        ({JAAS: "com.example.Module required;"}, "com.example.Module is not served"),
        ({JAAS: f'{PLAIN} user_="secret";'}, "a user or a password is empty"),
        ({JAAS: f'{PLAIN} user_alice="";'}, "a user or a password is empty"),
        ({JAAS: f'{PLAIN} user_alice="secret"'}, "does not end with a semicolon"),
        ({"listener.name.clients.plain.sasl.server.callback.handler.class": "x"}, "asks for a protection"),
        ({"listener.name.clients.plain.connections.max.reauth.ms": "1000"}, "asks for a protection"),
    ],
)
def test_a_wrong_value_is_named_in_one_sentence_without_secrets(changes: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        config(changes)
    assert "secret" not in str(raised.value)
