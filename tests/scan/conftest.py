"""Topics written through our broker, once for the session; tests that change files work on copies of its directory."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from clients.conftest import samples
from peer.broker_factory import BrokerFactory
from peer.topics import create_topic
from scan.produce import produce_samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.broker_process import BrokerProcess

RECORDS = 300


@pytest.fixture(scope="session")
def scan_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Ours, running: topic `samples` with RECORDS records over three partitions, topic `empty`, topic `segments` of
    several segments in one partition."""
    factory = BrokerFactory("kafkastore", tmp_path_factory.mktemp("scan"))
    broker = factory()
    create_topic(broker.bootstrap, "samples", 3)
    create_topic(broker.bootstrap, "empty", 2)
    create_topic(broker.bootstrap, "segments", 1, {"segment.bytes": "1048576", "index.interval.bytes": "2048"})
    produce_samples(broker.bootstrap, "samples", samples(RECORDS), partitions=3)
    produce_samples(broker.bootstrap, "segments", samples(3000, value_bytes=1000), codec="none")
    yield broker
    factory.close()


@pytest.fixture(scope="session")
def stopped_log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory after a clean stop: topic `segments` in several segments, topic `samples` with every codec."""
    folder = tmp_path_factory.mktemp("stopped")
    factory = BrokerFactory("kafkastore", folder)
    broker = factory()
    create_topic(broker.bootstrap, "samples", 1)
    create_topic(broker.bootstrap, "segments", 1, {"segment.bytes": "1048576", "index.interval.bytes": "2048"})
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        produce_samples(broker.bootstrap, "samples", samples(50), codec=codec)
    produce_samples(broker.bootstrap, "segments", samples(3000, value_bytes=1000), codec="none")
    assert broker.stop() == 0
    return broker.log_dir


@pytest.fixture
def log_dir(stopped_log_dir: Path, tmp_path: Path) -> Path:
    """A copy of `stopped_log_dir` that the test may change."""
    copy = tmp_path / "copied"
    shutil.copytree(stopped_log_dir, copy)
    return copy
