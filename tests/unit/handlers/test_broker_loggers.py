"""The levels of loggers at run time, with the codes and words of Apache Kafka 4.3 (KIP-412)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from .one_broker import OneBroker

LOGGER = 8
SET, DELETE = range(2)
NONE, INVALID_CONFIG, INVALID_REQUEST = 0, 40, 42
OWN = "kafkastore.server.broker"
AUDIT = "kafka.authorizer.logger"


@pytest.fixture(autouse=True)
def _levels_as_before() -> Iterator[None]:
    named = [logging.root, *(logging.getLogger(name) for name in ("kafkastore", "kafkastore.server", OWN, AUDIT))]
    before = [one.level for one in named]
    logging.root.setLevel(logging.INFO)
    yield
    for one, level in zip(named, before, strict=True):
        one.setLevel(level)


def alter(broker: OneBroker, *changes: tuple[str, int, str | None], name: str = "1", **more: Any) -> tuple[int, Any]:
    configs = [{"name": one, "config_operation": operation, "value": value} for one, operation, value in changes]
    resource = {"resource_type": LOGGER, "resource_name": name, "configs": configs}
    given = {"validate_only": False, **more, "resources": [resource]}
    (answer,) = broker.ask("incremental_alter_configs", 1, given).responses
    return int(answer.error_code), answer.error_message


def levels(broker: OneBroker, *names: str) -> dict[str, str]:
    resource = {"resource_type": LOGGER, "resource_name": "1", "configuration_keys": list(names) or None}
    (result,) = broker.ask("describe_configs", 4, {"resources": [resource], "include_synonyms": True}).results
    assert result.error_code == NONE
    for one in result.configs:
        assert (one.config_source, one.read_only, one.is_sensitive, one.synonyms) == (6, False, False, ())
    return {one.name: one.value for one in result.configs}


def test_loggers_of_this_broker_and_their_parents_are_described_and_no_others(broker: OneBroker) -> None:
    logging.getLogger("elsewhere")
    found = levels(broker)
    assert found.keys() >= {"root", "kafkastore", "kafkastore.server", OWN, "kafkastore.controller"}
    assert all(name in ("root", AUDIT) or name.split(".")[0] == "kafkastore" for name in found)
    assert levels(broker, OWN, "nope") == {OWN: "INFO"}


def test_level_holds_for_a_logger_and_those_below_it_until_it_is_deleted(broker: OneBroker) -> None:
    assert alter(broker, ("kafkastore.server", SET, "DEBUG"), (OWN, SET, "FATAL")) == (NONE, None)
    assert levels(broker, "root", "kafkastore", "kafkastore.server", OWN, "kafkastore.server.kafka_apis") == {
        "root": "INFO",
        "kafkastore": "INFO",
        "kafkastore.server": "DEBUG",
        OWN: "FATAL",
        "kafkastore.server.kafka_apis": "DEBUG",
    }
    assert not logging.getLogger(OWN).isEnabledFor(logging.ERROR)
    assert alter(broker, (OWN, DELETE, None)) == (NONE, None)
    assert levels(broker, OWN) == {OWN: "DEBUG"}
    assert logging.getLogger(OWN).isEnabledFor(logging.DEBUG)


@pytest.mark.parametrize("level", ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"])
def test_every_level_of_kafka_is_taken_and_described(broker: OneBroker, level: str) -> None:
    assert alter(broker, ("root", SET, level)) == (NONE, None)
    assert levels(broker, "root") == {"root": level}


def test_audit_log_has_a_level_under_the_name_of_kafka(broker: OneBroker) -> None:
    assert levels(broker, AUDIT) == {AUDIT: "INFO"}
    assert alter(broker, (AUDIT, SET, "WARN")) == (NONE, None)
    assert not logging.getLogger(AUDIT).isEnabledFor(logging.INFO)
    assert alter(broker, (AUDIT, DELETE, None)) == (NONE, None)
    assert levels(broker, AUDIT) == {AUDIT: "INFO"}


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("nope", SET, "INFO"), INVALID_CONFIG, "Logger nope does not exist!"),
        ((OWN, 7, "INFO"), INVALID_REQUEST, "Unknown operations type 7"),
    ],
)
def test_wrong_change_is_refused_and_none_of_its_request_is_made(
    broker: OneBroker, change: tuple[str, int, str | None], code: int, message: str
) -> None:
    alter(broker, change)  # a handler's module, with its logger, is there from its first request on
    before = levels(broker)
    assert alter(broker, ("kafkastore", SET, "ERROR"), change) == (code, message)
    assert levels(broker) == before
    assert "nope" not in logging.root.manager.loggerDict
