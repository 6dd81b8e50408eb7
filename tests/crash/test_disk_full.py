"""A log directory that runs out of space: KAFKA_STORAGE_ERROR, it goes offline, the other serves, nothing is lost.

H24
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError

from crash.load import Load, assert_all_are_read_back
from peer import small_disk as disks
from peer.broker_process import wait_until
from peer.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.broker_factory import BrokerFactory

SMALL_BYTES = 24 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """With room for SMALL_BYTES."""
    with disks.mounted(tmp_path / "small", SMALL_BYTES) as folder:
        yield folder


def is_any_there(places: list[Path]) -> bool:
    return any(place.exists() for place in places)


def fills(load: Load) -> bool:
    load.run_until_acknowledged(1000)
    return bool(load.failed)


def test_full_log_directory_goes_offline_and_the_other_serves(
    broker_factory: BrokerFactory, small_disk: Path, tmp_path: Path
) -> None:
    large = tmp_path / "large"  # first: metadata stands there
    small = small_disk / "data"
    broker = broker_factory({"log.index.size.max.bytes": "65536"}, log_dirs=[large, small])
    topics: dict[Path, str] = {}
    names = [create_topic(broker.bootstrap, f"t{number}") for number in range(8)]
    for name in names:  # each in the directory with the fewest; it is on disk soon after
        places = [directory / f"{name}-0" for directory in (large, small)]
        wait_until(partial(is_any_there, places), 30, f"{name} is on disk")
        topics[small if places[1].exists() else large] = name
    on_large, on_small = topics[large], topics[small]

    full = Load(broker, on_small, "small", 1, retries=0, compression_type="none", message_timeout_ms=20_000)
    wait_until(lambda: fills(full), 60, "the small disk is full")
    full.producer.flush(30)
    codes = {error.code() for error in full.failed}
    assert KafkaError.KAFKA_STORAGE_ERROR in codes, codes

    other = Load(broker, on_large, "large", 1)
    other.run_until_acknowledged(2000)
    other.finish()
    assert_all_are_read_back(broker, on_large, [other])

    broker.kill()
    disks.resize(small_disk, 8 * SMALL_BYTES)
    broker.start()
    assert_all_are_read_back(broker, on_large, [other])
    assert_all_are_read_back(broker, on_small, [full])
    again = Load(broker, on_small, "again", 1)
    again.run_until_acknowledged(100)
    again.finish()
