"""kill -9 of a broker that is cleaning: after the restart each key has its last value, and no older one came back.

`rust/storage/cleaner/tests/faults.rs` fails every call of the cleaner one by one.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

import kafkastore
from crash.keyed_load import SOON, TOPIC, KeyedLoad, Row, assert_latest, consumed, rows_of
from interop.checking import assert_check_finds_nothing
from peer.broker_process import wait_until
from peer.topics import create_topic
from proof.scope import played

if TYPE_CHECKING:
    from pathlib import Path

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

KILLS = played(4, 20)
LONGEST_S = 1.2
LIMIT_S = 30
PACED = {"log.cleaner.io.max.bytes.per.second": "8000000"}
"""So slow that a kill comes while the cleaning goes on that was seen before it."""


def scanned(broker: BrokerProcess) -> list[Row]:
    return rows_of(kafkastore.scan(broker.log_dir, "compacted", bootstrap_servers=broker.bootstrap))


def is_half_cleaned(folder: Path) -> bool:
    """False when there is no folder: the first append makes it."""
    return folder.is_dir() and any(path.suffix in {".cleaned", ".swap"} for path in folder.iterdir())


@pytest.mark.timeout(played(200, 600))
def test_every_key_keeps_its_last_value_when_the_cleaning_broker_is_killed(
    broker_factory: BrokerFactory, summary: list[str]
) -> None:
    broker = broker_factory(SOON | PACED, kind="kafkastore")
    create_topic(broker.bootstrap, "compacted", 1, TOPIC)
    folder = broker.log_dir / "compacted-0"
    half_done = 0
    with KeyedLoad(broker.bootstrap, "compacted") as load:
        for _ in range(KILLS):
            time.sleep(random.uniform(0.2, LONGEST_S))
            wait_until(lambda: is_half_cleaned(folder), LIMIT_S, "a cleaning is under way")
            broker.kill()
            half_done += is_half_cleaned(folder)
            acknowledged = load.acknowledged
            broker.start()
            assert_latest(scanned(broker), acknowledged)
        wait_until(lambda: len(scanned(broker)) < load.acknowledged // 2, LIMIT_S, "most records are cleaned away")
    assert not load.failures
    assert_latest(consumed(broker.bootstrap, "compacted"), load.acknowledged)
    assert half_done, "no kill came within a cleaning"
    broker.stop()
    assert_check_finds_nothing(broker.log_dir)
    summary.append(f"kill -9 of a cleaning broker: {KILLS} kills, {half_done} left half a cleaning, no value lost")
