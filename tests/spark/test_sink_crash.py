"""Kills of the driver, with its tasks in local mode, while a streaming query writes exactly once: consumers of
committed records see the rows of the input, each once. With our broker; `make proof` with Apache Kafka, too.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from peer.broker_factory import BrokerFactory
from peer.broker_process import free_port, wait_until
from peer.topics import create_topic, read_topic, wait_until_stable
from proof.scope import played
from spark.driver import LIMIT_S, Driver
from spark.request_trap import RequestTrap, Trap
from spark.session import Cluster
from spark.test_sink import lines, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.broker_process import BrokerProcess

pytestmark = pytest.mark.timeout(600)

FILES = 40
LINES = 300
KILLS = int(os.environ.get("SINK_KILLS", str(played(0, 5))))
"""Further kills, at random times; each costs the start of a JVM."""
PRODUCE, END_TXN = 0, 26
"""A batch of three tasks has one END_TXN for its decision, one for each task, and one to mark it as carried out."""
EVERY_TRAP = [
    Trap(PRODUCE, 3, is_forwarded=True),
    Trap(END_TXN, 5, is_forwarded=False),  # the decision of the second batch is not made
    Trap(END_TXN, 5, is_forwarded=True),  # it is made, and nobody has heard of it
    Trap(END_TXN, 6, is_forwarded=True),  # one task's records are committed, not the others'
    Trap(END_TXN, 8, is_forwarded=True),  # all are
]
TRAPS = played([EVERY_TRAP[1], EVERY_TRAP[3]], EVERY_TRAP)
"""The part has both ways out of a kill: the next driver writes the batch again, and it carries on with what was decided
when a part is committed already."""


def committed(broker: BrokerProcess, topic: str) -> Counter[bytes | None]:
    return Counter(message.value() for message in read_topic(broker.bootstrap, topic, isolation_level="read_committed"))


@pytest.fixture(params=played(["kafkastore"], ["kafkastore", "kafka"]))
def trapped(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[BrokerProcess, RequestTrap]]:
    """A broker that clients reach by the port of a trap alone."""
    factory = BrokerFactory(request.param, tmp_path / "brokers")
    port = free_port()
    broker = factory({"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}, start=False)
    trap = RequestTrap(port, broker.port)
    broker.start()
    yield broker, trap
    trap.close()
    factory.close()


def test_a_driver_that_is_killed_at_any_step_of_a_commit_loses_and_doubles_nothing(
    trapped: tuple[BrokerProcess, RequestTrap], tmp_path: Path
) -> None:
    broker, trap = trapped
    topic = create_topic(broker.bootstrap, "killed", 3)
    for number in range(FILES):
        lines(tmp_path / "in", number, LINES)
    job: dict[str, object] = {
        "bootstrap": broker.bootstrap,
        "topic": topic,
        "input": str(tmp_path / "in"),
        "checkpoint": str(tmp_path / "checkpoint"),
    }
    chosen = random.Random(5)
    seen = []
    for step in [*TRAPS, *[None] * KILLS]:
        driver = Driver("spark.sink_job", job, tmp_path / "driver.log")
        try:
            if step is not None:
                trap.set(step, driver.kill)
                assert trap.has_sprung.wait(LIMIT_S), f"no request for {step}; {driver.log()}"
            else:
                driver.wait_for_start()
                time.sleep(chosen.uniform(1.0, 5.0))
        finally:
            driver.kill()
        found = committed(broker, topic)
        assert set(found.values()) <= {1}, f"a record is there twice after {step}"
        seen.append(len(found))
    driver = Driver("spark.sink_job", job, tmp_path / "driver.log")
    try:
        driver.wait()
    finally:
        driver.kill()
    assert committed(broker, topic) == numbers(FILES * LINES)
    assert seen[len(TRAPS) - 1] < FILES * LINES, f"the query had ended before the last step: {seen}"
    wait_until_stable(broker.bootstrap, topic, LIMIT_S)


@pytest.mark.proof  # half a minute of Spark's own retries; the driver's death above plays the same commit
def test_failed_slow_and_killed_tasks_lose_and_double_nothing(kafkastore_broker: BrokerProcess, tmp_path: Path) -> None:
    """On a standalone cluster: each batch has a task that fails at first and one whose first attempt is slow, so that
    another is begun beside it; and an executor is killed."""
    broker, files, count = kafkastore_broker, 4, 600
    topic = create_topic(broker.bootstrap, "troubles", 3)
    for number in range(files):
        lines(tmp_path / "in", number, count)
    cluster = Cluster(tmp_path)
    job: dict[str, object] = {
        "master": cluster.master,
        "bootstrap": broker.bootstrap,
        "topic": topic,
        "input": str(tmp_path / "in"),
        "checkpoint": str(tmp_path / "checkpoint"),
        "troubles": True,
        "options": {"kafka.transaction.timeout.ms": "600000"},
        "conf": {
            "spark.cores.max": "2",
            "spark.executor.cores": "1",
            "spark.speculation": "true",
            "spark.speculation.interval": "50ms",
            "spark.speculation.quantile": "0.5",
            "spark.speculation.multiplier": "1.1",
            "spark.speculation.minTaskRuntime": "200ms",
        },
    }
    driver = Driver("spark.sink_job", job, tmp_path / "driver.log")
    try:
        wait_until(lambda: len(read_topic(broker.bootstrap, topic)) > 0, LIMIT_S, "a batch is written")
        os.kill(cluster.executors()[0], signal.SIGKILL)
        driver.wait()
    finally:
        driver.kill()
        cluster.close()
    trimmed = Counter((value or b"").strip() for value in committed(broker, topic).elements())
    assert trimmed == numbers(files * count)
    wait_until_stable(broker.bootstrap, topic, LIMIT_S)
