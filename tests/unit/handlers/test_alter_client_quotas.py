"""AlterClientQuotas: every version, the checks of the request as a whole, and that DescribeClientQuotas shows the
outcome."""

from __future__ import annotations

from typing import Any

import pytest

from .describing_quotas import described
from .one_broker import OneBroker

INVALID_REQUEST = 42


def entry(entity: list[tuple[str, str | None]], ops: list[tuple[str, float | None]]) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
        "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in ops],
    }


def alter(broker: OneBroker, *entries: dict[str, Any], version: int = 1, validate_only: bool = False) -> Any:
    given = {"entries": list(entries), "validate_only": validate_only}
    return broker.ask("alter_client_quotas", version, given).entries


@pytest.mark.parametrize("version", [0, 1])
def test_quotas_are_set_and_removed_at_every_version(broker: OneBroker, version: int) -> None:
    entity: list[tuple[str, str | None]] = [("user", "alice"), ("client-id", None)]
    (answer,) = alter(broker, entry(entity, [("producer_byte_rate", 5.0)]), version=version)
    assert (answer.error_code, answer.error_message) == (0, None)
    assert [(one.entity_type, one.entity_name) for one in answer.entity] == entity
    assert described(broker) == {(("user", "alice"), ("client-id", None)): {"producer_byte_rate": 5.0}}
    alter(broker, entry(entity, [("producer_byte_rate", None), ("request_percentage", 0.5)]), version=version)
    assert described(broker) == {(("user", "alice"), ("client-id", None)): {"request_percentage": 0.5}}
    alter(broker, entry(entity, [("request_percentage", None)]), version=version)
    assert described(broker) == {}


def test_one_wrong_entity_does_not_stop_the_others_and_changes_nothing_itself(broker: OneBroker) -> None:
    wrong = entry([("user", "bob")], [("producer_byte_rate", 5.0), ("bytes", 1.0)])
    right = entry([("user", "alice")], [("producer_byte_rate", 5.0)])
    refused, done = alter(broker, wrong, right)
    assert (refused.error_code, refused.error_message) == (INVALID_REQUEST, "Invalid configuration key bytes")
    assert done.error_code == 0
    assert described(broker) == {(("user", "alice"),): {"producer_byte_rate": 5.0}}


def test_entity_or_key_that_comes_twice_is_refused(broker: OneBroker) -> None:
    twice = entry([("user", "alice")], [("producer_byte_rate", 5.0)])
    assert [one.error_code for one in alter(broker, twice, twice)] == [INVALID_REQUEST] * 2
    same_key = entry([("user", "alice")], [("producer_byte_rate", 5.0), ("producer_byte_rate", 6.0)])
    (answer,) = alter(broker, same_key)
    assert answer.error_code == INVALID_REQUEST
    assert answer.error_message.startswith("Duplicate quota key producer_byte_rate not updating quota")
    assert described(broker) == {}


def test_validate_only_checks_and_changes_nothing(broker: OneBroker) -> None:
    right = entry([("client-id", "app")], [("producer_byte_rate", 5.0)])
    wrong = entry([("ip", "10.0.0.256")], [("connection_creation_rate", 5.0)])
    codes = [one.error_code for one in alter(broker, right, wrong, validate_only=True)]
    assert codes == [0, INVALID_REQUEST]
    assert described(broker) == {}


def test_controller_mutations_above_the_quota_are_refused_topic_by_topic_with_the_time_to_wait(
    broker: OneBroker,
) -> None:
    alter(broker, entry([("user", None)], [("controller_mutation_rate", 1.0)]))

    def create(version: int, *names: str) -> Any:
        topics = [{"name": name, "num_partitions": 6, "replication_factor": 1} for name in names]
        return broker.ask("create_topics", version, {"topics": topics})

    created = create(7, "a", "b", "c")
    assert [(one.name, one.error_code) for one in created.topics] == [("a", 0), ("b", 0), ("c", 89)]
    assert 900 <= created.throttle_time_ms <= 1000
    assert "c" not in broker.services.image.topics
    grown = broker.ask("create_partitions", 3, {"topics": [{"name": "a", "count": 7, "assignments": None}]})
    assert [one.error_code for one in grown.results] == [89]
    deleted = broker.ask("delete_topics", 5, {"topic_names": ["a"]})
    assert [one.error_code for one in deleted.responses] == [89]
    older = create(5, "c")
    assert [one.error_code for one in older.topics] == [0], "clients that do not know the error are not refused"
    assert older.throttle_time_ms > 6000
