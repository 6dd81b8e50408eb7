"""A group that commits all the time while its coordinator moves, or is killed and loads again (H17, H18).

The group commits to a few partitions only, so ``__consumer_offsets`` has many records of few keys. OffsetFetch must
return the offset that was acknowledged last, whichever broker answers: it is sent after each commit for all partitions,
because a later commit would hide that an earlier one was lost. The records are large, so that a coordinator loads them
in several reads.
"""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from cluster.faults.coordinators import GROUP, OFFSETS_TOPIC, coordinators
from cluster.faults.process_faults import RESUME_LIMIT_S, SESSION_S
from cluster.faults.traffic import CLIENT
from cluster.faults.trial import PARTITIONS, Trial
from cluster.faults.trial import RESUME_LIMIT_S as GIVE_UP_S
from parity.raw_client import RawClient
from peer.broker_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

    from peer.kafkastore_broker import KafkastoreBroker

NOT_COORDINATOR = 16
METADATA = "." * 1500
"""The metadata of each commit: two thousand commits are more than a coordinator loads in one read."""
MOVES = 3
KILLS = 2
COMMITS_BETWEEN = 1000
FETCH_LIMIT_S = 10.0
"""How soon after a move OffsetFetch must return the right offsets."""


class Committer(threading.Thread):
    """Commits a rising offset to each partition in turn, one request at a time, and fetches all offsets after each
    commit; keeps the offsets that were acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(name="committer", daemon=True)
        self.group = f"{topic}-group"
        self.topic = topic
        self.consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": self.group, "enable.auto.commit": False, **CLIENT}
        )
        self.acked: dict[int, int] = {}
        self.tried: dict[int, int] = {}
        self.count = 0
        self.wrong: list[str] = []
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.is_set():
            partition = self.count % PARTITIONS
            offset = self.tried.get(partition, 0) + 1
            self.tried[partition] = offset
            wanted = TopicPartition(self.topic, partition, offset, METADATA)
            with suppress(KafkaException):  # the commit may have been taken or not: the next offset is higher
                self.consumer.commit(offsets=[wanted], asynchronous=False)
                self.acked[partition] = offset
                self.count += 1
            if not self.acked:
                continue
            with suppress(KafkaException):
                found = self.consumer.committed([TopicPartition(self.topic, at) for at in self.acked], FETCH_LIMIT_S)
                self.judge(self.acked, {one.partition: one.offset for one in found if one.error is None})
        self.consumer.close()

    def judge(self, least: Mapping[int, int], found: Mapping[int, int]) -> None:
        """Notes offsets that are neither the acknowledged ones nor ones that were sent since."""
        for partition, now in found.items():
            offset = least.get(partition, now)
            if not offset <= now <= self.tried[partition]:
                self.wrong.append(f"{offset} was committed for {partition}, OffsetFetch says {now}")

    def finish(self) -> None:
        self._enough.set()
        self.join()

    def wait_for(self, count: int) -> None:
        target = self.count + count
        wait_until(lambda: self.count >= target, GIVE_UP_S, f"{count} more commits are acknowledged")


def coordinator_moves(trial: Trial) -> None:
    """The group's partition of ``__consumer_offsets`` is reassigned again and again: FindCoordinator follows, no commit
    is lost, and the former coordinator answers NOT_COORDINATOR (H17, KAFKA-4362)."""
    committer = _start(trial)
    number = _partition_of(trial, committer.group)
    try:
        for _ in range(MOVES):
            committer.wait_for(COMMITS_BETWEEN // 4)
            old = _coordinator(trial, committer.group)
            new, other = trial.cluster.others(old)
            _reassign(trial, number, [new, other])
            _wait_for_coordinator(trial, committer.group, new)
            committer.wait_for(COMMITS_BETWEEN // 4)
            codes = _codes_of(trial.cluster.broker(old), committer)
            trial.expect(
                codes == [NOT_COORDINATOR] * 2, f"the old coordinator answers a fetch and a commit with {codes}"
            )
            _reassign(trial, number, [new, other, old])
            wait_until(lambda: len(_replicas(trial, number)) == 3, 60, "all brokers have the partition again")
            _judge(trial, committer)
    finally:
        committer.finish()
    _judge(trial, committer)


def _wait_for_coordinator(trial: Trial, group: str, broker: int) -> None:
    wait_until(lambda: _coordinator(trial, group) == broker, 60, "the coordinator moves")


def _wait_for_count(committer: Committer, count: int) -> None:
    wait_until(lambda: committer.count >= count, GIVE_UP_S, "commits go on")


def coordinator_is_killed(trial: Trial) -> None:
    """kill -9 of the coordinator, with many commits on few keys between: each next coordinator loads them all (H18)."""
    committer = _start(trial)
    try:
        for _ in range(KILLS):
            committer.wait_for(COMMITS_BETWEEN)
            victim = _coordinator(trial, committer.group)
            before, at = committer.count, time.monotonic()
            trial.cluster.broker(victim).kill()
            _wait_for_count(committer, before + 2)
            took = time.monotonic() - at
            trial.outcome.resumed_after_s = max(took, trial.outcome.resumed_after_s or 0.0)
            trial.expect(took <= RESUME_LIMIT_S + SESSION_S, f"it took {took:.1f} s until commits went on")
            _judge(trial, committer)
            trial.cluster.broker(victim).start()
            trial.cluster.wait_in_sync(OFFSETS_TOPIC, 3)
    finally:
        committer.finish()
    _judge(trial, committer)


def _start(trial: Trial) -> Committer:
    committer = Committer(trial.cluster.bootstrap, trial.topic)
    committer.start()
    committer.wait_for(10)
    return committer


def _judge(trial: Trial, committer: Committer) -> None:
    """Checks the offsets that the committer fetched, and those that a new client fetches now."""
    least = dict(committer.acked)
    asked = ConsumerGroupTopicPartitions(committer.group)
    deadline = time.monotonic() + FETCH_LIMIT_S
    admin, found = trial.cluster.admin(), dict[int, int]()  # kept: its requests end with its last reference
    while time.monotonic() < deadline and not found:
        try:
            answer = admin.list_consumer_group_offsets([asked])[committer.group].result(FETCH_LIMIT_S)
        except KafkaException:
            continue
        found = {one.partition: one.offset for one in answer.topic_partitions or []}
    committer.judge(least, {partition: found.get(partition, -1) for partition in least})
    wrong = committer.wrong
    trial.expect(not wrong, f"{len(wrong)} times another offset than was committed, first: {next(iter(wrong), '')}")


def _ask(broker: KafkastoreBroker, api: str, version: int, **given: Any) -> Any:
    with closing(RawClient(broker.host, broker.port)) as client:
        return client.ask(api, version, given)


def _coordinator(trial: Trial, group: str) -> int:
    return coordinators(trial.cluster, GROUP, [group])[group]


def _codes_of(broker: KafkastoreBroker, committer: Committer) -> list[int]:
    """The errors of an OffsetFetch and an OffsetCommit that are sent to this broker, coordinator or not."""
    fetched = _ask(broker, "offset_fetch", 5, group_id=committer.group, topics=None)
    row = {"partition_index": 0, "committed_offset": 0, "committed_leader_epoch": -1, "committed_metadata": ""}
    topics = [{"name": committer.topic, "partitions": [row]}]
    asked = {"group_id": committer.group, "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    committed = _ask(broker, "offset_commit", 7, group_instance_id=None, **asked)
    return [int(fetched.error_code), int(committed.topics[0].partitions[0].error_code)]


def _partition_of(trial: Trial, group: str) -> int:
    """The group's partition: the absolute value of Java's String.hashCode modulo the partitions, as in Kafka."""
    code = 0
    for letter in group:
        code = (31 * code + ord(letter)) & 0xFFFFFFFF
    code = min(code, (1 << 32) - code)
    count = len(trial.cluster.admin().list_topics(OFFSETS_TOPIC, timeout=10).topics[OFFSETS_TOPIC].partitions)
    return code % count


def _replicas(trial: Trial, number: int) -> list[int]:
    return trial.cluster.partition(OFFSETS_TOPIC, number).replicas


def _reassign(trial: Trial, number: int, replicas: list[int]) -> None:
    partitions = [{"partition_index": number, "replicas": replicas}]
    asked = {"topics": [{"name": OFFSETS_TOPIC, "partitions": partitions}], "timeout_ms": 10_000}

    def is_taken() -> bool:
        broker = trial.cluster.broker(trial.cluster.controller())
        answer = _ask(broker, "alter_partition_reassignments", 1, **asked)
        return bool(answer.responses[0].partitions[0].error_code == 0)

    wait_until(is_taken, 30, f"the controller takes the move of {OFFSETS_TOPIC}-{number} to {replicas}")
