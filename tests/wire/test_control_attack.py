"""The broker's memory and a member's heartbeats while many clients send requests that are expensive for the control
plane.

``python -m wire.control_attack PORT PID --clients 1000`` runs every attack with all clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from peer.broker_process import wait_until
from peer.kafkastore_broker import KafkastoreBroker
from wire.attacks import Beside, rss_kb
from wire.control_attack import attack, heartbeat

CLIENTS = 300
SECONDS = 3.0
BOUND_MB = 64
RETURNED_MB = 40
MIN_HEARTBEATS = 20  # once the loop stood still for the whole attack
LIMIT_S = 30.0


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkastoreBroker, int]]:
    folder: Path = tmp_path_factory.mktemp("attacked")
    broker = KafkastoreBroker(folder)
    broker.start()
    try:
        assert broker.process is not None
        attack(broker.port, "Small", 2, 0.5)  # imports of the first request are not measured
        attack(broker.port, "DescribeConfigs", 2, 0.5)
        yield broker, broker.process.pid
    finally:
        broker.stop()


@pytest.mark.parametrize("name", ["DescribeConfigs", "SyncGroup", "Unread answers"])
def test_memory_beside_a_crowd_of_dear_requests_is_bounded_and_heartbeats_are_answered(
    attacked: tuple[KafkastoreBroker, int], name: str
) -> None:
    broker, pid = attacked
    idle_kb = rss_kb(pid)
    with Beside(broker.port, pid, heartbeat()) as other:
        attack(broker.port, name, CLIENTS, SECONDS)
    assert other.answers >= MIN_HEARTBEATS
    assert (other.peak_kb - idle_kb) / 1024 <= BOUND_MB
    wait_until(lambda: (rss_kb(pid) - idle_kb) / 1024 <= RETURNED_MB, LIMIT_S, "memory is returned")
    if name != "Unread answers":
        wait_until(lambda: attack(broker.port, name, 1, 4.0, 1) > 0, LIMIT_S, "a single client is served")
