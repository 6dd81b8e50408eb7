"""Signals that ask a broker to stop, at any moment of its life: it ends soon, without a traceback, and nothing is
lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from peer.broker_process import wait_until
from peer.topics import create_topic, end_offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

STOP_LIMIT_S = 20.0
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

BEFORE_ITS_HANDLER = -signal.SIGTERM
"""The exit code when the interpreter was still starting: nothing had been opened."""


@pytest.fixture(autouse=True)
def _ours(against: str) -> Iterator[None]:
    if against == "kafka":
        pytest.skip("Apache Kafka does not stop while it starts")
    inherited = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, by the brokers as well
    yield
    signal.signal(signal.SIGHUP, inherited)


def assert_ends(broker: BrokerProcess, *codes: int) -> None:
    assert broker.wait_until_ended(STOP_LIMIT_S) in codes, broker.output()
    broker.stop()  # closes its output
    assert not re.search("Traceback|panicked|Exception", broker.output()), broker.output()


HOLDER = """
import fcntl, os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
fcntl.fcntl(os.open(sys.argv[1], os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
signal.sigwait([signal.SIGIO])
print("asked for", flush=True)
sys.stdin.read()
"""
"""Holds a lease on a file: whoever opens it waits, 45 s at most, until this process ends."""


@contextmanager
def held(path: Path) -> Iterator[Callable[[], None]]:
    """Whoever opens the file waits until this ends. Gives what returns when somebody does."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        lines = holder.stdout
        assert lines.readline() == "held\n"

        def wait_until_asked_for() -> None:
            assert lines.readline() == "asked for\n"

        try:
            yield wait_until_asked_for
        finally:
            holder.stdin.close()


def test_sigterm_during_recovery_ends_the_broker_and_the_next_start_recovers(broker_factory: BrokerFactory) -> None:
    broker = broker_factory()
    topic = create_topic(broker.bootstrap, "t")
    log = broker.log_dir / f"{topic}-0" / "00000000000000000000.log"
    wait_until(log.exists, 30, "the partition is on disk")
    broker.kill()
    with held(log) as wait_until_asked_for:  # a recovery that takes as long as we like
        broker.launch()
        wait_until_asked_for()
        os.kill(broker.pid, signal.SIGTERM)
        os.kill(broker.pid, signal.SIGTERM)
        assert_ends(broker, 0)
    assert not (broker.log_dir / CLEAN_SHUTDOWN).exists()
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
