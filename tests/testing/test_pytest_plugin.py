"""The fixtures of the pytest plugin, in test runs of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kafkastore

PLUGIN = "kafkastore.testing.pytest_plugin"
PACKAGES = str(Path(kafkastore.__file__).parents[1])

PRODUCE = """
from confluent_kafka import Producer

def produce(broker, topic, count=1, partition=0):
    errors = []
    client = Producer(broker.librdkafka_properties())
    for _ in range(count):
        client.produce(topic, b"a", partition=partition, on_delivery=lambda error, _: errors.append(error))
    client.flush(10)
    assert errors == [None] * count
"""


def run(folder: Path, tests: str, *options: str, ini: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\n{ini}")
    (folder / "test_it.py").write_text(PRODUCE + tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", *options]
    environment = os.environ | {"PYTHONPATH": PACKAGES, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=100
    )


def test_fixtures_start_one_broker_and_give_each_test_a_topic(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import asyncio
import pytest

seen = []

def test_one(kafka_broker, kafka_topic):
    produce(kafka_broker, kafka_topic)
    assert len(kafka_broker.server.image.topics[kafka_topic].partitions) == 3
    seen.append((kafka_broker.bootstrap_servers, kafka_topic))
    kafka_broker.kill()

@pytest.mark.kafka_topic(partitions=2, config={"cleanup.policy": "compact"})
@pytest.mark.parametrize("what", ["a/b c"])
def test_two(kafka_broker, kafka_topic, what):
    topic = kafka_broker.server.image.topics[kafka_topic]
    assert (len(topic.partitions), topic.configs) == (2, {"cleanup.policy": "compact"})
    (address, other) = seen[0]
    assert (kafka_broker.bootstrap_servers, kafka_topic == other) == (address, False)
    assert other in kafka_broker.server.image.topics  # its broker was killed, so nobody could delete it

def test_three(kafka_broker, kafka_topic):
    assert [name for name in kafka_broker.server.image.topics if name.startswith("test_two")] == []
    assert kafka_broker.client_properties()["security.protocol"] == "SASL_PLAINTEXT"

async def test_in_a_loop(kafka_broker, kafka_topic):
    await asyncio.to_thread(produce, kafka_broker, kafka_topic)
    order = kafka_broker.faults.answer("Produce", error="NOT_ENOUGH_REPLICAS", times=1)
    await asyncio.to_thread(produce, kafka_broker, kafka_topic)
    assert order.count == 1

def test_of_a_cluster(kafka_cluster):
    kafka_cluster.create_topic("t")
    produce(kafka_cluster, "t")
    assert len(kafka_cluster.brokers) == 2
""",
        "-p",
        "pytest_asyncio.plugin",
        "--strict-markers",
        ini="asyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
        "kafka_config =\n    num.partitions=3\n    auto.create.topics.enable=false\n"
        "kafka_security_protocol = SASL_PLAINTEXT\nkafka_users =\n    alice=secret\nkafka_brokers = 2\n",
    )
    assert "5 passed" in done.stdout, done.stdout + done.stderr


def test_each_worker_of_xdist_has_a_broker_of_its_own(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import os
import pytest

@pytest.mark.parametrize("number", range(8))
def test_number(kafka_broker, kafka_topic, number):
    produce(kafka_broker, kafka_topic)
    mine = [name for name in kafka_broker.server.image.topics if name.startswith("test_")]
    assert mine == [kafka_topic]  # those of other workers are elsewhere
    worker = os.environ["PYTEST_XDIST_WORKER"]
    with open(f"brokers-{worker}", "a") as file:
        file.write(kafka_broker.cluster_id + "\\n")
""",
        "-p",
        "xdist.plugin",
        "-n",
        "4",
    )
    assert "8 passed" in done.stdout, done.stdout + done.stderr
    of_workers = [set(path.read_text().split()) for path in tmp_path.glob("brokers-*")]
    assert [len(one) for one in of_workers] == [1] * len(of_workers)
    assert len(set().union(*of_workers)) == len(of_workers) > 1


def test_run_without_fixtures_imports_nothing_of_a_broker(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import sys

def test_nothing():
    names = {name for name in sys.modules if name.startswith("kafkastore")}
    assert names == {"kafkastore", "kafkastore.exports", "kafkastore.testing", "kafkastore.testing.pytest_plugin"}
""",
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_import_needs_no_pytest() -> None:
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "import kafkastore.testing\n"
        "assert not {'asyncio', 'kafkastore._core', 'kafkastore.server'} & set(sys.modules)\n"
        "kafkastore.testing.Broker, kafkastore.testing.Cluster"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": PACKAGES}, check=True)


@pytest.mark.parametrize("ini", ["kafka_config =\n    num.partitions\n", "kafka_security_protocol = TLS\n"])
def test_wrong_ini_is_refused_with_a_sentence(tmp_path: Path, ini: str) -> None:
    done = run(tmp_path, "\ndef test_it(kafka_broker):\n    pass\n", ini=ini)
    assert "is not name=value" in done.stdout or "is none of PLAINTEXT" in done.stdout, done.stdout
