"""CreateTopics: the state after a creation and after a refusal, every version. Each refusal is tested in
``tests/parity``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kafkastore.config import topic_keys
from kafkastore.handlers import create_topics

if TYPE_CHECKING:
    from .conftest import MakeBroker
    from .one_broker import OneBroker

INVALID_TOPIC, TOPIC_ALREADY_EXISTS, INVALID_REQUEST, INVALID_PARTITIONS, INVALID_CONFIG = 17, 36, 42, 37, 40
POLICY_VIOLATION = 44


def topic(name: str, partitions: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": 1, **more}


@pytest.mark.parametrize("version", range(8))
def test_creates_at_every_version(broker: OneBroker, version: int) -> None:
    answer = broker.ask("create_topics", version, {"topics": [topic("t", 3)]})
    (result,) = answer.topics
    assert (result.name, result.error_code) == ("t", 0)
    assert result.error_message == ("" if version == 0 else None)
    assert len(broker.services.image.topics["t"].partitions) == 3
    assert [log for log in broker.engine.partitions if log[0] == "t"] == [("t", 0), ("t", 1), ("t", 2)]
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 1)
    if version >= 7:
        assert result.topic_id == broker.services.image.topics["t"].topic_id


def test_version_0_always_creates_and_version_1_may_only_validate(broker: OneBroker) -> None:
    given = {"topics": [topic("t")], "validate_only": True}
    assert broker.ask("create_topics", 1, given).topics[0].error_code == 0
    assert broker.services.image.topics == {}
    assert broker.ask("create_topics", 0, {"topics": [topic("t")]}).topics[0].error_code == 0
    assert broker.ask("create_topics", 0, {"topics": [topic("t")]}).topics[0].error_code == TOPIC_ALREADY_EXISTS
    assert list(broker.services.image.topics) == ["t"]


def test_store_records_the_topic_in_kafkas_layout(broker: OneBroker) -> None:
    broker.ask("create_topics", 7, {"topics": [topic("t", 2)]})
    node = broker.run(broker.store.get("/brokers/topics/t"))
    assert json.loads(node.data)["partitions"] == {"0": [1], "1": [1]}
    state = broker.run(broker.store.get("/brokers/topics/t/partitions/1/state"))
    assert json.loads(state.data)["leader"] == 1


def test_lists_every_effective_config_with_its_source(make_broker: MakeBroker) -> None:
    broker = make_broker({"log.retention.hours": "2"})
    configs = [{"name": "cleanup.policy", "value": "compact"}]
    (result,) = broker.ask("create_topics", 5, {"topics": [topic("t", configs=configs)]}).topics
    found = {config.name: (config.value, config.config_source) for config in result.configs}
    assert list(found) == sorted(name for name, key in topic_keys().items() if not key.is_internal)
    assert found["cleanup.policy"] == ("compact", 1)
    assert found["retention.ms"] == ("7200000", 4)
    assert found["segment.bytes"] == ("1073741824", 5)


def test_topics_of_one_request_do_not_share_configs(broker: OneBroker) -> None:
    configs = [{"name": "retention.ms", "value": "1"}]
    answer = broker.ask("create_topics", 7, {"topics": [topic("a"), topic("b", configs=configs), topic("c")]})
    values = [next(c.value for c in result.configs if c.name == "retention.ms") for result in answer.topics]
    assert values == ["604800000", "1", "604800000"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ([topic("t", 0)], INVALID_PARTITIONS),
        ([topic("a/b")], INVALID_TOPIC),
        ([topic("t"), topic("t")], INVALID_REQUEST),
        ([topic("t", configs=[{"name": "retention.ms", "value": "soon"}])], INVALID_CONFIG),
        ([topic("__cluster_metadata")], INVALID_REQUEST),
    ],
)
def test_a_refused_topic_leaves_nothing(broker: OneBroker, asked: list[dict[str, Any]], code: int) -> None:
    (result,) = broker.ask("create_topics", 7, {"topics": asked}).topics
    assert result.error_code == code
    assert broker.services.image.topics == {}
    assert broker.engine.partitions == {}
    assert broker.run(broker.store.get_children("/brokers/topics")) == []


def test_validate_only_leaves_nothing(broker: OneBroker) -> None:
    answer = broker.ask("create_topics", 7, {"topics": [topic("t", 3)], "validate_only": True})
    assert [(result.error_code, result.num_partitions) for result in answer.topics] == [(0, 3)]
    assert broker.services.image.topics == {}
    assert broker.run(broker.store.get_children("/brokers/topics")) == []


def test_one_refused_topic_does_not_stop_the_others(broker: OneBroker) -> None:
    broker.create_topic("old")
    answer = broker.ask("create_topics", 7, {"topics": [topic("old"), topic("new"), topic("bad", -7)]})
    assert [result.error_code for result in answer.topics] == [TOPIC_ALREADY_EXISTS, 0, INVALID_PARTITIONS]
    assert set(broker.services.image.topics) == {"old", "new"}


@pytest.mark.parametrize("counts", [{"num_partitions": 1}, {"replication_factor": 1}])
def test_counts_with_a_doubled_partition_are_refused_for_the_counts(broker: OneBroker, counts: dict[str, int]) -> None:
    assignments = [{"partition_index": 0, "broker_ids": [1]}] * 2
    asked = {"name": "t", "num_partitions": -1, "replication_factor": -1, "assignments": assignments, **counts}
    (result,) = broker.ask("create_topics", 7, {"topics": [asked]}).topics
    assert result.error_code == INVALID_REQUEST


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize("partitions", [0, 1, -1])
def test_more_topics_than_there_may_be_partitions_are_refused_before_anything_is_made_of_them(
    broker: OneBroker, partitions: int, validate_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(create_topics, "_new_topic", None)
    asked = [topic(f"t{number}", partitions) for number in range(10_001)]
    answer = broker.ask("create_topics", 7, {"topics": asked, "validate_only": validate_only})
    assert {one.error_code for one in answer.topics} == {POLICY_VIOLATION}
    assert len(answer.topics) == 10_001
