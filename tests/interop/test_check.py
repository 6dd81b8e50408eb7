"""``kafkastore check`` beside a broker that writes, and on a directory that was damaged after a clean stop."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from clients.conftest import samples
from clients.test_librdkafka import produce
from interop.checking import assert_check_finds_nothing
from peer.kafkastore_broker import executable
from peer.topics import create_topic

if TYPE_CHECKING:
    from pathlib import Path

    from peer.broker_factory import BrokerFactory

SMALL = {"segment.bytes": "1048576", "index.interval.bytes": "2048"}


def test_check_beside_a_writing_broker_and_on_damage_afterwards(broker_factory: BrokerFactory) -> None:
    broker = broker_factory()
    create_topic(broker.bootstrap, "t", 1, SMALL)
    for _ in range(3):
        produce(broker, "t", samples(1000, 1000))
        assert_check_finds_nothing(broker.log_dir)
    assert broker.stop() == 0
    assert_check_finds_nothing(broker.log_dir)
    log = min((broker.log_dir / "t-0").glob("*.log"))
    damaged = bytearray(log.read_bytes())
    damaged[100] ^= 1
    log.write_bytes(damaged)
    ran = subprocess.run(
        [executable(), "check", str(broker.log_dir)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (1, "")
    (fault,) = [line for line in ran.stdout.splitlines() if line.startswith("fault: ")]
    assert fault.startswith(f"fault: {log.resolve()} at 0: record batch is corrupt")
    assert re.search(r" in \d+\.\d\d s \(\d+\.\d\d GB/s\): 1 fault$", ran.stdout.strip())


@pytest.mark.parametrize("what", ["missing", "empty", "file"])
def test_path_that_cannot_be_checked_is_refused_in_one_sentence(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "empty":
        path.mkdir()
    elif what == "file":
        path.write_text("x")
    ran = subprocess.run([executable(), "check", str(path)], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"kafkastore check: {path}: ")
    assert ran.stderr.count("\n") == 1
