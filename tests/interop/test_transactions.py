"""A broker that was killed with transactions in every state, and its directory taken over: by ours and by Apache Kafka,
which do the same with it.

KIP-98, KIP-360, KIP-664, KIP-890; H13 (decided once, finished by the next
coordinator), H14 (fenced producers)
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from interop.mixture import (
    ABORT,
    COMMIT,
    DONE,
    DROPPED,
    EMPTY,
    EXPIRED,
    FIRST_OFFSET,
    GOES_ON,
    KINDS,
    LATE,
    NEXT_SETTINGS,
    PARTITIONS,
    PENDING_OFFSET,
    RETURNS,
    SETTINGS,
    TOPIC,
    VERSIONS,
    Described,
    Mixture,
    described,
    id_of,
    listed,
    offsets,
    wait_for_states,
    write,
)
from interop.raw_producer import LIMIT_S, RawProducer
from interop.state_log import ONGOING, STATE_AT, STATE_TOPIC, prepared, state_records
from interop.transplant import transplant
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.java_tools import JavaTools
from peer.topics import create_topic, end_offsets, last_stable_offsets, place_of, read_topic, wait_until_stable
from proof.scope import played

pytestmark = pytest.mark.timeout(240)

TARGETS = ("kafkastore", "kafka")
UNSTABLE = (-1, 88)  # UNSTABLE_OFFSET_COMMIT
INVALID_PRODUCER_ID_MAPPING = 49
AFTER_LOADING = {
    DONE: "CompleteCommit",
    DROPPED: "CompleteAbort",
    COMMIT: "CompleteCommit",
    ABORT: "CompleteAbort",
    LATE: "CompleteAbort",
    RETURNS: "Ongoing",
    GOES_ON: "Ongoing",
    EMPTY: "Empty",
}
IS_VISIBLE = {DONE, COMMIT, GOES_ON}
TIME_BYTES = 8

Producers = dict[str, RawProducer]


@dataclass(frozen=True)
class Outcome:
    """What a broker made of the mixture, in what must not depend on the broker."""

    after_loading: Described
    refusals: dict[str, tuple[int, ...]]
    epochs: dict[str, int]
    at_the_end: Described


@pytest.mark.parametrize("source", played(["kafka"], ["kafka", "kafkastore"]))  # ours are taken over by ours all day
def test_transactions_of_a_killed_broker_are_finished_alike_by_ours_and_by_apache_kafka(
    broker_factory: BrokerFactory, java: JavaTools, tmp_path: Path, source: str
) -> None:
    mixture = write(broker_factory, source)
    if source == "kafka":
        assert_decisions_are_as_the_tests_append_them(mixture.log_dir)
    outcomes = {}
    for kind in TARGETS:
        copied = tmp_path / f"taken-by-{kind}"
        shutil.copytree(mixture.log_dir, copied)
        target = take_over(broker_factory, copied, kind)
        outcomes[kind] = finish(target, mixture)
        if kind == "kafkastore":
            assert target.stop() == 0
            assert_dump_log_tells(java, target.log_dir, outcomes[kind].at_the_end)
    assert outcomes["kafkastore"] == outcomes["kafka"]


def test_producers_in_a_directory_of_apache_kafka_get_no_producer_id_that_its_logs_have(
    broker_factory: BrokerFactory,
) -> None:
    """Else a new producer's first batches count as repetitions of the old one's: acknowledged and not written."""
    kafka = broker_factory(SETTINGS, kind="kafka")
    create_topic(kafka.bootstrap, TOPIC, PARTITIONS)
    produce_idempotently(kafka, b"before")
    assert kafka.stop() in (0, 143)
    ours = broker_factory(SETTINGS, kafka.log_dirs, "kafkastore")
    produce_idempotently(ours, b"after")
    assert [message.value() for message in read_topic(ours.bootstrap, TOPIC)] == [b"before", b"after"]


def produce_idempotently(broker: BrokerProcess, value: bytes) -> None:
    """One acknowledged record of a new producer."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "log_level": 0})
    producer.produce(TOPIC, value, partition=0)
    assert producer.flush(LIMIT_S) == 0


def take_over(factory: BrokerFactory, log_dir: Path, kind: str) -> BrokerProcess:
    """Apache Kafka knows no topics that were created in ours: they are made first, and get the logs. It gets its own
    logs in this way, too: started on its own directory after a kill, it may complete transactions without markers."""
    if kind == "kafkastore":
        return factory(NEXT_SETTINGS, [log_dir], kind)
    target = factory(NEXT_SETTINGS, kind=kind)
    create_topic(target.bootstrap, TOPIC, PARTITIONS)
    made = RawProducer(target, "made")
    made.init()
    made.send(TOPIC, 0)
    made.commit_offset("made", TOPIC, 0, 1)
    target.stop()
    transplant(log_dir, target.log_dir, {TOPIC, STATE_TOPIC, "__consumer_offsets"})
    return target.start()


def finish(target: BrokerProcess, mixture: Mixture) -> Outcome:
    """Every producer goes on as its kind says; all that can be seen of each step is what it must be."""
    producers = {name: one.moved_to(target) for name, one in mixture.producers.items()}
    after_loading = assert_decisions_are_finished(target, producers)
    refusals = assert_old_producers_are_fenced(target, producers)
    let_the_others_go_on(producers)
    wait_until_stable(target.bootstrap, TOPIC, LIMIT_S)
    assert last_stable_offsets(target.bootstrap, TOPIC) == {
        partition: high for partition, (_, high) in end_offsets(target.bootstrap, TOPIC).items()
    }
    pending = expected_offsets(DONE, COMMIT, GOES_ON)
    wait_until(lambda: offsets(target, is_stable=True) == pending, LIMIT_S, "no offset is pending")
    complete = {id_of(kind, version): "CompleteCommit" for kind in (COMMIT, GOES_ON, EMPTY) for version in VERSIONS}
    wait_for_states(target, complete)
    visible = {name: one for name, one in producers.items() if kind_of(name) in {*IS_VISIBLE, EMPTY}}
    assert rows_read(target, "read_committed") == places(visible)
    assert rows_read(target, "read_uncommitted") == places(producers)
    epochs = {name: producer.epoch for name, producer in producers.items()}
    return Outcome(after_loading, refusals, epochs, without_times(described(target)))


def assert_decisions_are_finished(target: BrokerProcess, producers: Producers) -> Described:
    """Markers are written, the late transaction is aborted, the two others stay open, with their offsets pending."""
    wanted = {id_of(kind, version): state for kind, state in AFTER_LOADING.items() for version in VERSIONS}
    wait_until(lambda: {name: state for name, (_, state) in listed(target).items() if name != "made"} == wanted,
               LIMIT_S, "the decided transactions are finished and the late ones aborted")  # fmt: skip
    found = described(target)
    listed_ids = {name: (row[3], row[0]) for name, row in found.items() if len(row) > 1}
    assert listed_ids == {name: row for name, row in listed(target).items() if name != "made"}
    open_ones = [producers[id_of(kind, version)] for kind in (RETURNS, GOES_ON) for version in VERSIONS]
    first = {number: min(at for one in open_ones for part, at in one.written if part == number) for number in (0, 1)}
    wait_until(lambda: last_stable_offsets(target.bootstrap, TOPIC) == first, LIMIT_S, "the others' markers")
    visible = {name: one for name, one in producers.items() if kind_of(name) in (DONE, COMMIT)}
    below = [(partition, offset) for partition, offset in places(visible) if offset < first[partition]]
    assert rows_read(target, "read_committed") == below
    stable = expected_offsets(DONE, COMMIT) | {one.transactional_id: UNSTABLE for one in open_ones}
    wait_until(lambda: offsets(target, is_stable=True) == stable, LIMIT_S, "offsets of open transactions are pending")
    assert offsets(target, is_stable=False) == expected_offsets(DONE, COMMIT)
    return found


def assert_old_producers_are_fenced(target: BrokerProcess, producers: Producers) -> dict[str, tuple[int, ...]]:
    """Those whose transaction was aborted by its timeout, whose id has a new producer, or is forgotten."""
    refusals: dict[str, tuple[int, ...]] = {}
    for version in VERSIONS:
        for kind in (RETURNS, LATE):
            old = producers[id_of(kind, version)]
            if kind == RETURNS:
                new = RawProducer(target, old.transactional_id, version=version)
                new.init()
                assert (new.producer_id, new.epoch > old.epoch) == (old.producer_id, True)
            refusals[old.transactional_id] = (old.try_to_send(TOPIC, 0), old.try_to_end(commits=True))
            assert 0 not in refusals[old.transactional_id]
        forgotten = producers[id_of(EXPIRED, version)]
        refusals[forgotten.transactional_id] = (forgotten.try_to_end(commits=True),)
        assert refusals[forgotten.transactional_id] == (INVALID_PRODUCER_ID_MAPPING,)
        forgotten.moved_to(target).init()
    return refusals


def let_the_others_go_on(producers: Producers) -> None:
    """A producer whose end was never answered asks again, and then begins the next transaction."""
    for version in VERSIONS:
        committed, aborted = producers[id_of(COMMIT, version)], producers[id_of(ABORT, version)]
        assert committed.try_to_end(commits=True) == 0
        assert aborted.try_to_end(commits=False) == 0
        for kind in (COMMIT, GOES_ON, EMPTY):
            producer = producers[id_of(kind, version)]
            producer.send(TOPIC, 0, 1)
            producer.end(commits=True)


# ---- what is expected
def kind_of(transactional_id: str) -> str:
    return transactional_id.rsplit("-", 1)[0]


def expected_offsets(*committed: str) -> dict[str, tuple[int, int]]:
    names = {id_of(kind, version): kind for version in VERSIONS for kind in KINDS}
    return {name: (PENDING_OFFSET if kind in committed else FIRST_OFFSET, 0) for name, kind in names.items()}


def places(producers: Producers) -> list[tuple[int, int]]:
    return sorted(place for producer in producers.values() for place in producer.written)


def rows_read(target: BrokerProcess, level: str) -> list[tuple[int, int]]:
    return sorted(map(place_of, read_topic(target.bootstrap, TOPIC, isolation_level=level, fetch_wait_max_ms=20)))


def without_times(found: Described) -> Described:
    """Without starts, and without the producer ids that each broker gives by itself."""
    return {
        name: (state, timeout, None if kind_of(name) == EXPIRED else producer_id, *rest)
        for name, (state, timeout, _, producer_id, *rest) in found.items()
    }


def assert_decisions_are_as_the_tests_append_them(log_dir: Path) -> None:
    """Kafka's own prepared records differ from what `prepared` makes in the time alone."""
    last: dict[str, bytes] = {}
    compared = 0
    for _, _, name, value in state_records(log_dir):
        before = last.get(name, b"")
        if kind_of(name) in (COMMIT, ABORT) and value is not None and before and value[STATE_AT] != ONGOING:
            version = int(name[-1])
            made = prepared(before, version, commits=kind_of(name) == COMMIT)
            different = [at for at, (one, other) in enumerate(zip(made, value, strict=True)) if one != other]
            assert not different or different[-1] - different[0] < TIME_BYTES, (name, made.hex(), value.hex())
            compared += 1
        last[name] = value or b""
    assert compared == 2 * len(VERSIONS)


def assert_dump_log_tells(java: JavaTools, log_dir: Path, found: Described) -> None:
    """kafka-dump-log decodes every record of our log; the last of each id is what DescribeTransactions answers."""
    logs = [str(log) for log in sorted(log_dir.glob(f"{STATE_TOPIC}-*/*.log"))]
    dumped = java.tool("kafka-dump-log", "--transaction-log-decoder", "--files", ",".join(logs))
    assert dumped.exit == 0, dumped.err
    assert "isvalid: false" not in dumped.out
    read = re.findall(r" key: (\{.*\}) payload: (\{.*\}|<DELETE>)$", dumped.out, re.MULTILINE)
    assert len(read) == len(list(state_records(log_dir))), dumped.out[:2000]
    last = {json.loads(key)["data"]["transactionalId"]: payload for key, payload in read}
    for name, (state, _, producer_id, epoch, _) in found.items():
        value = json.loads(last[name])["data"]
        told = value["transactionStatus"], value["producerId"] if producer_id is not None else None
        assert (*told, value["producerEpoch"]) == (state, producer_id, epoch), (name, value)
