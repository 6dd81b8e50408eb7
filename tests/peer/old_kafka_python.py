"""A client over kafka-python 1.4.7: one call as JSON on standard input, its result as JSON on standard output.

It is a program of its own, run with a folder of that kafka-python (``old_programs.py``): the tests' environment has the
newest one. It imports nothing of ours and judges nothing; the test that calls it does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

LIMIT_S = 30


def produce(bootstrap: str, topic: str, api_version: list[int], codec: str, values: list[str]) -> list[int]:
    """The offsets of the values in partition 0."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        api_version=tuple(api_version),
        compression_type=None if codec == "none" else codec,
        acks="all",
        linger_ms=50,
    )
    sent = [
        producer.send(topic, value.encode(), key=b"old", partition=0, timestamp_ms=1_700_000_000_000 + i)
        for i, value in enumerate(values)
    ]
    producer.flush(LIMIT_S)
    offsets: list[int] = [one.get(LIMIT_S).offset for one in sent]
    producer.close()
    return offsets


def read(
    bootstrap: str, topic: str, api_version: list[int], count: int, group: str | None = None
) -> dict[str, list[Any] | int | None]:
    """``count`` records as offset, value and timestamp: those of partition 0, or with a group those that follow its
    commit, which is committed again, and told."""
    version = tuple(api_version)
    is_member = group is not None and version >= (0, 9)
    consumer = KafkaConsumer(
        *([topic] if is_member else []),
        bootstrap_servers=bootstrap,
        api_version=version,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=LIMIT_S * 1000,
    )
    partition = TopicPartition(topic, 0)
    if not is_member:
        consumer.assign([partition])
    records: list[Any] = []
    for record in consumer:
        records.append([record.offset, record.value.decode(), record.timestamp])
        if len(records) == count:
            break
    committed = None
    if group is not None:
        consumer.commit()
        committed = consumer.committed(partition)
    ends = [consumer.beginning_offsets([partition])[partition], consumer.end_offsets([partition])[partition]]
    consumer.close()
    return {"records": records, "committed": committed, "ends": ends}


def topics(bootstrap: str, topic: str) -> dict[str, Any]:
    """Creates a topic, describes its configuration, lists groups and deletes the topic."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    created = admin.create_topics([NewTopic(topic, 2, 1)]).topic_errors
    groups = admin.list_consumer_groups()
    deleted = admin.delete_topics([topic]).topic_error_codes
    admin.close()
    return {"created": created, "groups": groups, "deleted": deleted}


CALLS: dict[str, Callable[..., Any]] = {"produce": produce, "read": read, "topics": topics}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(CALLS[asked.pop("call")](**asked), sys.stdout)
