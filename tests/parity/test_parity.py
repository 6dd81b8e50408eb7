"""The same requests to a started broker, its answers beside those that Apache Kafka 4.3 gave.

Runs against ours, or with ``--against=kafka`` against Apache Kafka itself, which proves the recorded answers. The table
needs a fresh broker, so it gets one of its own.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from parity.answers import SETTLE_SECONDS, all_answers
from parity.expected import comparable, expected_answers
from parity.raw_client import RawClient
from peer.apache_kafka import ApacheKafka
from peer.kafkastore_broker import KafkastoreBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parity.answers import Answers

EXPECTED = expected_answers()


@pytest.fixture(scope="module")
def answers(against: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """What a fresh broker answers to the whole table. Apache Kafka answers a change before its broker knows of it."""
    is_kafka = against == "kafka"
    broker = (ApacheKafka if is_kafka else KafkastoreBroker)(tmp_path_factory.mktemp("parity"))
    broker.start()
    try:
        connect = functools.partial(RawClient, "127.0.0.1", broker.port)
        yield all_answers(connect, SETTLE_SECONDS if is_kafka else 0.0)
    finally:
        broker.kill()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", EXPECTED)
def test_answers_as_apache_kafka(name: str, against: str, answers: Answers) -> None:
    ours, kafkas = (
        (answers[name], EXPECTED[name]) if against == "kafka" else comparable(name, answers[name], EXPECTED[name])
    )
    assert ours == kafkas
