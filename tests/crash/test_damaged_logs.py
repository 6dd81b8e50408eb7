"""Log directories that somebody damaged between two runs: the start refuses what it would lose, and names what it cuts.

The random damages are in ``rust/broker/logs/losses/tests/damages.rs``; here a whole broker meets one of each kind.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Producer

from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.topics import create_topic, end_offsets, read_topic

RECORDS = 3000
TOPIC = "orders"


@pytest.fixture(autouse=True)
def _ours(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--against") != "kafkastore":
        pytest.skip("Apache Kafka serves what is left")


def filled(factory: BrokerFactory) -> BrokerProcess:
    """A broker with two partitions of three thousand records of 1,000 bytes, in segments of 1 MiB, all of them
    checkpointed."""
    broker = factory({"replica.high.watermark.checkpoint.interval.ms": "200"})
    create_topic(broker.bootstrap, TOPIC, 2, {"segment.bytes": str(1 << 20)})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "log_level": 0})
    for number in range(2 * RECORDS):
        producer.produce(TOPIC, f"{number}.".ljust(1000), partition=number % 2)
        producer.poll(0)
    assert producer.flush(60) == 0
    assert end_offsets(broker.bootstrap, TOPIC) == {0: (0, RECORDS), 1: (0, RECORDS)}
    checkpoint = broker.log_dir / "replication-offset-checkpoint"
    row = f"{TOPIC} 1 {RECORDS}"
    wait_until(lambda: checkpoint.exists() and row in checkpoint.read_text(), 30, "the high watermark is checkpointed")
    return broker


def logs(broker: BrokerProcess, partition: int = 1) -> list[Path]:
    return sorted((broker.log_dir / f"{TOPIC}-{partition}").glob("*.log"))


def refusal(broker: BrokerProcess) -> str:
    broker.launch()
    assert broker.wait_until_ended(60) != 0
    broker.kill()  # closes what it printed to
    output = broker.output()
    assert not re.search("Traceback|panicked", output), output
    return output.strip().splitlines()[-1]


@pytest.mark.parametrize("what", ["last segment", "first segment", "directory"])
def test_start_without_what_the_clean_stop_left_is_refused_until_the_loss_is_accepted(
    broker_factory: BrokerFactory, what: str
) -> None:
    broker = filled(broker_factory)
    assert broker.stop() == 0
    gone = {
        "last segment": logs(broker)[-1],
        "first segment": logs(broker)[0],
        "directory": broker.log_dir / "orders-1",
    }[what]
    aside = broker.folder / "aside"
    shutil.move(gone, aside)
    said = refusal(broker)
    assert str(broker.log_dir / "orders-1") in said
    accept = re.search(r"kafkastore\.accept\.log\.loss=(orders-1:\d+)$", said)
    assert accept is not None, said
    assert refusal(broker) == said, "nothing was changed"
    shutil.copytree(aside, gone) if aside.is_dir() else shutil.copy2(aside, gone)
    broker.start()
    assert end_offsets(broker.bootstrap, TOPIC) == {0: (0, RECORDS), 1: (0, RECORDS)}, "it was put back"
    assert broker.stop() == 0
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    broker.overrides["kafkastore.accept.log.loss"] = accept[1]
    broker.start()
    ends = end_offsets(broker.bootstrap, TOPIC)
    assert ends[0] == (0, RECORDS)
    low, high = ends[1]
    assert high - low < RECORDS
    found = [message for message in read_topic(broker.bootstrap, TOPIC) if message.partition() == 1]
    assert len(found) == high - low


def test_bit_that_flips_after_a_kill_is_cut_with_a_warning_and_kept(broker_factory: BrokerFactory) -> None:
    broker = filled(broker_factory)
    broker.kill()
    path = logs(broker)[-1]
    whole = path.read_bytes()
    base = int(path.stem)
    position = len(whole) // 2
    damaged = whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :]
    path.write_bytes(damaged)
    broker.start()
    high = end_offsets(broker.bootstrap, TOPIC)[1][1]
    assert base <= high < RECORDS
    line = next(line for line in broker.output().splitlines() if "orders-1" in line and "cut at position" in line)
    assert "WARNING" in line
    assert str(path) in line
    assert f"offsets {high} to {RECORDS - 1}" in line
    [kept] = path.parent.glob("*.cut")
    cut_at = int(kept.name.split(".")[1])
    assert str(kept) in line
    assert kept.read_bytes() == damaged[cut_at:]
