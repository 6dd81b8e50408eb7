"""ListConfigResources of topics and of a type that is named twice. The other types are compared in ``tests/parity``."""

from __future__ import annotations

from .one_broker import OneBroker

TOPIC, BROKER = 2, 4


def test_type_that_is_named_twice_is_listed_once(broker: OneBroker) -> None:
    broker.create_topic("t")
    answer = broker.ask("list_config_resources", 1, {"resource_types": [BROKER, TOPIC, BROKER]})
    found = [(one.resource_name, one.resource_type) for one in answer.config_resources]
    assert (answer.error_code, sorted(found)) == (0, [("1", BROKER), ("t", TOPIC)])
