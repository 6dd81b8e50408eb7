"""Fetches of consumers and followers, sent unchanged to the leader and the followers of a partition on three brokers in
racks a, b and c (KIP-392).

The answers are written in a form that two implementations can share. ``apache-kafka-4.4.0-closest-replica.json`` has
Apache Kafka's answers. Run as a program, with the addresses of three brokers and the process id of the third, this
module prints their answers::

    cd tests && python -m cluster.closest_replica 127.0.0.1:9092 127.0.0.1:9093 127.0.0.1:9094 PID

The brokers must be new, have the node ids 1 to 3, ``replica.selector.class`` set to the RackAwareReplicaSelector, and
long sessions (a minute), so that a broker that hangs stays in sync: the third is stopped for a moment, so that the high
watermark stands still.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from parity.batch import record_batch
from parity.raw_client import RawClient
from peer.broker_process import hang, wait_until

TOPIC = "closest"
ON_TWO = "on-two"
RECORDS = 10
LIMIT_S = 30.0
WAIT_MS = 4_000
"""The max wait of a fetch for which the test looks whether it is answered at once or waits."""
PROMPT_S = 0.95 * WAIT_MS / 1000
"""A fetch that is not answered at once is answered after the wait, whatever the machine does."""
READ_COMMITTED = 1

Answer = dict[str, Any]


class Brokers:
    """Connections to the three brokers; their node ids are 1 to 3 in the order of the addresses."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.bootstrap = ",".join(addresses)
        ports = [address.rpartition(":") for address in addresses]
        self._clients = [RawClient(host, int(port)) for host, _, port in ports]
        self._ids: dict[str, Any] = {}

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def ask(self, node: int, api: str, version: int, **given: Any) -> Any:
        return self._clients[node - 1].ask(api, version, given)

    def create(self, topic: str, replicas: list[int]) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(topic, 1, replica_assignment=[replicas])])[topic].result(30)
        wait_until(lambda: all(self.has(node, topic) for node in (1, 2, 3)), LIMIT_S, f"all know {topic}")

    def has(self, node: int, topic: str) -> bool:
        """Whether the broker's metadata has a leader of the topic; keeps the topic's id."""
        found = self.ask(node, "metadata", 12, topics=[{"name": topic}]).topics[0]
        self._ids[topic] = found.topic_id
        return bool(found.partitions) and found.partitions[0].leader_id > 0

    def epoch(self) -> int:
        return int(self.ask(1, "metadata", 12, topics=[{"name": TOPIC}]).topics[0].partitions[0].leader_epoch)

    def produce(self, node: int, count: int, acks: int) -> None:
        data = [{"name": TOPIC, "partition_data": [{"index": 0, "records": record_batch(count)}]}]
        done = self.ask(node, "produce", 9, acks=acks, timeout_ms=10_000, topic_data=data)
        assert done.responses[0].partition_responses[0].error_code == 0

    def fetch(
        self, node: int, version: int, offset: int, *, topic: str = TOPIC, wait_ms: int = 0, **more: Any
    ) -> Answer:
        """``more``: rack, replica, epoch, isolation, and session with its epoch."""
        partition = {
            "partition": 0,
            "current_leader_epoch": more.get("epoch", -1),
            "fetch_offset": offset,
            "partition_max_bytes": 1 << 20,
        }
        replica = more.get("replica", -1)
        start = time.monotonic()
        answer = self.ask(
            node,
            "fetch",
            version,
            replica_id=replica,
            replica_state={"replica_id": replica, "replica_epoch": -1},
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            isolation_level=more.get("isolation", 0),
            session_id=more.get("session", 0),
            session_epoch=more.get("session_epoch", -1),
            topics=[]
            if more.get("is_unchanged")
            else [{"topic": topic, "topic_id": self._ids[topic], "partitions": [partition]}],
            rack_id=more.get("rack", ""),
        )
        return _shared_form(answer, time.monotonic() - start if wait_ms else None)

    def session(self, node: int, rack: str) -> Iterator[Answer]:
        """The answers to the first request of a fetch session and to a second request that changes nothing."""
        opening = {
            "rack_id": rack,
            "min_bytes": 0,
            "max_bytes": 1 << 20,
            "session_id": 0,
            "session_epoch": 0,
            "max_wait_ms": 0,
        }
        partition = {
            "partition": 0,
            "current_leader_epoch": -1,
            "fetch_offset": RECORDS,
            "partition_max_bytes": 1 << 20,
        }
        first = self.ask(
            node, "fetch", 12, topics=[{"topic": TOPIC, "partitions": [partition]}], replica_id=-1, **opening
        )
        yield _shared_form(first, None)
        going_on = {**opening, "session_id": first.session_id, "session_epoch": 1}
        yield _shared_form(self.ask(node, "fetch", 12, topics=[], replica_id=-1, **going_on), None)


def _shared_form(answer: Any, took_s: float | None) -> Answer:
    timed = {} if took_s is None else {"is_prompt": took_s < PROMPT_S}
    if not answer.responses:
        return {"error": int(answer.error_code), "partitions": 0, **timed}
    one = answer.responses[0].partitions[0]
    leader = getattr(one, "current_leader", None)
    return {
        "error": int(one.error_code),
        "high_watermark": one.high_watermark,
        "last_stable_offset": one.last_stable_offset,
        "log_start_offset": getattr(one, "log_start_offset", None),
        "aborted": None if one.aborted_transactions is None else len(one.aborted_transactions),
        "preferred_read_replica": getattr(one, "preferred_read_replica", None),
        "records": _ranges(one.records or b""),
        **({} if leader is None or leader.leader_id < 0 else {"leader": leader.leader_id}),
        **timed,
    }


def _ranges(records: bytes) -> list[list[int]]:
    """First and last offset of each batch."""
    found, at = [], 0
    while at < len(records):
        base, length = struct.unpack_from(">qi", records, at)
        (last_delta,) = struct.unpack_from(">i", records, at + 23)
        found.append([base, base + last_delta])
        at += 12 + length
    return found


def answers(brokers: Brokers, third: int) -> dict[str, Answer]:
    """The answers to all fetches, by name; ``third`` is the process id of the third broker."""
    brokers.create(TOPIC, [1, 2, 3])
    brokers.create(ON_TWO, [1, 2])
    brokers.produce(1, RECORDS, -1)
    _wait_for_watermarks(brokers, RECORDS)
    found = dict(_at_the_leader(brokers))
    found |= _at_a_follower(brokers)
    hang(third)
    try:
        found |= _past_the_watermark(brokers)
    finally:
        os.kill(third, signal.SIGCONT)
    _wait_for_watermarks(brokers, RECORDS + 3)
    found |= _below_the_log_start(brokers)
    return found | dict(_after_another_leader(brokers))


def _wait_for_watermarks(brokers: Brokers, offset: int) -> None:
    def told() -> bool:
        return all(brokers.fetch(node, 12, 0)["high_watermark"] == offset for node in (1, 2, 3))

    wait_until(told, LIMIT_S, f"all three know the high watermark {offset}")
    wait_until(
        lambda: all(brokers.fetch(1, 12, offset, rack=rack)["preferred_read_replica"] > 0 for rack in "bc"),
        LIMIT_S,
        "the leader knows how far its followers are",
    )


def _at_the_leader(brokers: Brokers) -> Iterator[tuple[str, Answer]]:
    for version in (10, 11, 12, 13, 15, 17, 18):
        yield f"leader: rack b, v{version}", brokers.fetch(1, version, 0, rack="b")
    yield "leader: no rack", brokers.fetch(1, 12, 0)
    yield "leader: its own rack", brokers.fetch(1, 12, 0, rack="a")
    yield "leader: a rack without a broker", brokers.fetch(1, 12, 0, rack="nowhere")
    yield "leader: a rack without a replica", brokers.fetch(1, 12, 0, rack="c", topic=ON_TWO)
    yield "leader: rack b, at the end, may wait", brokers.fetch(1, 12, RECORDS, rack="b", wait_ms=WAIT_MS)
    yield "leader: rack b, read committed", brokers.fetch(1, 12, 0, rack="b", isolation=READ_COMMITTED)
    yield "leader: rack b, past the end", brokers.fetch(1, 12, RECORDS + 1, rack="b")
    yield "leader: rack b, before the start", brokers.fetch(1, 12, -1, rack="b")
    yield "leader: rack b, right epoch", brokers.fetch(1, 12, 0, rack="b", epoch=brokers.epoch())
    yield "leader: rack b, epoch to come", brokers.fetch(1, 12, 0, rack="b", epoch=brokers.epoch() + 1)
    yield "leader: rack b, a follower's", brokers.fetch(1, 12, RECORDS, rack="b", replica=3)
    for name, answer in zip(("opened", "unchanged"), brokers.session(1, "b"), strict=True):
        yield f"leader: rack b, session {name}", answer


def _at_a_follower(brokers: Brokers) -> Iterator[tuple[str, Answer]]:
    for version in (4, 9, 10, 11, 12, 13, 15, 17, 18):
        yield f"follower: v{version}", brokers.fetch(2, version, 0)
    yield "follower: its rack", brokers.fetch(2, 12, 0, rack="b")
    yield "follower: the leader's rack", brokers.fetch(2, 12, 0, rack="a")
    yield "follower: another follower's rack", brokers.fetch(2, 12, 0, rack="c")
    yield "follower: read committed", brokers.fetch(2, 12, 0, isolation=READ_COMMITTED)
    yield "follower: at the end", brokers.fetch(2, 12, RECORDS)
    yield "follower: at the end, may wait", brokers.fetch(2, 12, RECORDS, wait_ms=WAIT_MS)
    yield "follower: past the end", brokers.fetch(2, 12, RECORDS + 1)
    yield "follower: before the start", brokers.fetch(2, 12, -1)
    yield "follower: right epoch", brokers.fetch(2, 12, 0, epoch=brokers.epoch())
    yield "follower: epoch to come", brokers.fetch(2, 12, 0, epoch=brokers.epoch() + 1)
    yield "follower: another follower's fetch", brokers.fetch(2, 12, 0, replica=3)
    for version in (10, 12, 13, 17):
        yield f"neither: v{version}", brokers.fetch(3, version, 0, topic=ON_TWO)


def _past_the_watermark(brokers: Brokers) -> dict[str, Answer]:
    """The third broker hangs and stays in sync: three records stay uncommitted."""
    brokers.produce(1, 3, 1)
    end = RECORDS + 3

    def is_there() -> bool:
        at_leader = brokers.fetch(1, 12, end, rack="b")["preferred_read_replica"]
        return bool(at_leader == 2 and brokers.fetch(2, 12, end)["error"] == 0)

    wait_until(is_there, LIMIT_S, "the second broker has them")
    found = {}
    for node, name in ((1, "leader"), (2, "follower")):
        for offset in (0, RECORDS, end - 1, end, end + 1):
            found[f"{name}: offset {offset} with {RECORDS} committed of {end}"] = brokers.fetch(node, 12, offset)
    found["follower: uncommitted, may wait"] = brokers.fetch(2, 12, end - 1, wait_ms=WAIT_MS)
    for offset in (RECORDS, RECORDS + 1):
        found[f"leader: rack c, offset {offset}, which has {RECORDS}"] = brokers.fetch(1, 12, offset, rack="c")
    return found


def _below_the_log_start(brokers: Brokers) -> dict[str, Answer]:
    start = 5
    asked = [{"name": TOPIC, "partitions": [{"partition_index": 0, "offset": start}]}]
    brokers.ask(1, "delete_records", 2, topics=asked, timeout_ms=10_000)

    def is_told() -> bool:
        # A follower learns the log start from a fetch's answer, and reports its own log start with its next fetch.
        starts = all(brokers.fetch(node, 12, start)["log_start_offset"] == start for node in (1, 2, 3))
        return starts and brokers.fetch(1, 12, 0, rack="b")["preferred_read_replica"] == -1

    wait_until(is_told, LIMIT_S, "all three start there")
    return {
        "leader: below the log start": brokers.fetch(1, 12, 0),
        "leader: rack b, below the log start": brokers.fetch(1, 12, 0, rack="b"),
        "leader: rack b, at the log start": brokers.fetch(1, 12, start, rack="b"),
        "follower: below the log start": brokers.fetch(2, 12, 0),
        "follower: at the log start": brokers.fetch(2, 12, start),
    }


def _after_another_leader(brokers: Brokers) -> Iterator[tuple[str, Answer]]:
    before = brokers.epoch()
    controller = brokers.ask(1, "metadata", 12, topics=[]).controller_id  # or a broker that passes on to it
    order = [{"name": TOPIC, "partitions": [{"partition_index": 0, "replicas": [2, 1, 3]}]}]
    brokers.ask(controller, "alter_partition_reassignments", 0, topics=order, timeout_ms=10_000)
    asked = [{"topic": TOPIC, "partitions": [0]}]

    def leads() -> bool:
        brokers.ask(controller, "elect_leaders", 2, election_type=0, topic_partitions=asked, timeout_ms=10_000)
        found = [
            brokers.ask(node, "metadata", 12, topics=[{"name": TOPIC}]).topics[0].partitions[0] for node in (1, 2, 3)
        ]
        return all(one.leader_id == 2 for one in found)

    wait_until(leads, LIMIT_S, "the second broker leads")
    wait_until(
        lambda: brokers.fetch(2, 12, 5, rack="c")["preferred_read_replica"] == 3, LIMIT_S, "it knows its followers"
    )
    for node, name in ((1, "the leader before"), (2, "the leader now"), (3, "a follower of both")):
        yield f"{name}: old epoch", brokers.fetch(node, 12, 5, epoch=before)
        yield f"{name}: new epoch", brokers.fetch(node, 12, 5, epoch=brokers.epoch())
        yield f"{name}: rack c", brokers.fetch(node, 12, 5, rack="c")
    yield "the leader before: old epoch, v16", brokers.fetch(1, 16, 5, epoch=before)
    yield "the leader before: v10", brokers.fetch(1, 10, 5)
    yield "the leader before: v10, old epoch", brokers.fetch(1, 10, 5, epoch=before)


if __name__ == "__main__":
    with closing(Brokers(sys.argv[1:4])) as asked:
        json.dump(answers(asked, int(sys.argv[4])), sys.stdout, indent=1)
        sys.stdout.write("\n")
