"""DescribeConfigs: the source of a value, its synonyms, values that are not shown. Each version and error is compared
in ``tests/parity``."""

from __future__ import annotations

from typing import Any

import pytest

from kafkastore.config import broker_keys
from kafkastore.handlers.describe_configs import _double_as_text

from .conftest import MakeBroker
from .one_broker import OneBroker

TOPIC, BROKER = 2, 4
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, OF_FILE, DEFAULT = 1, 2, 3, 4, 5


def describe(broker: OneBroker, kind: int, name: str, *keys: str, version: int = 4, **more: Any) -> dict[str, Any]:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": list(keys) or None}
    (result,) = broker.ask("describe_configs", version, {"resources": [resource], **more}).results
    assert (result.error_code, result.error_message) == (0, "")
    return {config.name: config for config in result.configs}


def synonyms(config: Any) -> list[tuple[str, str | None, int]]:
    return [(one.name, one.value, one.source) for one in config.synonyms]


def test_version_0_tells_only_whether_a_value_is_the_default(broker: OneBroker) -> None:
    broker.create_topic("t", configs={"retention.ms": "1000"})
    found = describe(broker, TOPIC, "t", version=0)
    assert (found["retention.ms"].value, found["retention.ms"].is_default) == ("1000", False)
    assert (found["segment.bytes"].value, found["segment.bytes"].is_default) == ("1073741824", True)
    assert found["retention.ms"].synonyms == ()
    assert describe(broker, BROKER, "1", "log.retention.ms", version=0)["log.retention.ms"].is_default


def test_synonyms_go_from_the_topic_over_the_broker_to_the_default(make_broker: MakeBroker) -> None:
    broker = make_broker({"log.retention.hours": "2", "log.retention.ms": "77"})
    broker.services.config.set_dynamic(default={"log.retention.ms": "66"}, broker={"log.retention.ms": "55"})
    broker.create_topic("t", configs={"retention.ms": "44"})
    found = describe(broker, TOPIC, "t", "retention.ms", include_synonyms=True)["retention.ms"]
    assert synonyms(found) == [
        ("retention.ms", "44", OF_TOPIC),
        ("log.retention.ms", "55", OF_BROKER),
        ("log.retention.ms", "66", OF_ALL_BROKERS),
        ("log.retention.ms", "77", OF_FILE),
        ("log.retention.hours", "2", OF_FILE),
        ("log.retention.hours", "168", DEFAULT),
    ]


def test_synonyms_before_the_described_key_are_left_out(make_broker: MakeBroker) -> None:
    broker = make_broker({"log.retention.ms": "77"})
    found = describe(broker, BROKER, "1", "log.retention.hours", "log.retention.ms", include_synonyms=True)
    assert synonyms(found["log.retention.hours"]) == [("log.retention.hours", "168", DEFAULT)]
    assert synonyms(found["log.retention.ms"]) == [
        ("log.retention.ms", "77", OF_FILE),
        ("log.retention.hours", "168", DEFAULT),
    ]


def test_passwords_and_unknown_keys_are_kept_back(make_broker: MakeBroker) -> None:
    broker = make_broker({"kafkastore.zookeeper.digest": "secret", "my.plugin.key": "secret too"})
    found = describe(broker, BROKER, "1", include_synonyms=True)
    for name, kind in (("kafkastore.zookeeper.digest", 9), ("my.plugin.key", 0)):
        assert (found[name].value, found[name].is_sensitive, found[name].config_type) == (None, True, kind)
        assert synonyms(found[name]) == [(name, None, OF_FILE)]


def test_lists_every_broker_key_and_which_may_change(broker: OneBroker) -> None:
    found = describe(broker, BROKER, "1")
    for name in ("node.id", "log.dirs", "auto.create.topics.enable"):
        assert found[name].read_only
    for name in ("log.retention.ms", "num.io.threads"):
        assert not found[name].read_only
    assert not [name for name in found if broker_keys()[name].is_internal]


def test_zookeepers_keys_are_listed_where_there_is_a_zookeeper(broker: OneBroker, make_broker: MakeBroker) -> None:
    assert not [name for name in describe(broker, BROKER, "1") if name.startswith("zookeeper.")]
    found = describe(
        make_broker({"zookeeper.connect": "zk:2181/kafka", "kafkastore.zookeeper.digest": "user:secret"}), BROKER, "1"
    )
    assert found["zookeeper.connect"].value == "zk:2181/kafka"
    assert found["zookeeper.session.timeout.ms"].value == "18000"
    assert found["kafkastore.zookeeper.digest"].value is None


def test_the_default_broker_shows_only_what_was_changed_for_all(broker: OneBroker) -> None:
    assert describe(broker, BROKER, "") == {}
    broker.services.config.set_dynamic(default={"log.retention.ms": "66"}, broker={"log.retention.ms": "55"})
    found = describe(broker, BROKER, "", include_synonyms=True)
    assert [(name, one.value, one.config_source) for name, one in found.items()] == [
        ("log.retention.ms", "66", OF_ALL_BROKERS)
    ]
    assert synonyms(found["log.retention.ms"]) == [("log.retention.ms", "66", OF_ALL_BROKERS)]


@pytest.mark.parametrize("version", [3, 4])
def test_documentation_is_given_when_asked(broker: OneBroker, version: int) -> None:
    broker.create_topic("t")
    plain = describe(broker, TOPIC, "t", "retention.ms", version=version)["retention.ms"]
    asked = describe(broker, TOPIC, "t", "retention.ms", version=version, include_documentation=True)["retention.ms"]
    assert plain.documentation is None
    assert "retention.ms" in asked.documentation
    assert "long" in asked.documentation


def test_a_type_that_is_none_fails_every_resource(broker: OneBroker) -> None:
    broker.create_topic("t")
    resources = [{"resource_type": kind, "resource_name": "t"} for kind in (TOPIC, 3)]
    answer = broker.ask("describe_configs", 4, {"resources": resources})
    assert [int(result.error_code) for result in answer.results] == [42, 42]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (0.5, "0.5"), (1.0, "1.0"), (0.001, "0.001"), (0.0001, "1.0E-4"), (1e7, "1.0E7"),
        (123456789.0, "1.23456789E8"), (1.7976931348623157e308, "1.7976931348623157E308"), (-2.5e-9, "-2.5E-9"),
    ],
)  # fmt: skip
def test_doubles_are_printed_as_java_does(value: float, text: str) -> None:
    assert _double_as_text(value) == text
