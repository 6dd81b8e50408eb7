"""AlterConfigs: keys that a request does not name go back to their defaults. Each refusal is tested in
``tests/parity``."""

from __future__ import annotations

import pytest

from .one_broker import OneBroker

TOPIC, BROKER, LOGGER = 2, 4, 8
INVALID_REQUEST, INVALID_CONFIG = 42, 40


def replace(broker: OneBroker, kind: int, name: str, configs: dict[str, str | None], version: int = 2) -> int:
    pairs = [{"name": key, "value": value} for key, value in configs.items()]
    resource = {"resource_type": kind, "resource_name": name, "configs": pairs}
    (result,) = broker.ask("alter_configs", version, {"resources": [resource]}).responses
    return int(result.error_code)


@pytest.mark.parametrize("version", range(3))
def test_replaces_all_overrides_of_a_topic(broker: OneBroker, version: int) -> None:
    broker.create_topic("t", configs={"segment.bytes": "2097152", "retention.ms": "1"})
    assert replace(broker, TOPIC, "t", {"retention.ms": "2"}, version) == 0
    assert broker.services.image.topics["t"].configs == {"retention.ms": "2"}
    assert broker.engine.topic_configs["t"]["segment.bytes"] == "1073741824"


def test_replaces_all_that_was_changed_for_a_broker(broker: OneBroker) -> None:
    assert replace(broker, BROKER, "1", {"log.retention.ms": "1", "log.segment.bytes": "2097152"}) == 0
    assert replace(broker, BROKER, "1", {"log.retention.ms": "2"}) == 0
    assert broker.services.config.dynamic_broker == {"log.retention.ms": "2"}
    assert broker.engine.options["log.segment.bytes"] == "1073741824"


@pytest.mark.parametrize(
    ("kind", "name", "configs", "code"),
    [
        (TOPIC, "t", {"retention.ms": "soon"}, INVALID_CONFIG),
        (TOPIC, "t", {"retention.ms": None}, INVALID_REQUEST),
        (BROKER, "1", {"node.id": "7"}, INVALID_REQUEST),
        (LOGGER, "1", {"root": "INFO"}, INVALID_REQUEST),
    ],
)
def test_a_refusal_changes_nothing(
    broker: OneBroker, kind: int, name: str, configs: dict[str, str | None], code: int
) -> None:
    broker.create_topic("t", configs={"segment.bytes": "2097152"})
    assert replace(broker, kind, name, configs) == code
    assert broker.services.image.topics["t"].configs == {"segment.bytes": "2097152"}
    assert broker.services.config.dynamic_broker == {}


@pytest.mark.parametrize(
    ("kind", "name", "shown"),
    [
        (TOPIC, "t1", "topic t1"),
        (TOPIC, "", "topic without a name"),
        (BROKER, "1", "broker 1"),
        (BROKER, "", "default of all brokers"),
        (LOGGER, "1", "loggers of broker 1"),
        (16, "m", "subscription to client metrics m"),
        (32, "g", "group g"),
        (77, "x", "resource of type 77 x"),
    ],
)
def test_resource_that_is_not_changed_is_logged_in_words(
    broker: OneBroker, kind: int, name: str, shown: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert replace(broker, kind, name, {"no.such.key": None}) != 0
    (said,) = [one.getMessage() for one in caplog.records if "were not changed" in one.getMessage()]
    assert said.startswith(f"Configurations of 1 of 1 resources were not changed, the first is {shown}: ")
