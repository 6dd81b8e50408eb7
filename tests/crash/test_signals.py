"""Signals that ask a broker to stop, at any moment of its life: it ends soon, without a traceback, and nothing is lost.

spec: R0.2
"""

from __future__ import annotations

import errno
import os
import re
import signal
from typing import TYPE_CHECKING

import pytest

from peer.broker_process import wait_until
from peer.topics import create_topic, end_offsets

if TYPE_CHECKING:
    from pathlib import Path

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

STOP_LIMIT_S = 20.0
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

BEFORE_ITS_HANDLER = -signal.SIGTERM
"""The exit code when the interpreter was still starting: nothing had been opened."""


@pytest.fixture(autouse=True)
def _ours(against: str) -> None:
    if against == "kafka":
        pytest.skip("Apache Kafka does not stop while it starts")


def assert_ends(broker: BrokerProcess, *codes: int) -> None:
    assert broker.wait_until_ended(STOP_LIMIT_S) in codes, broker.output()
    broker.stop()  # closes its output
    assert not re.search("Traceback|panicked|Exception", broker.output()), broker.output()


def wait_for_reader(fifo: Path) -> int:
    """A descriptor that keeps the reader of a FIFO, once there is one, waiting for bytes."""
    found: list[int] = []

    def is_read() -> bool:
        try:
            found.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        return bool(found)

    wait_until(is_read, 30, f"somebody reads {fifo}")
    return found[0]


def test_sigterm_during_recovery_ends_the_broker_and_the_next_start_recovers(broker_factory: BrokerFactory) -> None:
    broker = broker_factory()
    topic = create_topic(broker.bootstrap, "t")
    log = broker.log_dir / f"{topic}-0" / "00000000000000000000.log"
    wait_until(log.exists, 30, "the partition is on disk")
    broker.kill()
    epochs = broker.log_dir / f"{topic}-0" / "leader-epoch-checkpoint"
    kept = epochs.with_name("kept")
    if epochs.exists():
        epochs.rename(kept)
    os.mkfifo(epochs)  # whoever reads it waits for a writer: a recovery that takes as long as we like
    broker.launch()
    writer = wait_for_reader(epochs)
    os.kill(broker.pid, signal.SIGTERM)
    os.kill(broker.pid, signal.SIGTERM)
    assert_ends(broker, 0)
    os.close(writer)
    assert not (broker.log_dir / CLEAN_SHUTDOWN).exists()
    epochs.unlink()
    if kept.exists():
        kept.rename(epochs)
    broker.start()
    assert end_offsets(broker.bootstrap, topic) == {0: (0, 0)}


@pytest.mark.parametrize("moment", ["launch", "kafkastore-metadata.sqlite", ".lock", "meta.properties"])
def test_sigterm_during_start_ends_the_broker(broker_factory: BrokerFactory, moment: str) -> None:
    broker = broker_factory(start=False)
    broker.launch()
    if moment != "launch":
        wait_until((broker.log_dir / moment).exists, 30, f"{moment} is there")
    os.kill(broker.pid, signal.SIGTERM)
    assert_ends(broker, 0, BEFORE_ITS_HANDLER)
    broker.start()
    assert create_topic(broker.bootstrap, "t") == "t"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_twice_in_a_row_stops_once_and_cleanly(broker_factory: BrokerFactory, number: signal.Signals) -> None:
    broker = broker_factory()
    os.kill(broker.pid, number)
    os.kill(broker.pid, number)
    assert_ends(broker, 0)
    assert (broker.log_dir / CLEAN_SHUTDOWN).exists()
    assert len(re.findall(r" INFO Stopped ", broker.output())) == 1
