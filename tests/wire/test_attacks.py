"""Requests that cost the broker much more than their client: the broker's memory and other clients' answers during each
attack.

Bounds are on bytes and on counts of answers, not on time: another client must be answered while an attack goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from peer.broker_process import wait_until
from peer.kafkastore_broker import KafkastoreBroker
from peer.wire_socket import WireSocket
from wire.attacks import ATTACKS, TOPIC, Beside, metadata, prepare, rss_kb

PARTITIONS = 200
BOUND_MB = 64
RETURNED_MB = 48
"""The memory that may stay: fetch sessions stay, within their own bound of 32 MB."""
RETURNED_LIMIT_S = 30.0
MIN_ANSWERS = 20
SMALL = [
    "metadata: one name 100,000 times",
    "metadata: 100,000 unknown names",
    "produce: 50 payloads that inflate to 60 MB",
    "fetch: one partition 100,000 times",
    "fetch: 30 sessions of 50,000 partitions",
    "fetch: answers that nobody reads, 400 clients",
    "list offsets: one partition 100,000 times",
    "frames in parts: 500 clients",
]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkastoreBroker, int]]:
    folder: Path = tmp_path_factory.mktemp("attacked")
    broker = KafkastoreBroker(folder, {"num.partitions": str(PARTITIONS)})
    broker.start()
    try:
        prepare(broker.port)
        assert broker.process is not None
        yield broker, broker.process.pid
    finally:
        broker.stop()


@pytest.mark.parametrize("name", SMALL)
def test_attack_is_bounded_in_memory_and_others_are_served_beside_it(
    attacked: tuple[KafkastoreBroker, int], name: str
) -> None:
    broker, pid = attacked
    idle_kb = rss_kb(pid)
    with Beside(broker.port, pid, metadata([TOPIC])) as other:
        ATTACKS[name](broker.port)
        wait_until(lambda: other.answers >= MIN_ANSWERS, RETURNED_LIMIT_S, "another client is served")
    assert (other.peak_kb - idle_kb) / 1024 <= BOUND_MB
    wait_until(lambda: (rss_kb(pid) - idle_kb) / 1024 <= RETURNED_MB, RETURNED_LIMIT_S, "memory is returned")
    with WireSocket(broker.port) as connection:
        assert connection.has_broker()
