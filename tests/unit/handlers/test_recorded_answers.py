"""Every request of ``tests/parity`` through the handlers, against what Apache Kafka 4.3 answered to it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import pytest
from parity.answers import Answers, all_answers
from parity.expected import DEVIATIONS, expected_answers, same_answer
from parity.raw_client import ConnectionClosedError

from .one_broker import APIS, OneBroker

EXPECTED = expected_answers()
PARITY_PRODUCER = (4000, 3)
RECORDS_TIMESTAMP_MS = 1_700_000_000_000


class InProcessClient:
    """Asks the broker in memory; what the data plane answers is stood in for."""

    def __init__(self, broker: OneBroker) -> None:
        self._broker = broker
        self._produced = 0

    def ask(self, api: str, version: int, given: Mapping[str, Any]) -> Any:
        if api == "produce":
            self._produce()
            return None
        if api == "metadata":
            return self._metadata(given)
        if not next(row for row in APIS if row.module == api).has_version(version):
            raise ConnectionClosedError  # by the data plane
        return self._broker.ask(api, version, given)

    def _produce(self) -> None:
        """The third produce of the table is the idempotent one."""
        self._produced += 1
        is_idempotent = self._produced == 3
        self._broker.engine.append_counted(
            "p-log", 0, 2 if is_idempotent else 5, PARITY_PRODUCER if is_idempotent else None, RECORDS_TIMESTAMP_MS
        )

    def _metadata(self, given: Mapping[str, Any]) -> Any:
        import uuid
        from types import SimpleNamespace

        topics = [self._broker.services.image.topics[asked["name"]] for asked in given["topics"]]
        return SimpleNamespace(topics=[SimpleNamespace(topic_id=uuid.UUID(bytes=topic.topic_id)) for topic in topics])


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    broker = OneBroker(tmp_path_factory.mktemp("broker"))
    try:
        return all_answers(functools.partial(InProcessClient, broker))
    finally:
        broker.close()


@pytest.mark.parametrize("name", EXPECTED)
def test_answers_as_kafka(name: str, answers: Answers) -> None:
    assert same_answer(name, answers[name], EXPECTED[name])


@pytest.mark.parametrize("name", DEVIATIONS)
def test_every_deviation_names_a_case(name: str) -> None:
    assert name in EXPECTED
