"""AddOffsetsToTxn before there is a topic of groups: it is created, and the data plane answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kafkastore.errors import KafkastoreError
from kafkastore.internal_topics import OFFSETS_TOPIC

from .one_broker import OneBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
