"""AddOffsetsToTxn before there is a topic of groups: it is created, and the data plane answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkastore.errors import KafkastoreError
from kafkastore.handlers.coordinators_topic import REPORTED_S
from kafkastore.internal_topics import OFFSETS_TOPIC

from .one_broker import OneBroker

COORDINATOR_NOT_AVAILABLE = 15
ASKED = {"transactional_id": "t", "producer_id": 7, "producer_epoch": 0, "group_id": "g"}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OneBroker]:
    made = OneBroker(tmp_path, {"offsets.topic.replication.factor": "1"})
    yield made
    made.close()


@pytest.mark.parametrize("version", range(5))
def test_topic_of_groups_is_created_for_a_transaction(broker: OneBroker, version: int) -> None:
    assert OFFSETS_TOPIC not in broker.services.image.topics
    assert broker.hands_back("add_offsets_to_txn", version, ASKED)
    assert OFFSETS_TOPIC in broker.services.image.topics


def test_topic_that_cannot_be_created_is_no_coordinator(broker: OneBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(name: str) -> Any:
        raise KafkastoreError(f"no disk for {name}")

    monkeypatch.setattr(broker.services.topics, "create_internal", fail)
    assert broker.ask("add_offsets_to_txn", 4, ASKED).error_code == COORDINATOR_NOT_AVAILABLE


def test_topic_that_cannot_be_created_is_logged_with_the_fix_once_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = OneBroker(tmp_path)
    try:
        for _ in range(3):
            assert broker.ask("add_offsets_to_txn", 4, ASKED).error_code == COORDINATOR_NOT_AVAILABLE
        said = [one.getMessage() for one in caplog.records if one.name == "kafkastore.handlers.coordinators_topic"]
        line = (
            "Cannot create __consumer_offsets: offsets.topic.replication.factor=3 needs 3 brokers and 1 broker is here;"
            " set it to 1 for a broker that is alone"
        )
        assert said == [line]
        real = broker.loop.time
        monkeypatch.setattr(broker.loop, "time", lambda: real() + REPORTED_S)
        broker.ask("add_offsets_to_txn", 4, ASKED)
        assert [one.getMessage() for one in caplog.records].count(line) == 2
    finally:
        broker.close()
