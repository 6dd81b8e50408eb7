"""A broker that is back answers no client until it knows the cluster's metadata."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

if TYPE_CHECKING:
    from cluster.cluster import Cluster

TOPIC = "orders"
SETTLED = 20
"""How many equal answers in a row are enough."""


def test_restarted_broker_never_answers_metadata_without_topics(cluster: Cluster) -> None:
    admin = cluster.admin()
    admin.create_topics([NewTopic(TOPIC, 3, 3)], operation_timeout=20)[TOPIC].result(30)
    cluster.wait_in_sync(TOPIC, 3)
    for node in (2, 3):
        broker = cluster.broker(node)
        broker.kill()
        broker.launch()
        told: list[tuple[int, int]] = []
        deadline = time.monotonic() + 30
        while len(told) < SETTLED and time.monotonic() < deadline:
            client = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
            named = (
                (TOPIC,) if len(told) % 2 else ()
            )  # a topic that is missing may have to be made: that is another way
            try:
                found = client.list_topics(*named, timeout=0.5)
            except KafkaException:
                continue  # the broker does not listen yet
            partitions = found.topics[TOPIC].partitions if TOPIC in found.topics else ()
            told.append((len(partitions), min(1, len(found.brokers))))
        assert told == [(3, 1)] * SETTLED
        cluster.wait_in_sync(TOPIC, 3)
