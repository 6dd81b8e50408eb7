"""Every request of the first table of ``tests/parity`` through the handlers; the answers must be Apache Kafka 4.3's."""

from __future__ import annotations

import functools
import uuid
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kafkastore.requests.registry import APIS
from parity.answers import Answers, all_answers
from parity.expected import DEVIATIONS, OTHER_WORDS, comparable
from parity.raw_client import ConnectionClosedError
from parity.tables import TABLES

from .one_broker import OneBroker

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = TABLES["requests"]
"""The other tables are about the data plane."""
OF_THE_DATA_PLANE = {case.name for case in TABLE.cases if case.given.get("transactional_id") is not None}
"""Requests of transactional producers, which the transaction coordinator answers."""
CASES = [case for case in TABLE.cases if case.name not in OF_THE_DATA_PLANE]
EXPECTED = {
    name: answer for name, answer in TABLE.expected().items() if name.rpartition(", v")[0] not in OF_THE_DATA_PLANE
}
RECORDS_TIMESTAMP_MS = 1_700_000_000_000


class InProcessClient:
    """Asks the broker in memory; stands in for the data plane's answers."""

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

    def close(self) -> None:
        """There is no connection to close."""

    def _produce(self) -> None:
        """The third produce of the table is the idempotent one."""
        self._produced += 1
        is_idempotent = self._produced == 3
        self._broker.engine.add_records("p-log", 0, 2 if is_idempotent else 5)
        if is_idempotent:
            self._broker.engine.producers["p-log", 0] = [(4000, 3, 1, RECORDS_TIMESTAMP_MS, -1, -1)]

    def _metadata(self, given: Mapping[str, Any]) -> Any:
        topics = [self._broker.services.image.topics[asked["name"]] for asked in given["topics"]]
        return SimpleNamespace(topics=[SimpleNamespace(topic_id=uuid.UUID(bytes=topic.topic_id)) for topic in topics])


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    broker = OneBroker(tmp_path_factory.mktemp("broker"))
    try:
        return all_answers(functools.partial(InProcessClient, broker), CASES)
    finally:
        broker.close()


@pytest.mark.parametrize("name", EXPECTED)
def test_answers_as_kafka(name: str, answers: Answers) -> None:
    ours, kafkas = comparable(name, answers[name], EXPECTED[name])
    assert ours == kafkas


@pytest.mark.parametrize("name", [*DEVIATIONS, *OTHER_WORDS])
def test_every_deviation_names_a_case(name: str) -> None:
    assert any(name in table.expected() for table in TABLES.values())
