"""Late requests of real clients: the proxy holds one back, cuts the client's connection, and the client repeats the
request on another one and ends its transaction; then the first is let go (H11, H12; see ``late_requests.py``).

    cd tests; python -m cluster.late_clients [--count N] [--clients librdkafka java ...]

A late request is the repetition of one that came in time, whatever the client. It may be refused, or answered as
before; it must change nothing, but for what ``MAY_CHANGE`` says.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from pathlib import Path

from clients.transactional import Aiokafka, Client, Go, Java, KafkaPython, Librdkafka, Script, Step, copy, send, step
from cluster.late_requests import REOPENED, SOURCE, TIMEOUT_MS, TOPIC, Bench, Table, api_key, release, row
from cluster.raw_producer import RawProducer
from peer.broker_factory import KINDS as BROKERS
from peer.java_tools import JavaTools

KINDS = {
    "Produce": "produce",
    "AddPartitionsToTxn": "add_partitions_to_txn",
    "TxnOffsetCommit": "txn_offset_commit",
    "EndTxn": "end_txn",
}
OF_CLIENTS = {"add_partitions_to_txn": 3}
"""The newest version that clients send; brokers send newer ones to each other."""

MOMENTS = ("aborted", "committed", "new epoch")
CLIENTS: dict[str, Callable[[], Client]] = {
    "librdkafka": Librdkafka,
    "aiokafka": Aiokafka,
    "kafka-python": KafkaPython,
    "franz-go": Go,
}
"""Java's client is made apart: its JVM is shared."""

NOT_SENT = "not sent"
SENDS_NO_ADD = ("java", "franz-go")
"""Clients of transaction version 2: the leader adds the partition."""

MAY_CHANGE = {
    ("AddPartitionsToTxn", "aborted"): f"NONE, state CompleteAbort {REOPENED}",
    ("AddPartitionsToTxn", "committed"): f"NONE, state CompleteCommit {REOPENED}",
}
"""A producer of version 1 begins an empty transaction of its present epoch, in Kafka too; the next
instance, or its timeout, aborts it."""


def steps_of(kind: str, moment: str, name: str) -> list[Step]:
    """The transaction of a client, and what makes the moment."""
    commits = moment == "committed"
    if kind == "TxnOffsetCommit":
        done = [step("init"), copy(SOURCE, TOPIC, name, 1, commits=commits)]
        return [*done, step("init", "heir")] if moment == "new epoch" else done
    done = [step("init"), step("begin"), send(TOPIC, (0, f"{name}-in-time"))]
    if moment == "new epoch":
        return [*done, *([step("abort")] if kind == "EndTxn" else []), step("init", "heir")]
    return [*done, step("commit" if commits else "abort")]


def trial(bench: Bench, client: Client, kind: str, moment: str, name: str) -> str:
    api = KINDS[kind]
    held = bench.proxy.hold_next(api_key(api), OF_CLIENTS.get(api, 99))
    steps = steps_of(kind, moment, name)
    outcomes = client.run(Script(bench.proxy.bootstrap, name, steps, timeout_ms=TIMEOUT_MS))
    assert outcomes == [""] * len(steps), f"{name}: {outcomes}"
    bench.wait_until_ended(name)
    if moment == "committed":
        bench.committed[SOURCE_VALUE if kind == "TxnOffsetCommit" else f"{name}-in-time"] += 1
    if not held.has_come():  # franz-go sends no offsets of a transaction that it aborts
        return NOT_SENT
    outcome = release(bench, held, api, name, name)
    if REOPENED in outcome:
        RawProducer(bench.ask, name, 1, TIMEOUT_MS).init()
    bench.assert_nothing_open()
    return outcome


SOURCE_VALUE = "copied"


def fill(bench: Bench) -> None:
    """The one record that copies read."""
    steps = [step("init"), step("begin"), send(SOURCE, (0, SOURCE_VALUE)), step("commit")]
    assert Librdkafka().run(Script(bench.proxy.bootstrap, "filler", steps)) == [""] * len(steps)


def run(bench: Bench, count: int, names: Iterable[str], made: dict[str, Client]) -> Table:
    table: Table = {}
    for client in names:
        for kind in KINDS:
            if kind == "AddPartitionsToTxn" and client in SENDS_NO_ADD:
                continue
            for moment in MOMENTS:
                trials = (f"{client}-{kind}-{moment}-{number}".replace(" ", "-") for number in range(count))
                found = Counter(trial(bench, made[client], kind, moment, name) for name in trials)
                table[client, kind, moment] = found
                print(row(client, kind, moment, found), flush=True)
    return table


def accepted(table: Table) -> list[str]:
    """The rows in which a late request changed what it may not."""
    return [
        row(client, kind, moment, outcomes)
        for (client, kind, moment), outcomes in table.items()
        if any(", " in one and one not in {"NONE, nothing changed", MAY_CHANGE.get((kind, moment))} for one in outcomes)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cluster.late_clients", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--against", choices=sorted(BROKERS), default="kafkastore")
    parser.add_argument("--clients", nargs="+", default=["librdkafka", "java"], choices=[*CLIENTS, "java"])
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkastore-late-")))
        made = {name: make() for name, make in CLIENTS.items()}
        if "java" in given.clients:
            made["java"] = Java(stack.enter_context(closing(JavaTools(folder / "java.log"))))
        bench = stack.enter_context(closing(Bench(given.against, folder)))
        fill(bench.start())
        print("| client | late request | moment | sent | outcomes |\n|---|---|---|---|---|", flush=True)
        table = run(bench, given.count, given.clients, made)
        bench.assert_all_is_well()
    bad = accepted(table)
    sent = sum(found.total() - found[NOT_SENT] for found in table.values())
    print(f"{sent} late requests, {len(bad)} rows with one accepted", flush=True)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
