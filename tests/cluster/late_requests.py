"""Requests of transactions that reach the broker late: a proxy (``wire/late_proxy.py``) holds one back, its producer or
the next instance ends the transaction meanwhile, then the request is let go (H11, H12).

    cd tests; python -m cluster.late_requests [--count N] [--against kafkastore|kafka] [--kinds ...] [--clients ...]

The table has what the broker answered and what the request changed. ``EXPECTED`` has the outcomes, which Apache Kafka
4.3 proves with ``--against kafka``. A producer of version 1 (before KIP-890) has one epoch for all its transactions, so
that the coordinator cannot tell its late requests from those of the present transaction; then the late request belongs
to that, in Kafka too. In no case is anything written outside of an open transaction, and no transaction hangs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Self

from cluster.raw_producer import RawProducer, Request, decode, error_of
from cluster.transaction_views import committed_offset, log_ends, open_transactions, state, unfinished
from kafkastore.requests.registry import BY_NAME
from parity.messages import kafka_name
from parity.raw_client import ConnectionClosedError, RawClient
from peer.broker_factory import KINDS as BROKERS
from peer.broker_process import wait_until
from peer.topics import create_topic, read_topic
from wire.late_proxy import HeldRequest, LateProxy

TOPIC, SOURCE, OFFSETS = "late", "source", "__consumer_offsets"
PARTITIONS = {TOPIC: range(2), OFFSETS: range(4)}
QUICK_ABORT = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
TIMEOUT_MS, SHORT_TIMEOUT_MS = 60_000, 2_000
ABORT_LIMIT_S = SHORT_TIMEOUT_MS / 1000 + 10
"""H11: after so long no transaction of the short timeout is open."""

MOMENTS = ("aborted", "committed", "new epoch", "next transaction")
"""When the request is let go: after its transaction was aborted or committed by the producer; after a new instance
initialised and so aborted it; while the same producer has its next transaction open."""

KINDS = ("Produce", "Produce again", "AddPartitionsToTxn", "TxnOffsetCommit", "EndTxn commit", "EndTxn abort")
"""``Produce``: a batch that came only late. ``Produce again``: a batch whose repetition came in time."""

NOTHING = "NONE, nothing changed"
REOPENED = "to Ongoing"
OLD_EPOCH, FENCED, NOT_IN_IT = "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "TRANSACTION_ABORTABLE"
OTHER_RESULT = "INVALID_TXN_STATE"
COMMITTED_IT = f"NONE, state Ongoing to CompleteCommit, {OFFSETS} longer, {TOPIC} longer"
ABORTED_IT = f"NONE, state Ongoing to CompleteAbort, {OFFSETS} longer, {TOPIC} longer; then commit {OTHER_RESULT}"
EXPECTED: dict[int, dict[str, tuple[str, str, str, str]]] = {
    1: {
        "Produce": (NOT_IN_IT, NOT_IN_IT, OLD_EPOCH, f"NONE, {TOPIC} longer"),
        "Produce again": (NOT_IN_IT, NOT_IN_IT, OLD_EPOCH, NOTHING),
        "AddPartitionsToTxn": (
            *(f"NONE, state CompleteAbort {REOPENED}", f"NONE, state CompleteCommit {REOPENED}"),
            *(FENCED, NOTHING),
        ),
        "TxnOffsetCommit": (NOT_IN_IT, NOT_IN_IT, OLD_EPOCH, f"NONE, offset unstable, {OFFSETS} longer"),
        "EndTxn commit": (OTHER_RESULT, NOTHING, FENCED, COMMITTED_IT),
        "EndTxn abort": (NOTHING, OTHER_RESULT, FENCED, ABORTED_IT),
    },
    2: {
        "Produce": (OLD_EPOCH, OLD_EPOCH, OLD_EPOCH, OLD_EPOCH),
        "Produce again": (OLD_EPOCH, OLD_EPOCH, OLD_EPOCH, OLD_EPOCH),
        "AddPartitionsToTxn": (FENCED, FENCED, FENCED, FENCED),
        "TxnOffsetCommit": (OLD_EPOCH, OLD_EPOCH, OLD_EPOCH, OLD_EPOCH),
        "EndTxn commit": (OTHER_RESULT, NOTHING, FENCED, FENCED),
        "EndTxn abort": (NOTHING, OTHER_RESULT, FENCED, FENCED),
    },
}
"""By transaction version and kind the outcome at each of MOMENTS."""


class Bench:
    """One broker behind a proxy, and a connection past the proxy. Closed by its maker."""

    def __init__(self, kind: str, folder: Path) -> None:
        # among the requests are those of brokers, which a broker that is alone takes from nobody
        shared = {"kafkastore.metadata.path": str(folder / "shared.sqlite")} if kind == "kafkastore" else {}
        self.broker = BROKERS[kind](folder, QUICK_ABORT | shared)
        self.proxy = LateProxy(self.broker)
        self.committed: Counter[str] = Counter()
        """The values of the records of committed transactions."""
        self._direct: RawClient | None = None

    def start(self) -> Self:
        self.broker.start()
        self._direct = RawClient(self.broker.host, self.broker.port)
        for topic in (TOPIC, SOURCE):
            create_topic(self.proxy.bootstrap, topic, len(PARTITIONS[TOPIC]))
        for key_type in (0, 1):  # makes the topics of the coordinators
            wait_until(partial(self.has_coordinator, key_type), ABORT_LIMIT_S, "a coordinator")
        return self

    def has_coordinator(self, key_type: int) -> bool:
        asked = Request("find_coordinator", 4, {"key_type": key_type, "coordinator_keys": ["any"]})
        return error_of(self.ask(asked).coordinators[0]) == "NONE"

    def close(self) -> None:
        if self._direct is not None:
            self._direct.close()
        self.proxy.close()
        self.broker.kill()

    def ask(self, request: Request) -> Any:
        assert self._direct is not None
        return self._direct.ask(*request)

    def hold(self, request: Request) -> HeldRequest:
        """Sends the request through the proxy, which keeps it and cuts the connection."""
        held = self.proxy.hold_next(api_key(request.api))
        with closing(RawClient(self.broker.host, self.proxy.port)) as client:
            try:
                client.ask(*request)
            except ConnectionClosedError:
                return held
        raise AssertionError("the proxy let the request pass")

    def seen(self, transactional_id: str, group: str) -> dict[str, Any]:
        """What a late request could change."""
        ends = log_ends(self.ask, PARTITIONS, is_committed=False)
        return {
            **{f"{topic}-{number}": end for (topic, number), end in ends.items()},
            "offset": committed_offset(self.ask, group, TOPIC),
            "state": state(self.ask, transactional_id),
        }

    def wait_until_ended(self, transactional_id: str) -> None:
        """Until no marker is missing."""
        wait_until(
            lambda: not state(self.ask, transactional_id).startswith("Prepare"),
            ABORT_LIMIT_S,
            "the markers are written",
        )

    def assert_nothing_open(self) -> None:
        """No log has an open transaction: readers of committed records get to the end."""
        assert open_transactions(self.ask, PARTITIONS) == []
        ends = log_ends(self.ask, PARTITIONS, is_committed=False)
        assert log_ends(self.ask, PARTITIONS, is_committed=True) == ends

    def assert_all_is_well(self) -> None:
        """The end of a run: no transaction is open, and readers get the committed records once."""
        wait_until(lambda: not unfinished(self.ask), ABORT_LIMIT_S, "every transaction has ended")
        self.assert_nothing_open()
        read = read_topic(self.proxy.bootstrap, TOPIC, isolation_level="read_committed", fetch_wait_max_ms=20)
        assert Counter((message.value() or b"").decode() for message in read) == self.committed


def api_key(api: str) -> int:
    return BY_NAME[kafka_name(api)].key


def release(bench: Bench, held: HeldRequest, api: str, transactional_id: str, group: str) -> str:
    """Lets the request go; returns the error and what the request changed."""
    before = bench.seen(transactional_id, group)
    error = error_of(decode(api, held.version, held.release()))
    bench.wait_until_ended(transactional_id)
    after = bench.seen(transactional_id, group)
    changed = {key for key in before if before[key] != after[key]}
    changes = [f"state {before['state']} to {after['state']}"] if "state" in changed else []
    changes += [f"offset {after['offset']}"] if "offset" in changed else []
    changes += sorted({f"{key.rsplit('-', 1)[0]} longer" for key in changed - {"state", "offset"}})
    if error != "NONE" and not changes:
        return error
    return ", ".join([error, *(changes or ["nothing changed"])])


LEFT_EACH = 20
"""One of so many transactions that a late AddPartitionsToTxn began is left to its timeout."""


class RawTrial:
    """One late request of a raw producer."""

    def __init__(self, bench: Bench, version: int, kind: str, moment: str, number: int) -> None:
        self.bench = bench
        self.kind = kind
        self.moment = moment
        self.name = f"{version}-{kind}-{moment}-{number}".replace(" ", "-")
        self.number = number
        self.is_left = kind == "AddPartitionsToTxn" and number % LEFT_EACH == 2
        timeout_ms = SHORT_TIMEOUT_MS if self.is_left else TIMEOUT_MS
        self.producer = RawProducer(bench.ask, self.name, version, timeout_ms)

    def run(self) -> str:
        producer, values = self.producer, [f"{self.name}-in-time"]
        producer.init()
        producer.send(TOPIC, 0, values[0])
        producer.send_offsets(self.name, TOPIC, 5)
        late = self.late_request(values[0])
        held = self.bench.hold(late)
        commits = self.moment == "committed" or (self.moment == "next transaction" and self.number % 2 == 1)
        if self.moment == "new epoch":
            RawProducer(self.bench.ask, self.name, producer.version, TIMEOUT_MS).init()
        else:
            producer.end(commits=commits)
        self.bench.wait_until_ended(self.name)
        assert committed_offset(self.bench.ask, self.name, TOPIC) == (5 if commits else -1)
        self.bench.committed.update(values if commits else [])
        if self.moment == "next transaction":
            return self.in_next_transaction(held, late)
        outcome = release(self.bench, held, late.api, self.name, self.name)
        if REOPENED in outcome:
            self.end_reopened()
        self.bench.assert_nothing_open()
        return outcome

    def end_reopened(self) -> None:
        """The empty transaction that a late request of version 1 began is committed, ended by a new instance, or left
        to its timeout."""
        if self.is_left:
            wait_until(lambda: not unfinished(self.bench.ask), ABORT_LIMIT_S, "the timeout ends the transaction")
        elif self.number % 2 == 1:
            self.producer.end(commits=True)
            self.bench.wait_until_ended(self.name)
        else:
            RawProducer(self.bench.ask, self.name, 1, TIMEOUT_MS).init()

    def late_request(self, value: str) -> Request:
        producer = self.producer
        match self.kind:
            case "Produce":
                return producer.produce_request(TOPIC, 0, f"{self.name}-late")
            case "Produce again":
                return producer.produce_request(TOPIC, 0, value, sequence=0)
            case "AddPartitionsToTxn":
                return producer.add_request(TOPIC, 1)
            case "TxnOffsetCommit":
                return producer.offsets_request(self.name, TOPIC, 6)
        return producer.end_request(commits=self.kind == "EndTxn commit")

    def in_next_transaction(self, held: HeldRequest, late: Request) -> str:
        """Of version 1 the next transaction has the late request's partition and group, so that nothing but the epoch
        could tell the request from its own."""
        producer, value = self.producer, f"{self.name}-next"
        if producer.version == 1:
            producer.ask(producer.add_request(TOPIC, 0))
            producer.ask(producer.add_offsets_request(self.name))
        producer.send(TOPIC, 1, value)
        outcome = release(self.bench, held, late.api, self.name, self.name)
        error = error_of(self.bench.ask(producer.end_request(commits=True)))
        self.bench.wait_until_ended(self.name)
        if error == "NONE":
            late_value = [f"{self.name}-late"] if self.kind == "Produce" and outcome.startswith("NONE") else []
            self.bench.committed.update([value, *late_value])
        self.bench.assert_nothing_open()
        return outcome if error == "NONE" else f"{outcome}; then commit {error}"


Table = dict[tuple[str, str, str], Counter[str]]
"""The outcomes by transaction version or client, kind and moment."""


def run(bench: Bench, count: int, versions: Iterable[int], kinds: Iterable[str]) -> Table:
    table: Table = {}
    for version in versions:
        for kind in kinds:
            for moment in MOMENTS:
                trials = (RawTrial(bench, version, kind, moment, number) for number in range(count))
                found = table[str(version), kind, moment] = Counter(trial.run() for trial in trials)
                print(row(str(version), kind, moment, found), flush=True)
    return table


def row(sender: str, kind: str, moment: str, outcomes: Mapping[str, int]) -> str:
    told = "; ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    return f"| {sender} | {kind} | {moment} | {sum(outcomes.values())} | {told} |"


def unexpected(table: Table) -> list[str]:
    """The rows with another outcome than Apache Kafka's."""
    return [
        row(version, kind, moment, outcomes)
        for (version, kind, moment), outcomes in table.items()
        if set(outcomes) != {EXPECTED[int(version)][kind][MOMENTS.index(moment)]}
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cluster.late_requests", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--against", choices=sorted(BROKERS), default="kafkastore")
    parser.add_argument("--versions", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="kafkastore-late-") as folder,
        closing(Bench(given.against, Path(folder))) as bench,
    ):
        print("| version | late request | moment | sent | outcomes |\n|---|---|---|---|---|", flush=True)
        table = run(bench.start(), given.count, given.versions, given.kinds)
        bench.assert_all_is_well()
    others = unexpected(table)
    print(f"{sum(table[key].total() for key in table)} late requests, {len(others)} rows not as expected", flush=True)
    return bool(others)


if __name__ == "__main__":
    sys.exit(main())
