"""What a broker must not start on: each time it ends by itself, non-zero, with one sentence that names the cause."""

from __future__ import annotations

import re
import socket
import subprocess
from typing import TYPE_CHECKING

import pytest

from peer.topics import create_topic, end_offsets
from peer.wire_socket import WireSocket

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess


def assert_refuses(broker: BrokerProcess, *mentions: str) -> None:
    """It ends non-zero; ours says why in one line, without a traceback (Apache Kafka with a stack trace)."""
    assert broker.wait_until_ended(60) != 0, broker.output()
    if broker.kind == "kafkastore":
        output = broker.output()
        assert not re.search("Traceback|panicked", output), output
        last = output.strip().splitlines()[-1]
        assert all(mention in last for mention in mentions), f"{mentions} not in the last line of:\n{output}"


def test_second_broker_on_a_log_directory_is_refused(broker_factory: BrokerFactory) -> None:
    first = broker_factory()
    topic = create_topic(first.bootstrap, "t")
    second = broker_factory(log_dirs=first.log_dirs, start=False)
    second.launch()
    assert_refuses(second, str(first.log_dir))
    assert end_offsets(first.bootstrap, topic) == {0: (0, 0)}, "the first is still served"


def test_port_in_use_is_refused(broker_factory: BrokerFactory) -> None:
    broker = broker_factory(start=False)
    with socket.socket() as occupant:
        occupant.bind(("127.0.0.1", broker.port))
        occupant.listen()
        broker.launch()
        assert_refuses(broker, str(broker.port))


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Iterator[Path]:
    """A mount that root cannot write to either."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_log_directory_that_cannot_be_written_is_refused(broker_factory: BrokerFactory, read_only_folder: Path) -> None:
    broker = broker_factory(log_dirs=[read_only_folder / "data"], start=False)
    if broker.kind == "kafka":
        pytest.skip("kafka-storage format fails before the broker starts")
    broker.launch()
    assert_refuses(broker, str(read_only_folder))


def test_log_directory_of_another_cluster_is_refused(broker_factory: BrokerFactory, tmp_path: Path) -> None:
    broker = broker_factory(log_dirs=[tmp_path / "a", tmp_path / "b"])
    broker.stop()
    meta = tmp_path / "b" / "meta.properties"
    lines = meta.read_text().splitlines()
    foreign = ["cluster.id=AAAAAAAAAAAAAAAAAAAAAA" if line.startswith("cluster.id=") else line for line in lines]
    assert foreign != lines
    meta.write_text("\n".join(foreign) + "\n")
    broker.launch()
    assert_refuses(broker, "AAAAAAAAAAAAAAAAAAAAAA", "b")


@pytest.mark.parametrize(
    ("key", "value"),
    [("log.retention.hours", "soon"), ("num.partitions", "0"), ("listeners", "PLAINTEXT//nowhere"), ("node.id", "-7")],
)
def test_wrong_config_value_is_refused(broker_factory: BrokerFactory, key: str, value: str) -> None:
    broker = broker_factory({key: value}, start=False)
    if broker.kind == "kafka":
        pytest.skip("kafka-storage format fails before the broker starts")
    broker.launch()
    assert_refuses(broker, key, value)


def test_unknown_config_key_is_only_a_warning(broker_factory: BrokerFactory) -> None:
    broker = broker_factory({"log.retention.eons": "3"})
    with WireSocket(broker.port) as connection:
        assert connection.has_broker()
    if broker.kind == "kafkastore":
        assert "log.retention.eons" in broker.output()
