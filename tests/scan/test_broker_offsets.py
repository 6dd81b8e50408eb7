"""How far may be read, asked from a live broker, Apache Kafka or ours; what is no broker gets one sentence, soon."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clients.conftest import samples
from kafkastore.scanning.broker_offsets import fetch_broker_offsets, parse_servers
from peer.broker_process import BrokerProcess, free_port
from peer.java_tools import JavaRecord, JavaTools
from peer.topics import admin_client, create_topic
from scan.produce import produce_samples


def test_offsets_are_what_the_broker_tells_consumers(broker: BrokerProcess) -> None:
    topic = create_topic(broker.bootstrap, "broker-offsets", 3)
    produce_samples(broker.bootstrap, topic, samples(20), partitions=2)
    assert fetch_broker_offsets(broker.bootstrap, topic) == {0: (0, 10, 10), 1: (0, 10, 10), 2: (0, 0, 0)}
    assert fetch_broker_offsets(f"127.0.0.1:1, {broker.bootstrap}", topic, [1]) == {1: (0, 10, 10)}


def test_unknown_topic_or_partition_is_named_and_not_created(broker: BrokerProcess) -> None:
    with pytest.raises(FileNotFoundError, match="topic never-made is not known to the broker"):
        fetch_broker_offsets(broker.bootstrap, "never-made")
    assert "never-made" not in admin_client(broker.bootstrap).list_topics(timeout=10).topics
    topic = create_topic(broker.bootstrap, "broker-offsets-of-two", 2)
    with pytest.raises(FileNotFoundError, match="has no partition 9 at the broker; it has 0 to 1"):
        fetch_broker_offsets(broker.bootstrap, topic, [9])


def test_open_transaction_ends_the_stable_offsets(apache_kafka: BrokerProcess, java: JavaTools) -> None:
    topic = create_topic(apache_kafka.bootstrap, "broker-offsets-open")
    sent = [JavaRecord(0, None, b"k", b"v")] * 5
    java.produce(apache_kafka.bootstrap, topic, sent)
    config = {"transactional_id": "broker-offsets", "transaction_timeout_ms": "600000"}
    java.produce(apache_kafka.bootstrap, topic, sent, "open", **config)
    java.call("deleteRecords", apache_kafka.bootstrap, topic=topic, before=2)
    assert fetch_broker_offsets(apache_kafka.bootstrap, topic) == {0: (2, 10, 5)}


@pytest.mark.parametrize(
    "text", ["", ":", "host:", "host:0", "host:99999", "host:x", "a:1,,b:2", "::1", "fe80::1:9092", "[::1:9092"]
)
def test_servers_that_are_none_are_named(text: str) -> None:
    with pytest.raises(ValueError, match="bootstrap_servers"):
        parse_servers(text)


def test_servers_are_host_and_port() -> None:
    assert parse_servers("a, b:1,:3,[::1]:2,[::1]") == [
        ("a", 9092),
        ("b", 1),
        ("localhost", 3),
        ("::1", 2),
        ("::1", 9092),
    ]
    assert parse_servers(["a:1"]) == [("a", 1)]


@contextmanager
def server(answer: bytes | None) -> Iterator[str]:
    """Answers every connection with the same bytes and closes it; None keeps silent."""
    with socket.create_server(("127.0.0.1", free_port())) as listener:
        held = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                held.append(connection)
                if answer is not None:
                    connection.recv(4096)
                    connection.sendall(answer)
                    connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in held:
            connection.close()


def framed(body: bytes, correlation_id: int = 1) -> bytes:
    payload = correlation_id.to_bytes(4, "big") + body
    return len(payload).to_bytes(4, "big") + payload


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not Kafka's protocol"),
        (framed(b""), "not Kafka's protocol"),
        (framed(b"", correlation_id=2), "not Kafka's protocol"),
        (framed(b"\0\0\0\0\x7f\xff\xff\xff"), "not Kafka's protocol"),
        (framed(b"\xff" * 40), "not Kafka's protocol"),
        (framed(b"\0" * 20)[:-5], "closed the connection"),
        (b"\x7f\xff\xff\xff", "not Kafka's protocol"),
        (None, "no answer in time"),
    ],
)
def test_address_without_a_broker_is_one_sentence(answer: bytes | None, reason: str) -> None:
    with server(answer) as address, pytest.raises(ConnectionError, match=reason) as raised:
        fetch_broker_offsets(address, "topic", timeout_s=0.5)
    assert str(raised.value).startswith(f"bootstrap_servers: {address} cannot be asked (")
    assert "\n" not in str(raised.value)


def test_ctrl_c_ends_the_wait_for_a_silent_server_at_once() -> None:
    code = (
        "import sys; from kafkastore.scanning.broker_offsets import fetch_broker_offsets as ask; "
        "print('asks', flush=True); ask(sys.argv[1], 'topic', timeout_s=30)"
    )
    with server(None) as address:
        command = [sys.executable, "-c", code, address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asking:
            assert asking.stdout is not None
            assert asking.stdout.readline() == "asks\n"
            time.sleep(0.2)  # it is in the call, or about to be
            asking.send_signal(signal.SIGINT)
            _, said = asking.communicate(timeout=10)
        assert asking.returncode != 0
        assert said.rstrip().endswith("KeyboardInterrupt")


def test_refused_connection_names_the_server() -> None:
    port = free_port()
    with pytest.raises(ConnectionError, match=rf"127\.0\.0\.1:{port} cannot be asked \(Connection refused\)"):
        fetch_broker_offsets(f"127.0.0.1:{port}", "topic")
