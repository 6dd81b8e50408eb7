"""Transactions in every state in which a broker can be killed, and the broker's directory with them.

Producers of both transaction versions. Each transaction has records in both partitions and an offset of a group of its
own. Apache Kafka prepares transactions itself: its last run cannot reach its own inter-broker listener, so no marker is
written. Ours writes the markers with the decision, so the decision is appended to its log after the kill.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interop.raw_producer import LIMIT_S, NO_SUCH_MEMBER, TIMEOUT_MS, RawProducer
from interop.state_log import append, last_record, prepared
from parity.raw_client import RawClient
from peer.apache_kafka import ApacheKafka
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, free_port, wait_until
from peer.topics import create_topic

TOPIC = "t"
PARTITIONS = 2
COMMIT, ABORT = "commit", "abort"
"""Prepared."""
LATE, RETURNS, GOES_ON = "late", "returns", "goes-on"
"""Open: with a timeout that is over, of a producer that is started again, of a producer that goes on."""
DONE, DROPPED, EMPTY, EXPIRED = "done", "dropped", "empty", "expired"
"""Without a transaction: after a commit, after an abort, before the first, forgotten (a tombstone)."""
KINDS = (DONE, DROPPED, COMMIT, ABORT, LATE, RETURNS, GOES_ON, EMPTY, EXPIRED)
VERSIONS = (1, 2)
LATE_MS = 1000
FIRST_OFFSET, PENDING_OFFSET = 1, 7
SETTINGS = {
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "600000",  # only the next broker aborts
}
NEXT_SETTINGS = {**SETTINGS, "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
"""Of the broker that takes the directory over."""

Described = dict[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Mixture:
    """A killed broker with its producers by transactional id."""

    source: BrokerProcess
    producers: dict[str, RawProducer]

    @property
    def log_dir(self) -> Path:
        return self.source.log_dir


def id_of(kind: str, version: int) -> str:
    return f"{kind}-{version}"


def group_of(transactional_id: str) -> str:
    return f"group-of-{transactional_id}"


def write(factory: BrokerFactory, kind: str) -> Mixture:
    """A broker of that kind, killed with all of it."""
    source = factory(SETTINGS, kind=kind)
    create_topic(source.bootstrap, TOPIC, PARTITIONS)
    producers = _fill(source)
    if isinstance(source, ApacheKafka):
        source.stop()
        source.overrides |= without_itself(source)
        source.start()
        _decide(producers)
    _write_half_of_the_markers(source, producers)
    source.kill()
    if kind == "kafkastore":
        append_decisions(source.log_dir)
    for version in VERSIONS:
        append(source.log_dir, id_of(EXPIRED, version), None)
    return Mixture(source, producers)


def without_itself(broker: ApacheKafka) -> dict[str, str]:
    """Listeners by which the broker cannot be reached by itself."""
    client, controller = f"127.0.0.1:{broker.port}", f"127.0.0.1:{broker.controller_port}"
    listeners = f"PLAINTEXT://{client},CONTROLLER://{controller},INTERNAL://127.0.0.1:{free_port()}"
    return {
        "listeners": listeners,
        "advertised.listeners": f"PLAINTEXT://{client},INTERNAL://127.0.0.1:{free_port()}",
        "inter.broker.listener.name": "INTERNAL",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT",
    }


def _fill(broker: BrokerProcess) -> dict[str, RawProducer]:
    producers = {}
    for version in VERSIONS:
        for kind in KINDS:
            name = id_of(kind, version)
            timeout_ms = LATE_MS if kind == LATE else TIMEOUT_MS
            producers[name] = producer = RawProducer(broker, name, version=version, timeout_ms=timeout_ms)
            _commit_offset(broker, group_of(name))
            producer.init()
            if kind in (EMPTY, EXPIRED):
                continue
            producer.send(TOPIC, 0, 1, count=2)
            producer.commit_offset(group_of(name), TOPIC, 0, PENDING_OFFSET)
            if kind in (DONE, DROPPED):
                producer.end(commits=kind == DONE)
    for version in VERSIONS:
        wait_for_states(broker, {id_of(DONE, version): "CompleteCommit", id_of(DROPPED, version): "CompleteAbort"})
    return producers


def _decide(producers: dict[str, RawProducer]) -> None:
    """The producers' own values stay, as if they had never got the answer."""
    for version in VERSIONS:
        for kind in (COMMIT, ABORT):
            producer = producers[id_of(kind, version)]
            producer.moved_to(producer.broker).end(commits=kind == COMMIT)


def append_decisions(log_dir: Path) -> None:
    for version in VERSIONS:
        for kind in (COMMIT, ABORT):
            name = id_of(kind, version)
            ongoing = last_record(log_dir, name).value
            assert ongoing is not None
            append(log_dir, name, prepared(ongoing, version, commits=kind == COMMIT))


def _write_half_of_the_markers(broker: BrokerProcess, producers: dict[str, RawProducer]) -> None:
    """Those of partition 0, as a coordinator that dies before the other leader has answered. Ours takes from a client
    no commit, and no epoch that the producer has not had."""
    kinds = (COMMIT, ABORT) if broker.kind == "kafka" else (ABORT,)
    markers = []
    for producer in (producers[id_of(kind, version)] for kind in kinds for version in VERSIONS):
        marker = {"transaction_result": producer.transactional_id.startswith(COMMIT), "coordinator_epoch": 0}
        is_raised = broker.kind == "kafka" and producer.version > 1
        topics = [{"name": TOPIC, "partition_indexes": [0]}]
        epochs = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch + is_raised}
        markers.append({**marker, **epochs, "topics": topics})
    with closing(RawClient("127.0.0.1", broker.port)) as client:
        answer = client.ask("write_txn_markers", 1, {"markers": markers})
    rows = [partition for marker in answer.markers for topic in marker.topics for partition in topic.partitions]
    assert [int(row.error_code) for row in rows] == [0] * len(markers), answer


# ---- what a broker tells
def _commit_offset(broker: BrokerProcess, group: str) -> None:
    """Without a transaction."""
    row = {"partition_index": 0, "committed_offset": FIRST_OFFSET, "committed_metadata": ""}
    asked = {"group_id": group, **NO_SUCH_MEMBER, "topics": [{"name": TOPIC, "partitions": [row]}]}
    with closing(RawClient("127.0.0.1", broker.port)) as client:

        def is_committed() -> bool:
            client.ask("find_coordinator", 4, {"key_type": 0, "coordinator_keys": [group]})
            answer = client.ask("offset_commit", 8, asked)
            return int(answer.topics[0].partitions[0].error_code) == 0

        wait_until(is_committed, LIMIT_S, f"{group} has committed")


def offsets(broker: BrokerProcess, *, is_stable: bool) -> dict[str, tuple[int, int]]:
    """(offset, error code) of each group that a transaction commits for, by transactional id."""
    names = [id_of(kind, version) for version in VERSIONS for kind in KINDS]
    groups = [{"group_id": group_of(name), "topics": [{"name": TOPIC, "partition_indexes": [0]}]} for name in names]
    found: dict[str, tuple[int, int]] = {}
    with closing(RawClient("127.0.0.1", broker.port)) as client:

        def are_loaded() -> bool:
            answer = client.ask("offset_fetch", 8, {"groups": groups, "require_stable": is_stable})
            for name, group in zip(names, answer.groups, strict=True):
                if int(group.error_code):
                    return False
                (row,) = group.topics[0].partitions
                found[name] = int(row.committed_offset), int(row.error_code)
            return True

        wait_until(are_loaded, LIMIT_S, "the groups are loaded")
    return found


def listed(broker: BrokerProcess) -> dict[str, tuple[int, str]]:
    """(producer id, state) of each transactional id, once all are loaded."""
    answer: Any = None
    with closing(RawClient("127.0.0.1", broker.port)) as client:

        def are_loaded() -> bool:
            nonlocal answer
            client.ask("find_coordinator", 4, {"key_type": 1, "coordinator_keys": ["anybody"]})
            answer = client.ask("list_transactions", 2, {"duration_filter": -1})
            return int(answer.error_code) == 0

        wait_until(are_loaded, LIMIT_S, "transactional ids are loaded")
    rows = answer.transaction_states
    return {str(row.transactional_id): (int(row.producer_id), str(row.transaction_state)) for row in rows}


def described(broker: BrokerProcess) -> Described:
    """State, timeout, start, producer id, epoch and partitions of each id that the source knew."""
    names = sorted(id_of(kind, version) for kind in KINDS for version in VERSIONS)
    found: Any = None
    with closing(RawClient("127.0.0.1", broker.port)) as client:

        def are_loaded() -> bool:
            nonlocal found
            found = client.ask("describe_transactions", 0, {"transactional_ids": names}).transaction_states
            return not {int(row.error_code) for row in found} & {14, 15, 16}

        wait_until(are_loaded, LIMIT_S, "transactional ids are loaded")
    return {str(row.transactional_id): _as_plain(row) for row in found}


def _as_plain(row: Any) -> tuple[Any, ...]:
    if int(row.error_code):
        return (int(row.error_code),)
    partitions = sorted((str(one.topic), int(number)) for one in row.topics for number in one.partitions)
    timing = row.transaction_timeout_ms, row.transaction_start_time_ms
    return str(row.transaction_state), *timing, int(row.producer_id), int(row.producer_epoch), partitions


def states(broker: BrokerProcess) -> dict[str, str]:
    return {name: state for name, (_, state) in listed(broker).items()}


def wait_for_states(broker: BrokerProcess, wanted: dict[str, str]) -> None:
    wait_until(lambda: wanted.items() <= states(broker).items(), LIMIT_S, f"{wanted}")
