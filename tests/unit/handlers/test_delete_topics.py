"""DeleteTopics: by name and id, what a deletion removes, when deletion is disabled, every version. Each refusal is
tested in ``tests/parity``."""

from __future__ import annotations

from typing import Any

import pytest
from world import deletions_end

from .conftest import MakeBroker
from .one_broker import OneBroker

UNKNOWN_TOPIC, REQUEST_TIMED_OUT, INVALID_REQUEST, TOPIC_DELETION_DISABLED, UNKNOWN_TOPIC_ID = 3, 7, 42, 73, 100
UNKNOWN_ID = bytes(15) + b"\7"


def names(*given: str) -> dict[str, Any]:
    return {"topics": [{"name": name} for name in given], "topic_names": list(given)}


def ids(*given: bytes | None) -> dict[str, Any]:
    return {"topics": [{"name": None, "topic_id": topic_id} for topic_id in given]}


def topic_id(broker: OneBroker, name: str) -> bytes:
    found: bytes = broker.services.image.topics[name].topic_id
    return found


@pytest.mark.parametrize("version", range(7))
def test_deletes_by_name_at_every_version(broker: OneBroker, version: int) -> None:
    broker.create_topic("t", 2, {"retention.ms": "1"})
    (result,) = broker.ask("delete_topics", version, names("t")).responses
    assert (result.name, result.error_code) == ("t", 0)
    assert broker.services.image.topics == {}
    assert "t" not in broker.engine.published_topics
    broker.run(deletions_end(broker.services))
    assert broker.engine.partitions == {}
    assert broker.run(broker.store.get_children("/brokers/topics")) == []
    assert "t" not in broker.run(broker.store.get_children("/config/topics"))


def test_a_recreated_topic_is_not_deleted_by_the_id_of_the_topic_before_it(
    broker: OneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look-up of an id and the deletion other requests are served, and the deletion waits for the locks of
    names."""
    broker.create_topic("t")
    wanted, topics = topic_id(broker, "t"), broker.services.topics
    delete_all = topics.delete_all

    async def after_others(*arguments: Any) -> Any:
        await delete_all(["t"])
        await topics.create("t")
        return await delete_all(*arguments)

    monkeypatch.setattr(topics, "delete_all", after_others)
    (result,) = broker.ask("delete_topics", 6, ids(wanted)).responses
    assert (result.topic_id, result.error_code) == (wanted, UNKNOWN_TOPIC_ID)
    assert topic_id(broker, "t") != wanted


def test_a_name_and_its_id_delete_nothing(broker: OneBroker) -> None:
    broker.create_topic("t")
    asked = {"topics": [*names("t")["topics"], *ids(topic_id(broker, "t"))["topics"]]}
    (result,) = broker.ask("delete_topics", 6, asked).responses
    assert (result.name, result.error_code) == ("t", INVALID_REQUEST)
    assert "t" in broker.services.image.topics


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        (names("nope"), [UNKNOWN_TOPIC]),
        (names("t", "t"), [INVALID_REQUEST]),
        (ids(None), [INVALID_REQUEST]),
        (ids(None, None), [INVALID_REQUEST, INVALID_REQUEST]),
        (ids(UNKNOWN_ID), [UNKNOWN_TOPIC_ID]),
        (ids(UNKNOWN_ID, UNKNOWN_ID), [INVALID_REQUEST]),
        ({"topics": [{"name": "t", "topic_id": UNKNOWN_ID}]}, [INVALID_REQUEST]),
    ],
)
def test_a_refusal_deletes_nothing(broker: OneBroker, asked: dict[str, Any], codes: list[int]) -> None:
    broker.create_topic("t")
    answer = broker.ask("delete_topics", 6, asked)
    assert [result.error_code for result in answer.responses] == codes
    assert "t" in broker.services.image.topics


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, INVALID_REQUEST), (2, INVALID_REQUEST), (3, TOPIC_DELETION_DISABLED), (6, TOPIC_DELETION_DISABLED)],
)
def test_deletion_can_be_switched_off(make_broker: MakeBroker, version: int, code: int) -> None:
    broker = make_broker({"delete.topic.enable": "false"})
    broker.create_topic("t")
    answer = broker.ask("delete_topics", version, names("t", "u"))
    assert [(result.name, result.error_code) for result in answer.responses] == [("t", code), ("u", code)]
    assert "t" in broker.services.image.topics


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_a_request_without_time_deletes_nothing(broker: OneBroker, timeout_ms: int) -> None:
    broker.create_topic("t")
    (result,) = broker.ask("delete_topics", 6, {**names("t"), "timeout_ms": timeout_ms}).responses
    assert (result.name, result.error_code) == ("t", REQUEST_TIMED_OUT)
    assert "t" in broker.services.image.topics
