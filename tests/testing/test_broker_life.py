"""A broker in the process of a test: what its stops, kills and starts keep, and what it leaves behind."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message

import kafkastore
from kafkastore.errors import ConfigError, KafkastoreError, StartupError
from kafkastore.testing import Broker
from kafkastore.testing.homes import LOCK, PREFIX, Home, _remove_abandoned
from kafkastore.testing.node import NotRunningError
from testing.clients import produce, values_of


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 2}, config={"num.partitions": 3}) as one:
        yield one


def end_offset(broker: Broker, topic: str) -> int:
    offsets = broker.server.engine.partition_offsets(topic, 0)
    return offsets.log_end_offset


def test_config_and_topics_of_the_arguments_are_the_brokers(broker: Broker) -> None:
    topics = broker.server.image.topics
    assert len(topics["t"].partitions) == 2
    broker.create_topic("by-default")
    assert len(topics["by-default"].partitions) == 3
    broker.create_topic("compacted", config={"cleanup.policy": "compact"})
    assert topics["compacted"].configs == {"cleanup.policy": "compact"}
    broker.delete_topic("compacted")
    assert "compacted" not in topics
    with pytest.raises(KafkastoreError, match="already exists"):
        broker.create_topic("t")


def test_stop_keeps_records_and_port_and_marks_the_logs_as_closed() -> None:
    with Broker(topics={"t": 1}) as broker:
        port = broker.port
        assert produce(broker, "t", [b"a", b"b"]) == [None, None]
        broker.stop()
        assert not broker.is_running
        assert list(broker.directory.glob("*closed-logs")) or list(broker.directory.glob(".kafka_cleanshutdown"))
        with pytest.raises(NotRunningError, match=r"call start\(\)"):
            broker.create_topic("u")
        broker.start()
        broker.start()  # nothing: it runs
        assert broker.port == port
        assert not broker.server.engine.recovery().unclean_logs()
        assert values_of(broker, "t", 2) == [b"a", b"b"]


def test_kill_closes_nothing_and_the_next_start_recovers_what_was_acknowledged() -> None:
    with Broker(topics={"t": 1}) as broker:
        assert produce(broker, "t", [b"%d" % number for number in range(100)]) == [None] * 100
        broker.restart()
        assert produce(broker, "t", [b"after"]) == [None]
        broker.kill()
        log = broker.directory / "t-0"
        assert not list(broker.directory.glob(".kafka_cleanshutdown"))
        assert not list(log.glob("*101.snapshot"))  # which a stop writes
        assert list(broker.directory.parent.glob("*.killed")) == []
        broker.start()
        assert broker.server.engine.recovery().unclean_logs()
        assert end_offset(broker, "t") == 101
        assert values_of(broker, "t", 101)[-1] == b"after"


def test_kill_under_load_loses_no_acknowledged_record() -> None:
    """The producer goes on over the kill, as a client of a broker that a supervisor starts again."""
    from testing.clients import producer

    with Broker(topics={"t": 1}) as broker:
        acknowledged: list[bytes | None] = []

        def note(error: KafkaError | None, message: Message[bytes, bytes]) -> None:
            if error is None:
                acknowledged.append(message.value())

        client = producer(broker, linger_ms=0, enable_idempotence=True)
        for number in range(300):
            value = b"%d" % number
            client.produce("t", value, on_delivery=note)
            client.poll(0)
            if number % 100 == 50:
                broker.kill()
                broker.start()
        assert client.flush(20) == 0
        assert len(acknowledged) == 300
        assert sorted(values_of(broker, "t", 300)) == sorted(value or b"" for value in acknowledged)


def test_brokers_have_nothing_in_common(broker: Broker) -> None:
    with Broker(topics={"only-here": 1}) as other:
        assert other.port != broker.port
        assert other.cluster_id != broker.cluster_id
        assert "only-here" not in broker.server.image.topics
        assert produce(other, "only-here", [b"a"]) == [None]
        other.kill()
        assert produce(broker, "t", [b"b"]) == [None]


def test_named_directory_is_kept_and_opened_again(tmp_path: Path) -> None:
    with Broker(directory=tmp_path / "kept", topics={"t": 1}) as first:
        assert produce(first, "t", [b"a"]) == [None]
        cluster_id = first.cluster_id
    with Broker(directory=tmp_path / "kept", topics={"t": 1}) as second:
        assert second.cluster_id == cluster_id
        assert values_of(second, "t", 1) == [b"a"]


LEFT = """
import gc, os, time
from kafkastore.testing import Broker, Cluster

gc.disable()

def left():
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

def one():
    with Broker(topics={"t": 1}) as broker:
        broker.faults.delay("Produce", ms=1)
        broker.kill()
        broker.start()
    assert not broker.settings.home.exists()
    with Cluster(2):
        pass

one()  # what the process keeps from its first broker on is no leak
before = left()
for _ in range(5):
    one()
assert left()[1] <= before[1] + 3, (before, left())  # at once: each broker has 11 descriptors
gc.collect()
end = time.monotonic() + 5  # a thread that was joined is a task of the system for a moment longer
while any(now > then for now, then in zip(left(), before)):
    assert time.monotonic() < end, (before, left())
"""


def test_broker_leaves_no_thread_no_descriptor_and_no_file() -> None:
    """In a process of its own, since clients of other tests leave theirs late; and at once, not when Python looks for
    rings of objects."""
    packages = str(Path(kafkastore.__file__).parents[1])
    subprocess.run([sys.executable, "-c", LEFT], check=True, env=os.environ | {"PYTHONPATH": packages}, timeout=60)


def test_loops_of_ended_brokers_are_let_go() -> None:
    import weakref

    with Broker() as broker:
        loop = weakref.ref(broker.server.services.loop)
    del broker
    gc.collect()
    assert loop() is None


def test_start_that_fails_says_why_and_leaves_nothing() -> None:
    before = set(threading.enumerate())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        broker = Broker(port=taken.getsockname()[1])
        with pytest.raises(StartupError, match="in use"), broker:
            pass
    assert not broker.settings.home.exists()
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"security_protocol": "TLS"}, "security_protocol=TLS is none of"),
        ({"sasl_mechanism": "GSSAPI"}, "sasl_mechanism=GSSAPI is none of"),
        ({"users": {"a": "b"}}, "need security_protocol=SASL_PLAINTEXT"),
        ({"client_certificates": True}, "client_certificates=True needs TLS"),
        ({"config": {"listeners": "PLAINTEXT://:1"}}, "config: listeners belongs to the broker of tests"),
        ({"config": {"num.partitions": "many"}}, "num.partitions"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence), Broker(**arguments):  # type: ignore[arg-type]
        pass


def test_directory_that_cannot_be_made_is_refused_with_a_sentence() -> None:
    with pytest.raises(StartupError, match="directory=/proc/none cannot be made: No such file"):
        Broker(directory="/proc/none")


def test_key_that_kafka_does_not_have_is_named(caplog: pytest.LogCaptureFixture) -> None:
    with Broker(config={"num.partition": 3}):
        assert "num.partition is ignored; did you mean num.partitions?" in caplog.text


async def test_starts_beside_the_loop_of_a_test() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    async with Broker(topics={"t": 1}) as broker:
        assert ticks, "the loop stood still while the broker started"
        assert await asyncio.to_thread(produce, broker, "t", [b"a"]) == [None]
    ticking.cancel()


def test_directory_of_a_dead_process_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkastore.testing.homes.MEMORY", str(tmp_path))
    _remove_abandoned.cache_clear()
    dead = tmp_path / f"{PREFIX}dead"
    dead.mkdir()
    (dead / LOCK).touch()
    living = Home(None)
    assert living.path.parent == tmp_path
    assert not dead.exists()
    _remove_abandoned.cache_clear()
    Home(None).close()
    assert living.path.exists()  # it is in use
    living.close()
    assert not living.path.exists()
