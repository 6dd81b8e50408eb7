"""The same requests to a started broker, its answers beside those that Apache Kafka 4.4 gave.

Runs against ours, or with ``--against=kafka`` against Apache Kafka itself, which proves the recorded answers. Each
table needs a fresh broker, so it gets one of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from parity.answers import Answers
from parity.expected import DEVIATIONS, OTHER_WORDS, comparable
from parity.tables import TABLES, answers_of
from peer.apache_kafka import ApacheKafka
from peer.kafkastore_broker import KafkastoreBroker

EXPECTED = {table: of_table.expected() for table, of_table in TABLES.items()}
assert {*DEVIATIONS, *OTHER_WORDS} <= {name for found in EXPECTED.values() for name in found}, "each is a case"


@pytest.fixture(scope="module")
def answers_to(against: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Answers]:
    """What a broker answers to a table, which is sent once."""
    kind = ApacheKafka if against == "kafka" else KafkastoreBroker
    return functools.cache(lambda table: answers_of(kind, TABLES[table], tmp_path_factory.mktemp(table)))


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("table", "name"), [(table, name) for table, found in EXPECTED.items() for name in found])
def test_answers_as_apache_kafka(table: str, name: str, against: str, answers_to: Callable[[str], Answers]) -> None:
    answer, recorded = answers_to(table)[name], EXPECTED[table][name]
    ours, kafkas = (answer, recorded) if against == "kafka" else comparable(name, answer, recorded)
    assert ours == kafkas
