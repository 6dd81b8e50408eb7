"""What a broker must not start on: each time it ends by itself, non-zero, with one sentence that names the cause."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess
from peer.topics import create_topic, end_offsets
from peer.wire_socket import WireSocket


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


_TWO = "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT\nlisteners="

WRONG = [  # lines that are appended to a good file, where the last of equal keys wins; what the sentence must name
    ("log.retention.hours=soon", ["log.retention.hours", "soon"]),
    ("log.retention.ms=0", ["log.retention.ms", "0", "-1"]),
    ("log.roll.ms=0", ["log.roll.ms"]),
    ("log.segment.bytes=1", ["log.segment.bytes", "1048576"]),
    ("num.partitions=0", ["num.partitions", "at least 1"]),
    ("num.partitions=1_0", ["num.partitions", "1_0"]),
    ("num.partitions=99999999999999", ["num.partitions", "99999999999999"]),
    ("num.partitions=\\u00zz", ["num.partitions", "u00zz"]),
    ("num.partitions=\\ud800", ["num.partitions", "ud800", "escapes"]),
    ("num.partitions=3\nnum.partitions=x", ["num.partitions", "value x"]),
    ("num.partitions=a\\nb", ["num.partitions", "a\\nb"]),
    ("num.network.threads=0", ["num.network.threads"]),
    ("message.max.bytes=-1", ["message.max.bytes", "-1"]),
    ("auto.create.topics.enable=ja", ["auto.create.topics.enable", "true or false"]),
    ("compression.type=brotli", ["compression.type", "brotli", "zstd"]),
    ("log.cleanup.policy=remove", ["log.cleanup.policy", "compact"]),
    ("log.cleaner.min.cleanable.ratio=NaN", ["log.cleaner.min.cleanable.ratio", "NaN"]),
    ("offsets.topic.compression.codec=9", ["offsets.topic.compression.codec", "9"]),
    (
        "replica.selector.class=org.example.Nearest",
        ["replica.selector.class", "org.example.Nearest", "RackAwareReplicaSelector"],
    ),
    ("node.id=-7", ["node.id", "-7"]),
    ("broker.id=7", ["node.id=1", "broker.id=7"]),
    ("listeners=", ["listeners", "PLAINTEXT://:9092"]),
    ("listeners=PLAINTEXT//nowhere", ["listeners", "PLAINTEXT//nowhere"]),
    ("listeners=PLAINTEXT://:70000", ["listeners", "70000"]),
    ("listeners=PLAINTEXT://:--5", ["listeners", "--5"]),
    ("listeners=PLAINTEXT://:\u00b2", ["listeners", "\u00b2"]),
    ("listeners=SSL://127.0.0.1:0", ["SSL", "ssl.keystore.location"]),
    ("listeners=PLAINTEXT://no.such.host.invalid:0", ["listeners", "no.such.host.invalid", "give one"]),
    ("listeners=PLAINTEXT://192.0.2.1:0", ["listeners", "192.0.2.1", "give one"]),
    (f"{_TWO}A://127.0.0.1:29999,B://127.0.0.1:29999", ["listeners", "29999", "different port"]),
    (f"{_TWO}A://:29999,B://127.0.0.1:29999", ["listeners", "29999", "different port"]),
    ("listener.security.protocol.map=FOO", ["listener.security.protocol.map", "FOO"]),
    ("advertised.listeners=PLAINTEXT://0.0.0.0:9092", ["advertised.listeners", "0.0.0.0"]),
    ("advertised.listeners=PLAINTEXT://[::]:9092", ["advertised.listeners", "::"]),
    ("advertised.listeners=OTHER://a:9092", ["advertised.listeners", "OTHER"]),
    ("log.dirs=", ["log.dirs", "at least one"]),
    ("log.dirs=/proc/kafka", ["log.dirs=/proc/kafka", "set log.dirs"]),
    ("log.dirs={folder}/file", ["log.dirs={folder}/file", "set log.dirs"]),
    ("log.dirs={folder}/file/below", ["log.dirs={folder}/file/below", "set log.dirs"]),
    ("log.dirs={folder}/a,{folder}/a/", ["log.dirs", "only once"]),
    ("log.dirs=/a\\u0000b", ["log.dirs", "x00b"]),
    ("kafkastore.metadata.path={folder}/file", ["kafkastore.metadata.path={folder}/file", "not a database"]),
    ("kafkastore.metadata.path={folder}", ["kafkastore.metadata.path={folder}", "it is a directory"]),
]


@pytest.mark.parametrize(("lines", "mentions"), WRONG, ids=[ascii(lines) for lines, _ in WRONG])
def test_wrong_value_is_refused_with_one_sentence(
    broker_factory: BrokerFactory, tmp_path: Path, lines: str, mentions: list[str]
) -> None:
    (tmp_path / "file").write_text("precious")
    broker = broker_factory(
        {"client.quota.callback.class": "\n" + lines.replace("{folder}", str(tmp_path))}, start=False
    )
    if broker.kind == "kafka":
        pytest.skip("kafka-storage format fails before the broker starts")
    broker.launch()
    assert_refuses(broker, *(mention.replace("{folder}", str(tmp_path)) for mention in mentions))
    assert broker.output().count("\n") == 1, broker.output()
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.parametrize("kind", ["missing", "directory", "not text"])
def test_properties_file_that_cannot_be_read_is_named(broker_factory: BrokerFactory, tmp_path: Path, kind: str) -> None:
    broker = broker_factory(start=False)
    if broker.kind == "kafka":
        pytest.skip("the sentence is ours")
    path = tmp_path / "given.properties"
    if kind == "directory":
        path.mkdir()
    elif kind == "not text":
        path.write_bytes(b"\xff\xfe\0n")
    ran = subprocess.run([*broker.command()[:-1], str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1), ran.stderr
    assert str(path) in ran.stderr
    assert "give the path of a server.properties" in ran.stderr


def test_last_of_equal_keys_wins(broker_factory: BrokerFactory) -> None:
    broker = broker_factory({"num.partitions": "x\nnum.partitions=3"})
    with WireSocket(broker.port) as connection:
        assert connection.has_broker()


def test_unknown_config_key_is_only_a_warning(broker_factory: BrokerFactory) -> None:
    broker = broker_factory({"log.retention.eons": "3"})
    with WireSocket(broker.port) as connection:
        assert connection.has_broker()
    if broker.kind == "kafkastore":
        assert "log.retention.eons" in broker.output()
