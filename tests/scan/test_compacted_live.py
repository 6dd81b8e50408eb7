"""Scans beside a broker that cleans: what a scan reads is a state that the topic had, and holes are never a loss."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

import kafkastore
from crash.keyed_load import KEYS, SOON, TOPIC, KeyedLoad, assert_latest, consumed, number_of, rows_of
from interop.transplant import read_checkpoint
from kafkastore.scanning import broker_offsets
from kafkastore.scanning.broker_offsets import fetch_broker_offsets
from peer.broker_process import wait_until
from peer.topics import create_topic

if TYPE_CHECKING:
    from kafkastore.scanning.broker_offsets import PartitionOffsets
    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

SCANS = 60
FILE_SCANS_S = 3.0
"""So many scans that one in some hundred that reads a wrong state is found as a rule."""
FIRST_CLEANED = 8000
"""The first scan begins when the log is clean up to here."""
LIMIT_S = 30


def cleaned_to(broker: BrokerProcess) -> int:
    return int(read_checkpoint(broker.log_dir / "cleaner-offset-checkpoint").get("compacted 0", 0))


def test_scan_that_a_cleaner_overtakes_before_it_opens_the_files_lacks_no_key(
    broker_factory: BrokerFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = broker_factory(SOON, kind="kafkastore")
    create_topic(broker.bootstrap, "compacted", 1, TOPIC)
    asked: list[int] = []

    def asked_slowly(*arguments: Any, **named: Any) -> dict[int, PartitionOffsets]:
        told = fetch_broker_offsets(*arguments, **named)
        asked.append(told[0].high_watermark)
        if len(asked) == 1:
            wait_until(lambda: cleaned_to(broker) > asked[0] + KEYS, LIMIT_S, "the log is cleaned beyond the offset")
        return told

    monkeypatch.setattr(broker_offsets, "fetch_broker_offsets", asked_slowly)
    with KeyedLoad(broker.bootstrap, "compacted") as load:
        wait_until(lambda: load.acknowledged > KEYS, LIMIT_S, "each key has a value")
        acknowledged = load.acknowledged
        assert_latest(
            rows_of(kafkastore.scan(broker.log_dir, "compacted", bootstrap_servers=broker.bootstrap)), acknowledged
        )
    assert len(asked) > 1


@pytest.mark.timeout(120)
def test_scans_beside_a_cleaning_broker_lose_no_key_and_count_their_rows(
    broker_factory: BrokerFactory, summary: list[str]
) -> None:
    broker = broker_factory(SOON, kind="kafkastore")
    create_topic(broker.bootstrap, "compacted", 1, TOPIC)
    count = 0
    with KeyedLoad(broker.bootstrap, "compacted") as load:
        wait_until(lambda: cleaned_to(broker) > FIRST_CLEANED, LIMIT_S, "the log is cleaned")
        before = cleaned_to(broker)
        for number in range(SCANS):
            acknowledged = load.acknowledged
            scan = kafkastore.scan(broker.log_dir, "compacted", bootstrap_servers=broker.bootstrap)
            if number % 2:
                time.sleep(0.2)  # cleanings replace its segments before it is read
            found = rows_of(scan)
            assert_latest(found, acknowledged)
            assert scan.count() == len(found)
            assert scan.lost == []
            (place,) = scan.partitions()
            assert place.end_offset - place.start_offset > len(found) + KEYS, "the range has no holes"
            count += len(found)
        assert cleaned_to(broker) > before + FIRST_CLEANED, "little was cleaned meanwhile"
    assert not load.failures
    assert_latest(consumed(broker.bootstrap, "compacted"), load.acknowledged)
    summary.append(f"{SCANS} scans beside a broker that cleans: {count:,} rows, each key's last value, 0 lost")


def test_scans_of_the_files_alone_read_states_that_the_topic_had(broker_factory: BrokerFactory) -> None:
    broker = broker_factory({**SOON, "log.flush.offset.checkpoint.interval.ms": "5000"}, kind="kafkastore")
    create_topic(broker.bootstrap, "compacted", 1, TOPIC)
    with KeyedLoad(broker.bootstrap, "compacted"):
        wait_until(lambda: cleaned_to(broker) > FIRST_CLEANED, LIMIT_S, "the log is cleaned")
        end = time.monotonic() + FILE_SCANS_S
        while time.monotonic() < end:
            found = rows_of(kafkastore.scan(broker.log_dir, "compacted"))
            assert_latest(found, max(number_of(value) for _, _, value in found))
