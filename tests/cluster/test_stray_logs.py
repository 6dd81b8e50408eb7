"""``kafkastore stray adopt`` brings back logs that a cluster has set aside; they are replicated again."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from confluent_kafka import Producer

from cluster.cluster import Cluster
from peer.broker_process import wait_until
from peer.java_tools import JavaTools
from peer.kafkastore_broker import executable
from peer.topics import place_of, read_topic

TOPIC = "orders"
RECORDS = 1000
PARTITIONS = 2


def stray(*arguments: str) -> str:
    done = subprocess.run([executable(), "stray", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def test_topic_that_the_metadata_lost_is_adopted_by_one_broker_and_replicated_again(
    tmp_path: Path, java: JavaTools
) -> None:
    with Cluster(tmp_path).running() as cluster:
        cluster.stop()
        for suffix in ("", "-wal", "-shm", "-mark"):  # a copy from before the topic was created
            if (source := tmp_path / f"metadata.sqlite{suffix}").exists():
                shutil.copy(source, tmp_path / f"kept{suffix}")
        cluster.start_brokers()
        cluster.create(TOPIC, PARTITIONS, 3, {"retention.ms": "-1"})
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        for number in range(RECORDS):
            producer.produce(TOPIC, f"{number}", partition=number % PARTITIONS)
        assert producer.flush(60) == 0
        cluster.wait_in_sync(TOPIC, 3)
        cluster.stop()
        properties = [str(broker.properties_file) for broker in cluster.brokers]
        backup = str(tmp_path / "backup")
        for suffix in ("", "-wal", "-shm", "-mark"):
            (tmp_path / f"metadata.sqlite{suffix}").unlink(missing_ok=True)
            if (kept := tmp_path / f"kept{suffix}").exists():
                shutil.copy(kept, tmp_path / f"metadata.sqlite{suffix}")
        subprocess.run([executable(), "metadata", "backup", backup, properties[0]], check=True, capture_output=True)
        subprocess.run([executable(), "metadata", "restore", backup, properties[0]], check=True, capture_output=True)
        cluster.start_brokers()
        assert TOPIC not in cluster.admin().list_topics(timeout=10).topics
        cluster.stop()
        listed = stray("list", properties[1]).splitlines()
        assert len(listed) == PARTITIONS
        assert all(
            f"{RECORDS // PARTITIONS} records, offsets 0 to {RECORDS // PARTITIONS - 1}" in one for one in listed
        )
        assert "serves orders with 2 partitions" in stray("adopt", TOPIC, properties[1])
        cluster.start_brokers()
        wait_until(lambda: TOPIC in cluster.admin().list_topics(timeout=10).topics, 30, "the topic is there again")
        assert {cluster.leader(TOPIC, number) for number in range(PARTITIONS)} == {2}
        read = [place_of(message) for message in read_topic(cluster.bootstrap, TOPIC, limit_s=60, check_crcs=True)]
        expected = [(number, offset) for number in range(PARTITIONS) for offset in range(RECORDS // PARTITIONS)]
        assert sorted(read) == expected
        plan = tmp_path / "plan.json"
        moves = [{"topic": TOPIC, "partition": number, "replicas": [2, 1, 3]} for number in range(PARTITIONS)]
        plan.write_text(json.dumps({"version": 1, "partitions": moves}))
        given = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(plan), "--execute")
        assert java.tool("kafka-reassign-partitions", *given).exit == 0
        cluster.wait_in_sync(TOPIC, 3)
        for number in range(PARTITIONS):
            one, two, three = cluster.log_bytes(TOPIC, number)
            assert one == two == three
        assert len(stray("list", properties[0]).splitlines()) == PARTITIONS, "the others keep theirs"
