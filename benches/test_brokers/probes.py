"""What a broker of tests can do, asked by librdkafka: each probe is one thing that a test may need, and passes or
not."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

LIMIT_S: Final = 8.0
READ_LIMIT_S: Final = 30.0
"""Tansu takes 23 s to give a member its first record."""
HOUSEKEEPING_S: Final = 45.0
"""Apache Kafka begins with it after 30 s."""


def transactions(servers: str) -> None:
    """An aborted one is not read, a committed one is."""
    _topic(servers, "transactions")
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "one", "log_level": 0})
    producer.init_transactions(LIMIT_S)
    for value, end in ((b"aborted", producer.abort_transaction), (b"committed", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce("transactions", value, partition=0)
        producer.flush(LIMIT_S)
        end(LIMIT_S)
    read = _read(servers, "transactions", group="of-transactions")
    assert read == b"committed", f"{read!r} is read"


def groups(servers: str) -> None:
    """A member that joins after another goes on where that one committed."""
    _topic(servers, "groups")
    _produce(servers, "groups", b"a", b"b")
    assert _read(servers, "groups", group="classic") == b"a"
    assert _read(servers, "groups", group="classic") == b"b"


def new_groups(servers: str) -> None:
    """The same by the protocol of KIP-848."""
    _topic(servers, "new-groups")
    _produce(servers, "new-groups", b"a", b"b")
    for value in (b"a", b"b"):
        assert _read(servers, "new-groups", group="new", **{"group.protocol": "consumer"}) == value


def deleted_records(servers: str) -> None:
    _topic(servers, "deleted")
    _produce(servers, "deleted", b"a", b"b")
    _done(_admin(servers).delete_records([TopicPartition("deleted", 0, 1)]))
    assert _read(servers, "deleted", group="of-deleted") == b"b"


def compaction(servers: str) -> None:
    """Of two records of a key the first goes. Brokers that take long by default are asked for haste by the topic."""
    hasty = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.001"}
    _topic(servers, "compacted", hasty | {"max.compaction.lag.ms": "1"})
    for value in (b"old", b"new"):
        _produce(servers, "compacted", value)
        time.sleep(0.05)
    _produce(servers, "compacted", b"last", key=b"other")
    ends = time.monotonic() + HOUSEKEEPING_S
    while (first := _read(servers, "compacted", group=f"compacted-{time.monotonic_ns()}")) != b"new":
        assert time.monotonic() < ends, f"{first!r} is the first record"
        time.sleep(0.5)


def retention(servers: str) -> None:
    """Records of long ago go."""
    _topic(servers, "retention", {"retention.ms": "1000", "segment.ms": "1"})
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    producer.produce("retention", b"old", partition=0, timestamp=int(time.time() * 1000) - 3_600_000)
    assert producer.flush(LIMIT_S) == 0
    ends = time.monotonic() + HOUSEKEEPING_S
    client = Consumer({"bootstrap.servers": servers, "group.id": "of-retention", "log_level": 0})
    while client.get_watermark_offsets(TopicPartition("retention", 0), LIMIT_S)[0] == 0:
        assert time.monotonic() < ends, "the log starts at 0"
        time.sleep(0.5)
    client.close()


def configs(servers: str) -> None:
    """A topic's key is changed, and described so."""
    _topic(servers, "configs")
    entry = ConfigEntry("retention.ms", "1234", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, "configs", incremental_configs=[entry])
    _done(_admin(servers).incremental_alter_configs([resource]))
    (described,) = _done(_admin(servers).describe_configs([ConfigResource(ResourceType.TOPIC, "configs")]))
    assert described["retention.ms"].value == "1234"


def wrong_config(servers: str) -> None:
    """A value that Kafka refuses is refused."""
    try:
        _topic(servers, "wrong", {"retention.ms": "soon"})
    except KafkaException as refused:
        assert refused.args[0].name() == "INVALID_CONFIG"  # noqa: PT017 - no pytest here
        return
    raise AssertionError("it was taken")


PROBES: Final[dict[str, Callable[[str], None]]] = {
    "transactions": transactions,
    "groups": groups,
    "groups of KIP-848": new_groups,
    "DeleteRecords": deleted_records,
    "retention": retention,
    "compaction": compaction,
    "topic configs": configs,
    "wrong configs refused": wrong_config,
}


def refusal(servers: str, name: str) -> str:
    """Why the probe does not pass, "" when it does. In a process of its own: librdkafka ends a process with an answer
    that it does not understand."""
    command = [sys.executable, "-m", "test_brokers.probes", servers, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stderr.strip().rpartition("\n")[2] or "failed" if done.returncode else ""


@cache
def _admin(servers: str) -> AdminClient:
    """Kept: the futures of one that is gone are never done."""
    return AdminClient({"bootstrap.servers": servers, "log_level": 0, "socket.timeout.ms": 5000})


def _done(futures: dict[Any, Any]) -> list[Any]:
    return [future.result(LIMIT_S) for future in futures.values()]


def _topic(servers: str, name: str, config: dict[str, str] | None = None) -> None:
    """The mock of librdkafka makes topics only for a client that asks for them."""
    try:
        _done(_admin(servers).create_topics([NewTopic(name, 1, 1, config=config or {})]))
    except KafkaException as failed:
        if failed.args[0].name() != "_TIMED_OUT":
            raise
        Producer({"bootstrap.servers": servers, "log_level": 0}).list_topics(name, LIMIT_S)


def _produce(servers: str, topic: str, *values: bytes, key: bytes = b"key") -> None:
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for value in values:
        producer.produce(topic, value, key, partition=0)
    assert producer.flush(LIMIT_S) == 0, "not acknowledged"


def _read(servers: str, topic: str, group: str, **more: str) -> bytes | None:
    """One record, whose offset is committed."""
    settings = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, "log_level": 0}
    consumer = Consumer({"bootstrap.servers": servers, **settings, **more})
    consumer.subscribe([topic])
    message = consumer.poll(READ_LIMIT_S)
    assert message is not None, "nothing is read"
    assert message.error() is None, message.error()
    consumer.commit(message=message, asynchronous=False)
    consumer.close()
    return message.value()


if __name__ == "__main__":
    PROBES[sys.argv[2]](sys.argv[1])
