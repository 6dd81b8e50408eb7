"""The keys that limit connections: values, and which of them a listener may have for itself."""

from __future__ import annotations

import pytest

from kafkastore.config import BrokerConfig
from kafkastore.config.effect import asks_for_protection, has_effect
from kafkastore.errors import ConfigError


@pytest.mark.parametrize("value", ["", "127.0.0.1:5", "a.host:1, 10.0.0.1:0,", "[::1]:7"])
def test_overrides_are_hosts_with_counts(value: str) -> None:
    config = BrokerConfig({"max.connections.per.ip.overrides": value})
    assert config.engine_options()["max.connections.per.ip.overrides"] == value


TOO_LARGE = ("a:2147483648", "a:" + "9" * 5000)


@pytest.mark.parametrize("value", ["127.0.0.1", ":5", "127.0.0.1:x", "127.0.0.1:-1", "a:1,b", "a:\uff11", *TOO_LARGE])
def test_wrong_overrides_are_refused_with_the_part_that_is_wrong(value: str) -> None:
    with pytest.raises(ConfigError, match="is not host:count, as in") as refused:
        BrokerConfig({"max.connections.per.ip.overrides": value})
    assert value.rpartition(",")[2] in refused.value.client_message


@pytest.mark.parametrize("name", ["max.connections", "max.connection.creation.rate"])
def test_limits_of_a_listener_reach_the_data_plane(name: str) -> None:
    key = f"listener.name.external.{name}"
    config = BrokerConfig({key: "7"})
    assert config.engine_options()[key] == "7"
    assert not config.unknown
    assert not asks_for_protection(key)
    assert has_effect(name)


@pytest.mark.parametrize(("name", "value"), [("max.connections", "many"), ("max.connection.creation.rate", "0")])
def test_wrong_limits_of_a_listener_are_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"Invalid value {value} for configuration listener.name.x.{name}: "):
        BrokerConfig({f"listener.name.x.{name}": value})
