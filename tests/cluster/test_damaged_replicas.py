"""A replica whose log lost durable records leaves the in-sync set and is fetched again from its leader."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer

from cluster.cluster import Cluster
from peer.broker_process import wait_until
from peer.topics import place_of, read_topic

TOPIC = "orders"
RECORDS = 2500


def harm(kind: str, folder: Path) -> None:
    files = sorted(folder.glob("*.log"))
    assert len(files) > 2
    match kind:
        case "the last segment emptied":
            files[-1].write_bytes(b"")
        case "the first segment deleted":
            files[0].unlink()
        case "a bit flipped in a sealed segment":
            content = bytearray(files[1].read_bytes())
            content[len(content) // 2] ^= 1
            files[1].write_bytes(content)
        case "the directory deleted":
            shutil.rmtree(folder)


HARMS = (
    "the last segment emptied",
    "the first segment deleted",
    "a bit flipped in a sealed segment",
    "the directory deleted",
)


@pytest.mark.parametrize("is_clean", [True, False], ids=["stopped", "killed"])
def test_damaged_replica_is_fetched_again_from_its_leader(tmp_path: Path, *, is_clean: bool) -> None:
    fast = {"log.flush.offset.checkpoint.interval.ms": "200", "replica.high.watermark.checkpoint.interval.ms": "200"}
    with Cluster(tmp_path, overrides=fast).running() as cluster:
        cluster.create(TOPIC, len(HARMS), 3, {"segment.bytes": str(1 << 20), "flush.ms": "500"})
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "log_level": 0})
        for number in range(len(HARMS) * RECORDS):
            producer.produce(TOPIC, f"{number}.".ljust(1000), partition=number % len(HARMS))
            producer.poll(0)
        assert producer.flush(60) == 0
        cluster.wait_in_sync(TOPIC, 3)
        broker = cluster.broker(2)
        checkpoints = [broker.log_dir / f"{name}-offset-checkpoint" for name in ("replication", "recovery-point")]
        rows = [f"{TOPIC} {number} {RECORDS}\n" for number in range(len(HARMS))]
        wait_until(
            lambda: all(path.exists() and all(row in path.read_text() for row in rows) for path in checkpoints),
            30,
            "everything is flushed and checkpointed",
        )
        if is_clean:
            assert broker.stop() == 0
        else:
            broker.kill()
        for number, kind in enumerate(HARMS):
            harm(kind, broker.log_dir / f"{TOPIC}-{number}")
        broker.start()
        cluster.wait_in_sync(TOPIC, 3)
        for number, kind in enumerate(HARMS):
            # after a kill of a tenth of a second, the other brokers' metadata may still have the broker in sync
            wait_until(partial(cluster.has_equal_logs, TOPIC, number), 60, f"{kind}: all replicas agree")
        assert cluster.log_bytes(TOPIC)[0]
        read = [place_of(message) for message in read_topic(cluster.bootstrap, TOPIC, limit_s=60, check_crcs=True)]
        assert sorted(read) == [(partition, offset) for partition in range(len(HARMS)) for offset in range(RECORDS)]
        said = [line for line in broker.output().splitlines() if "WARNING" in line]
        for number, kind in enumerate(HARMS):
            assert any(f"{TOPIC}-{number}" in line for line in said), kind
