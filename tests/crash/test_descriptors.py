"""A process with few descriptors: clients wait or are served, partitions beyond the limit serve and start again, stops
are clean.

The limits of the broker's process are set as a service manager or a shell would.
"""

from __future__ import annotations

import re
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from crash.load import Load, assert_all_are_read_back
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.topics import create_topic
from peer.wire_socket import WireSocket

LIMIT = 200
PARTITIONS = 300
ROLLS_OFTEN = {"log.index.size.max.bytes": "40", "log.index.interval.bytes": "0"}


@pytest.fixture(autouse=True)
def _ours(against: str) -> None:
    if against == "kafka":
        pytest.skip("Apache Kafka keeps two files and two maps of each segment open, and ends at its limit")


def with_limit(broker: BrokerProcess, soft: int, hard: int) -> BrokerProcess:
    broker.prefix = ("sh", "-c", f'ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$@"', "sh")
    return broker


def descriptors(broker: BrokerProcess) -> int:
    return sum(1 for _ in Path(f"/proc/{broker.pid}/fd").iterdir())


def cpu_s(broker: BrokerProcess) -> float:
    fields = Path(f"/proc/{broker.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def assert_stops_cleanly(broker: BrokerProcess) -> None:
    assert broker.stop() == 0, broker.output()[-4000:]
    assert not re.search("Traceback|panicked|ERROR", broker.output()), broker.output()[-4000:]


@pytest.fixture
def idle() -> Iterator[ExitStack]:
    with ExitStack() as connections:
        yield connections


def connect(broker: BrokerProcess, connections: ExitStack, count: int) -> None:
    """Begins as many connections as given; nobody waits for them."""
    for _ in range(count):
        one = connections.enter_context(socket.socket())
        one.setblocking(False)
        one.connect_ex((broker.host, broker.port))


def test_idle_connections_beyond_the_limit_wait_while_clients_are_served_and_segments_roll(
    broker_factory: BrokerFactory, idle: ExitStack
) -> None:
    broker = with_limit(broker_factory(ROLLS_OFTEN, start=False), LIMIT, LIMIT).start()
    topic = create_topic(broker.bootstrap, "t", 4)
    load = Load(broker, topic, "a", 4)
    load.run_until_acknowledged(500)
    before = len(list(broker.log_dir.glob("t-*/*.log")))

    connect(broker, idle, 2 * LIMIT)
    wait_until(lambda: "accepting connections pauses" in broker.output(), 30, "accepting pauses")
    load.run_until_acknowledged(3000)
    load.finish()
    assert len(list(broker.log_dir.glob("t-*/*.log"))) > before + 3
    assert descriptors(broker) <= LIMIT
    assert broker.output().count("accepting connections pauses") == 1
    begin = cpu_s(broker)
    with suppress(OSError), WireSocket(broker.port, timeout_s=2.0) as late:
        pytest.fail(f"it is to wait, and the broker not to spin meanwhile: {late.has_broker()}")
    assert cpu_s(broker) - begin < 0.5

    idle.close()
    wait_until(broker._answers, 10, "connections are accepted again")
    assert_all_are_read_back(broker, topic, [load])

    connect(broker, idle, 2 * LIMIT)
    wait_until(lambda: descriptors(broker) > LIMIT / 2, 10, "the connections are there")
    assert_stops_cleanly(broker)


def test_more_partitions_than_descriptors_are_written_read_and_started_again(broker_factory: BrokerFactory) -> None:
    broker = with_limit(broker_factory(start=False), LIMIT, LIMIT).start()
    topic = create_topic(broker.bootstrap, "t", PARTITIONS)
    loads = []
    peak = 0
    for name, end in (("a", "stop"), ("b", "kill"), ("c", "stop")):
        load = Load(broker, topic, name, PARTITIONS, retries=1000)
        load.run_until_acknowledged(2 * PARTITIONS)
        load.finish()
        loads.append(load)
        assert_all_are_read_back(broker, topic, loads)
        peak = max(peak, descriptors(broker))
        if end == "stop":
            assert_stops_cleanly(broker)
        else:
            broker.kill()
        broker.start()
    assert LIMIT / 2 < peak <= LIMIT
    assert_all_are_read_back(broker, topic, loads)
    assert_stops_cleanly(broker)


def test_soft_limit_is_raised_to_the_hard_one_and_a_low_one_is_logged(broker_factory: BrokerFactory) -> None:
    broker = with_limit(broker_factory(start=False), 100, 1000).start()
    limits = resource.prlimit(broker.pid, resource.RLIMIT_NOFILE)
    assert limits == (1000, 1000)
    said = re.compile("the limit of open files is 1000: at most [0-9]+ connections")
    wait_until(lambda: said.search(broker.output()), 10, "a low limit is said")


@pytest.mark.parametrize("limit", [8, 63])
def test_start_without_descriptors_says_so_in_one_sentence(broker_factory: BrokerFactory, limit: int) -> None:
    broker = with_limit(broker_factory(start=False), limit, limit)
    broker.launch()
    assert broker.wait_until_ended() == 1, broker.output()
    lines = [line for line in broker.output().splitlines() if not line.startswith("[")]
    assert len(lines) == 1, broker.output()
    assert re.match(f"kafkastore: the limit of open files is {limit}, .*ulimit -n", lines[0]), lines


def test_start_with_the_fewest_descriptors_serves(broker_factory: BrokerFactory) -> None:
    broker = with_limit(broker_factory(start=False), 64, 64).start()
    load = Load(broker, create_topic(broker.bootstrap, "t", 40), "a", 40, retries=1000)
    load.run_until_acknowledged(200)
    load.finish()
    assert_all_are_read_back(broker, "t", [load])
    assert_stops_cleanly(broker)
