"""A broker whose stderr is closed, full or quiet serves all the same, and writes nothing into its own files."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.kafkastore_broker import executable
from peer.wire_socket import WireSocket


def answers(broker: BrokerProcess) -> bool:
    try:
        with WireSocket(broker.port, timeout_s=1) as socket:
            return socket.has_broker()
    except OSError:
        return False


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full", "0<&- 1>&- 2>&-"])
def test_broker_without_a_stderr_that_can_be_written_serves_and_stops(
    broker_factory: BrokerFactory, stderr: str
) -> None:
    if broker_factory.kind != "kafkastore":
        pytest.skip("Apache Kafka has a launcher of its own")
    broker = broker_factory({"kafkastore.log.level": "DEBUG"}, start=False)
    broker.write_properties()
    command = f"exec {executable()} broker {broker.properties_file} {stderr}"
    process = subprocess.Popen(["bash", "-c", command])
    try:
        wait_until(lambda: answers(broker), 30, "the broker answers")
        number = os.readlink(f"/proc/{process.pid}/fd/2")
        assert number in ("/dev/null", "/dev/full"), f"descriptor 2 is {number}"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()


def test_level_of_the_log_is_configured(broker_factory: BrokerFactory) -> None:
    if broker_factory.kind != "kafkastore":
        pytest.skip("Apache Kafka has a file for that")
    quiet = broker_factory({"kafkastore.log.level": "ERROR"})
    assert quiet.stop() == 0
    assert " INFO " not in quiet.output()
    assert " is ready: " in quiet.output()
    talkative = broker_factory({"kafkastore.log.level": "DEBUG"})
    assert talkative.stop() == 0
    assert " INFO " in talkative.output()
