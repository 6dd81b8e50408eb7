"""Keys without an effect, and keys whose protection kafkastore lacks."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.config.definitions import broker_keys, topic_keys
from kafkastore.config.effect import _WITH_EFFECT, TOPIC_KEYS_WITHOUT_EFFECT, has_effect, without_effect
from kafkastore.config.tls import tls_settings
from kafkastore.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ssl.engine.factory.class", "com.example.Engine"),
        ("sasl.server.callback.handler.class", "com.example.Handler"),
        ("listener.name.clients.plain.sasl.server.callback.handler.class", "com.example.Handler"),
        ("security.inter.broker.protocol", "SASL_SSL"),
        ("create.topic.policy.class.name", "com.example.Policy"),
    ],
)
def test_key_that_asks_for_protection_refuses_the_start_and_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}=.* asks for a protection that this version does not have"):
        BrokerConfig.load(None, [f"{name}={value}"])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ssl.keystore.locaton", "ssl.keystore.location"),
        ("listener.name.clients.ssl.keystore.locaton", "ssl.keystore.location"),
        ("sasl.enabled.mechanism", "sasl.enabled.mechanisms"),
    ],
)
def test_misspelled_key_of_protection_is_told_what_it_may_mean(name: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=rf"asks for a protection .* \(did you mean {meant}\?\)"):
        BrokerConfig.load(None, [f"{name}=x"])


def test_a_secret_is_not_shown_by_the_refusal() -> None:
    with pytest.raises(ConfigError) as raised:
        BrokerConfig.load(None, ["listener.name.clients.ssl.engine.factory.password=opensesame"])
    assert "opensesame" not in str(raised.value)


@pytest.mark.parametrize(
    "name",
    [
        "ssl.provider",
        "listener.name.clients.ssl.provider",
        "sasl.kerberos.service.name",
        "listener.name.clients.sasl.kerberos.service.name",
        "listener.name.clients.oauthbearer.sasl.login.callback.handler.class",
        "sasl.mechanism.controller.protocol",
        "security.providers",
        "ssl.allow.dn.changes",
    ],
)
def test_how_a_broker_logs_in_elsewhere_protects_nobody(name: str, caplog: pytest.LogCaptureFixture) -> None:
    BrokerConfig.load(None, [f"{name}=true"])
    assert name.startswith("listener.") or "Without effect in this version" in caplog.text


def test_storage_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^remote.log.storage.system.enable=true: this version copies nothing to"):
        BrokerConfig.load(None, ["remote.log.storage.system.enable=true"])


def test_tls_settings_of_a_listener_come_before_those_of_all() -> None:
    given = {
        "listeners": "PLAINTEXT://:9092,CLIENTS://:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SSL",
        "ssl.keystore.location": "/all.pem",
        "ssl.client.auth": "requested",
        "listener.name.clients.ssl.keystore.location": "/clients.pem",
        "listener.name.others.ssl.client.auth": "required",
    }
    config = BrokerConfig(given)
    assert tls_settings(config, config.listeners[1]) == {
        "ssl.keystore.location": "/clients.pem",
        "ssl.client.auth": "requested",
    }
    assert config.unknown == []
    assert [listener.name for listener in config.open_listeners] == ["PLAINTEXT", "CLIENTS"]
    checked = BrokerConfig({**given, "listener.name.clients.ssl.client.auth": "required"})
    assert [listener.name for listener in checked.open_listeners] == ["PLAINTEXT"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ssl.client.auth", "none"),
        ("ssl.protocol", "TLSv1.3"),
        ("sasl.mechanism.inter.broker.protocol", "GSSAPI"),
        ("security.inter.broker.protocol", "PLAINTEXT"),
        ("remote.log.storage.system.enable", "False"),
        ("authorizer.class.name", ""),
    ],
)
def test_default_value_asks_for_nothing(name: str, value: str) -> None:
    BrokerConfig.load(None, [f"{name}={value}"])


def test_keys_without_effect_are_named_once_in_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "listeners=PLAINTEXT://localhost:9092\nnum.io.threads=8\nnum.partitions=3\nlog.preallocate=true\n"
        "log.segment.bytes=1048576\n"
    )
    with caplog.at_level(logging.WARNING):
        BrokerConfig.load(str(file))
    assert [record.getMessage() for record in caplog.records] == [
        "Without effect in this version: log.preallocate, num.io.threads (page "
        "docs/configuration-keys.md of the source lists every key)"
    ]


def test_start_without_a_file_names_no_key(caplog: pytest.LogCaptureFixture) -> None:
    BrokerConfig.load(None)
    assert caplog.records == []


def test_defaults_of_topic_keys_have_the_effect_of_these() -> None:
    assert has_effect("log.retention.hours")
    assert has_effect("log.segment.bytes")
    assert not has_effect("log.preallocate")
    assert without_effect({"log.preallocate": "true", "log.retention.ms": "1", "of.a.plugin": "x"}) == [
        "log.preallocate"
    ]


def test_lists_name_only_keys_that_there_are() -> None:
    assert broker_keys().keys() >= _WITH_EFFECT
    assert topic_keys().keys() >= TOPIC_KEYS_WITHOUT_EFFECT
