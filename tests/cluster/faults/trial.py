"""One run of a scenario: a topic of its own, clients at work, a fault, and the verdict on every record.

The verdict is ``history.checker``'s. Besides, a trial reports how long it took until producing went on, and a sentence
for every other promise that was broken.
"""

from __future__ import annotations

import shutil
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cluster.faults.traffic import FaithfulWriter, Reader, Writer, id_of
from history.checker import check
from history.events import Acked, History, Read, Replica, Sent
from history.transactions import RULES
from peer.broker_process import wait_until
from peer.topics import end_offsets, place_of, read_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from cluster.faults.faulty_cluster import FaultyCluster
    from cluster.faults.transactions import Transactions

PARTITIONS = 3
ALL = range(PARTITIONS)
WARM_UP_ACKS = 500
GAP_LIMIT_S = 1.0
RESUME_LIMIT_S = 90.0
EQUAL_LIMIT_S = 30.0
LAST_BYTES = 256
"""The last bytes of a log: they hold the last batch, or enough of it to tell it from other batches."""

BATCH_HEAD = struct.Struct(">qi")

DIED = ("Traceback (most recent call last)", "panicked at")


@dataclass
class Outcome:
    """The result of a trial."""

    acked: int = 0
    lost: int = 0
    duplicated: int = 0
    divergent: int = 0
    transactions: tuple[int, int, int] | None = None
    """How many were committed, aborted, and of unknown outcome."""
    torn: int = 0
    stalls: int = 0
    """How many calls of a transactional client never returned."""
    resumed_after_s: float | None = None
    violations: list[str] = field(default_factory=list)


class Trial:
    """See the module. ``topic`` has three partitions with three replicas, or the replicas of ``assignment``; at least
    two must be in sync."""

    def __init__(
        self, cluster: FaultyCluster, name: str, number: int, assignment: Sequence[Sequence[int]] | None = None
    ) -> None:
        self.cluster = cluster
        self.number = number
        self.topic = f"{name}-{number}"
        self.outcome = Outcome()
        self.allows_loss = False
        self.assignment = assignment
        self.partitions = range(len(assignment) if assignment else PARTITIONS)
        self.notes: list[Sent | Acked] = []
        """The events of producers other than the writer."""
        self.transactions: Transactions | None = None
        self._faithful: FaithfulWriter | None = None
        self._printed = [len(broker.output()) for broker in cluster.brokers]
        self.writer = Writer(cluster.bootstrap, self.topic, len(self.partitions))
        self.reader = Reader(cluster.bootstrap, self.topic)

    def begin(self, config: Mapping[str, str], prepare: Callable[[Trial], None]) -> None:
        """Creates the topic and starts the clients; returns when records are acknowledged."""
        if self.assignment is None:
            self.cluster.create(self.topic, PARTITIONS, 3, config)
        else:
            self.cluster.create_on(self.topic, self.assignment, config)
        self.cluster.wait_in_sync(self.topic, 3)
        prepare(self)
        self.writer.start()
        self.reader.start_at(
            {partition: low for partition, (low, _) in end_offsets(self.cluster.bootstrap, self.topic).items()}
        )
        self.wait_for_acks(WARM_UP_ACKS)

    # ---- what scenarios use
    def expect(self, kept: bool, otherwise: str) -> None:
        """Checks a promise that is not about records; ``otherwise`` is the violation."""
        if not kept:
            self.outcome.violations.append(otherwise)

    def wait_for_acks(self, count: int) -> None:
        """Waits until ``count`` more records are acknowledged."""
        target = len(self.writer.acks) + count
        wait_until(lambda: len(self.writer.acks) >= target, RESUME_LIMIT_S, f"{count} more records are acknowledged")

    def faithful_writer(self, node: int) -> FaithfulWriter:
        """A producer to partition 0 that stays with ``node``; its records are judged like the others."""
        self._faithful = FaithfulWriter(self.cluster.broker(node).bootstrap, self.topic, 0)
        return self._faithful

    def leader(self) -> int:
        """The leader of partition 0."""
        return self.cluster.leader(self.topic)

    def resumes(self, partitions: Sequence[int], since: float, limit_s: float) -> None:
        """Waits until records are acknowledged in all these partitions again; the limit is a promise."""

        def resumed() -> bool:
            return all(self.writer.resumed_at(partition, since) is not None for partition in partitions)

        wait_until(resumed, RESUME_LIMIT_S, f"partitions {list(partitions)} of {self.topic} are produced to again")
        times = [self.writer.resumed_at(partition, since) or 0.0 for partition in partitions]
        took = max(times, default=since) - since
        self.outcome.resumed_after_s = max(took, self.outcome.resumed_after_s or 0.0)
        self.expect(took <= limit_s, f"it took {took:.1f} s, not {limit_s:g} s, until producing went on")

    def goes_on(self, since: float, what: str) -> float:
        """Checks that records were acknowledged all the time since then but for GAP_LIMIT_S, or twice the longest gap
        before it, when the machine was as busy; returns the longest gap.
        """
        usual = self.writer.longest_gap(self.writer.acks[WARM_UP_ACKS // 2].at, since)
        gap, limit = self.writer.longest_gap(since, time.monotonic()), max(GAP_LIMIT_S, 2 * usual)
        self.expect(gap <= limit, f"nothing was acknowledged for {gap:.2f} s {what}, which may be {limit:.2f} s")
        return gap

    # ---- the end
    def keep(self, folder: Path) -> None:
        """Copies the topic's logs, the brokers' output and the violations to the folder, to look for the reason."""
        for broker in self.cluster.brokers:
            for found in broker.log_dir.glob(f"{self.topic}-[0-9]*"):
                shutil.copytree(found, folder / broker.folder.name / found.name, dirs_exist_ok=True)
            (folder / broker.folder.name).mkdir(parents=True, exist_ok=True)
            (folder / broker.folder.name / "out.log").write_text(broker.output())
        (folder / "violations").write_text("".join(f"{violation}\n" for violation in self.outcome.violations))

    def end(self) -> Outcome:
        """Ends all faults, waits until all replicas are in sync, stops the clients, and judges every record."""
        self.attempt("all brokers run again", self.cluster.mend)
        self.attempt("all replicas are in sync again", lambda: self.cluster.wait_in_sync(self.topic, 3))
        self.stop_clients()
        if self.transactions is not None:
            self.attempt("no transaction stays open", self.transactions.wait_until_stable)
        self.attempt("the verdict", self._judge)
        self._look_for_the_dead()
        return self.outcome

    def stop_clients(self) -> None:
        for client in (self.writer, self.reader):
            if client.is_alive():
                client.finish()
        if self._faithful is not None:
            self._faithful.finish()
        self.outcome.acked = len(self.writer.acks)
        errors: list[object] = [*self.writer.errors, *self.reader.errors]
        if self.transactions is not None:
            self.attempt("the transactional clients end", self.transactions.finish)
            errors += self.transactions.reader.errors
            self.outcome.violations += self.transactions.wrong
            self.outcome.transactions = self.transactions.outcomes()
            self.outcome.stalls = self.transactions.stalls
        self.expect(not errors, f"{len(errors)} errors of clients, first {next(iter(errors), None)}")
        self.expect(self.writer.unanswered == 0, f"{self.writer.unanswered} records were never answered")

    def attempt(self, what: str, step: Callable[[], object]) -> None:
        """Runs a step. A failure is a violation and does not end the trial: the steps after it may tell more."""
        try:
            step()
        except Exception as error:  # noqa: BLE001
            self.outcome.violations.append(f"{what}: {type(error).__name__}: {error}")

    def _judge(self) -> None:
        bounds = end_offsets(self.cluster.bootstrap, self.topic)
        held = {number: self.cluster.partition(self.topic, number).replicas for number in self.partitions}
        self.attempt(
            "replicas that end alike",
            lambda: wait_until(lambda: self._end_alike(held), EQUAL_LIMIT_S, "the logs end alike"),
        )
        faithful = self._faithful.notes if self._faithful else []
        history = History([*self.writer.events(), *faithful, *self.notes, *self.reader.reads])
        final: dict[int, list[Read]] = {partition: [] for partition in self.partitions}
        everything = {"check_crcs": True, "isolation_level": "read_uncommitted"}
        for message in read_topic(self.cluster.bootstrap, self.topic, 60, **everything):
            partition, offset = place_of(message)
            final[partition].append(Read(id_of(message), partition, offset, "fresh"))
        history.final.update(final.items())
        history.replicas = [
            self._replica(node, partition, *bounds[partition]) for partition in bounds for node in held[partition]
        ]
        if self.transactions is not None:
            self.transactions.add_to(history)
        self._tell(history)

    def _tell(self, history: History) -> None:
        found = check(history)
        rules = [violation.rule for violation in found]
        self.outcome.lost = rules.count("lost") + rules.count("moved")
        self.outcome.duplicated = rules.count("duplicated")
        self.outcome.divergent = rules.count("divergent") + rules.count("incomplete")
        self.outcome.torn = sum(rule in RULES for rule in rules)
        allowed = {"lost", "moved", "changed"} if self.allows_loss else set()
        self.outcome.violations += [str(violation) for violation in found if violation.rule not in allowed]

    def _end_alike(self, held: Mapping[int, Sequence[int]]) -> bool:
        """Whether the replicas' logs have the same last bytes. Their first bytes may differ: a replica that is created
        late begins at the log start of that moment."""
        for number, nodes in held.items():
            logs = self.cluster.log_bytes(self.topic, number)
            if len({logs[node - 1][-LAST_BYTES:] for node in nodes}) != 1:
                return False
        return True

    def _replica(self, node: int, partition: int, log_start: int, high_watermark: int) -> Replica:
        folder = self.cluster.broker(node).log_dir / f"{self.topic}-{partition}"
        records = dict(batch for path in sorted(folder.glob("*.log")) for batch in batches_of(path))
        return Replica(partition, node, high_watermark, records, log_start)

    def _look_for_the_dead(self) -> None:
        for broker, before in zip(self.cluster.brokers, self._printed, strict=True):
            printed = broker.output()[before:]
            self.expect(not any(sign in printed for sign in DIED), f"{broker.folder.name} has an error in its log")
            self.expect(broker.is_running(), f"{broker.folder.name} ended by itself")


def batches_of(path: Path) -> list[tuple[int, bytes]]:
    """(base offset, bytes) of each batch of a segment."""
    data = path.read_bytes()
    found = []
    position = 0
    while position + BATCH_HEAD.size <= len(data):
        base, length = BATCH_HEAD.unpack_from(data, position)
        end = position + BATCH_HEAD.size + length
        found.append((base, data[position:end]))
        position = end
    return found
