"""Exactly-once copies by Kafka's own TransactionalMessageCopier while copiers or brokers are bounced.

    cd tests; python -m cluster.message_copies [--runs N] [--case NAME] [--records N] [--store sqlite|zookeeper]

A case is named by four words and, with ``group``, a fifth: ``clean`` (SIGTERM) or ``hard`` (SIGKILL) bounces of
``clients`` or ``brokers``, on ``one`` or ``three`` brokers, with partitions ``still`` or ``moving``; ``group``: the
copiers subscribe. ``--case`` takes a name or its beginning. Two copiers copy a partition each. A reader of committed
records follows meanwhile. It and a read at the end must find each record once and in order, and no partition may have
an open transaction at the end. One line is printed for each run; the exit status is 1 when a promise was broken. (H13)
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from cluster.cluster import Cluster
from cluster.committed_reader import CommittedReader, Found
from cluster.message_copier import GROUP, Copying, MessageCopier
from cluster.moves import LogDirMoves, Moves, ReplicaMoves
from peer.broker_process import wait_until
from peer.topics import place_of, read_topic, wait_until_stable

SOURCE, TARGET = "numbers", "copies"
OFFSETS, STATE = "__consumer_offsets", "__transaction_state"
PARTITIONS = 2
INTERNAL_PARTITIONS = 4
RECORDS = 100_000
BOUNCES = 3
TRANSACTIONS = 1000
"""The transactions of a run, as a rule: so many that each bounce comes in the midst of some."""

MAX_TRANSACTION_RECORDS = 100
LIMIT_S = 180.0
GROUP_REST_S = 60.0
"""How long a group stays with its coordinator, which gives members that died their session of 45 s when it loads it,
as Kafka's does: without a rest no rebalance would ever end."""

OVERRIDES = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
TOPIC_CONFIG = {"segment.bytes": str(1 << 20)}


@dataclass(frozen=True)
class Case:
    bounce: str
    bounced: str
    size: str
    movement: str
    mode: str = ""

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.bounce, self.bounced, self.size, self.movement, self.mode)))

    @property
    def is_clean(self) -> bool:
        return self.bounce == "clean"

    @property
    def brokers(self) -> int:
        return 1 if self.size == "one" else 3


FOUR_WORDS = (("clean", "hard"), ("clients", "brokers"), ("one", "three"), ("still", "moving"))
CASES = [Case(*words) for words in product(*FOUR_WORDS)]
GROUP_CASES = [Case(*words, mode="group") for words in product(*FOUR_WORDS)]


@dataclass
class Outcome:
    """What a run did and found."""

    seconds: float = 0.0
    copies: int = 0
    duplicates: int = 0
    bounces: int = 0
    bounced_midway: int = 0
    """The bounces that began before all was copied."""
    lives: int = 0
    moves: int = 0
    deaths: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def figures(self) -> str:
        return (
            f"{self.seconds:.1f} s, {self.copies} copies, {self.duplicates} duplicates, {self.bounces} bounces "
            f"({self.bounced_midway} midway), {self.lives} copier processes, {len(self.deaths)} died by themselves, "
            f"{self.moves} moves, {len(self.broken)} broken"
        )


def expected(records: int) -> Found:
    return {number: [str(one) for one in range(number, records, PARTITIONS)] for number in range(PARTITIONS)}


def fill(bootstrap: str, records: int) -> None:
    """Numbered records, in their order within each partition, of an idempotent producer."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0})
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    for number in range(records):
        while len(producer) > 50_000:
            producer.poll(0.01)
        producer.produce(SOURCE, str(number), str(number), partition=number % PARTITIONS, on_delivery=delivered)
    assert producer.flush(LIMIT_S) == 0
    assert not failed


# ---- one run
class Run:
    """One case on new brokers. ``turn`` is the number of the run: every second hard bounce restarts its broker before
    the broker's session has ended, in odd runs the first of them."""

    def __init__(
        self, case: Case, folder: Path, records: int, *, turn: int = 0, bounces: int = BOUNCES, store: str = "sqlite"
    ) -> None:
        self.case = case
        self.folder = folder
        self.records = records
        self.turn = turn
        self.bounces = bounces
        self.outcome = Outcome()
        log_dirs = {1: [folder / "dirs" / name for name in ("one", "two")]} if case.brokers == 1 else {}
        self.cluster = Cluster(folder, store, case.brokers, OVERRIDES, log_dirs)
        self.copiers: list[MessageCopier] = []
        self.moves: Moves | None = None

    def play(self) -> Outcome:
        try:
            self.cluster.start()
            self._prepare()
            began = time.monotonic()
            with CommittedReader(self.cluster.bootstrap, TARGET, PARTITIONS) as reader:
                self._copy(reader)
                self.outcome.seconds = time.monotonic() - began
            self._judge(reader)
        except AssertionError as error:
            self.outcome.broken.append(str(error))
        finally:
            self.outcome.lives = sum(copier.lives for copier in self.copiers)
            self.outcome.deaths = [death for copier in self.copiers for death in copier.deaths]
            for copier in self.copiers:
                copier.close()
            if self.moves is not None:
                self.moves.give_up()
            self.cluster.close()
        return self.outcome

    def _prepare(self) -> None:
        for topic in (SOURCE, TARGET):
            self.cluster.create(topic, PARTITIONS, self.case.brokers, TOPIC_CONFIG)
        for topic in (OFFSETS, STATE):
            self.cluster.create(topic, INTERNAL_PARTITIONS, self.case.brokers, {"cleanup.policy": "compact"})
        fill(self.cluster.bootstrap, self.records)

    def _copy(self, reader: CommittedReader) -> None:
        self._start_copiers()
        if self.case.movement == "moving":
            kind = LogDirMoves if self.case.brokers == 1 else ReplicaMoves
            rests = {OFFSETS: GROUP_REST_S} if self.case.mode == "group" else {}
            self.moves = kind(self.cluster, places_in_turn(), rests)
            self.moves.start()
        for number in range(self.bounces):
            enough = self.records * (number + 1) // (self.bounces + 2)
            wait_until(partial(reader.has_read, enough), LIMIT_S, f"{enough} are copied")
            self.outcome.bounces += 1
            self.outcome.bounced_midway += reader.count < self.records
            if self.case.bounced == "clients":
                self._bounce_copiers()
            else:
                self._bounce_broker(number)
        try:
            wait_until(partial(reader.has_read, self.records), LIMIT_S, "all is copied")
        except AssertionError as error:
            raise AssertionError(f"{error}; {reader.count} of {self.records} are read") from None
        for copier in self.copiers:
            copier.finish(LIMIT_S)
        if self.moves is not None:
            self.moves.finish()
            self.outcome.moves = self.moves.moved
            self.outcome.broken += [f"move of {error}" for error in self.moves.errors]

    def _start_copiers(self) -> None:
        size = min(max(self.records // TRANSACTIONS, 2), MAX_TRANSACTION_RECORDS)
        copying = Copying(self.cluster.bootstrap, SOURCE, TARGET, size, joins=self.case.mode == "group")
        self.copiers = [MessageCopier(self.folder, copying, number) for number in range(PARTITIONS)]
        for copier in self.copiers:
            copier.start()

    # ---- bounces
    def _bounce_copiers(self) -> None:
        for copier in self.copiers:
            copier.bounce(clean=self.case.is_clean)

    def _bounce_broker(self, number: int) -> None:
        broker = self.cluster.brokers[number % len(self.cluster.brokers)]
        if self.case.is_clean:
            broker.stop()
        else:
            broker.kill()
            if self.case.brokers > 1 and (number + self.turn) % 2 == 0:
                self.cluster.wait_for_brokers(self.case.brokers - 1)
        broker.start()
        self.cluster.wait_for_brokers(self.case.brokers)
        wait_until(self._all_in_sync, LIMIT_S, "all replicas are in sync")

    def _all_in_sync(self) -> bool:
        topics = self.cluster.admin().list_topics(timeout=10).topics
        partitions = [one for topic in topics.values() for one in topic.partitions.values()]
        return all(set(one.isrs) == set(one.replicas) and one.leader > 0 for one in partitions)

    # ---- the promises
    def _judge(self, reader: CommittedReader) -> None:
        bootstrap, broken = self.cluster.bootstrap, self.outcome.broken
        for topic in (TARGET, OFFSETS):
            wait_until_stable(bootstrap, topic, LIMIT_S)
        read: Found = {number: [] for number in range(PARTITIONS)}
        for message in read_topic(bootstrap, TARGET, LIMIT_S, isolation_level="read_committed", check_crcs=True):
            value = (message.value() or b"").decode()
            read[place_of(message)[0]].append(value if message.key() == message.value() else f"{message.key()!r} has")
        self.outcome.copies = sum(map(len, read.values()))
        wanted = expected(self.records)
        for name, found in (("the reader that followed", reader.found), ("the read at the end", read)):
            broken += [f"{name} found {what}" for what in differences(found, wanted)]
            self.outcome.duplicates += duplicates(found)
        broken += reader.errors
        broken += wrong_offsets(bootstrap, wanted)
        if self.case.movement == "moving" and self.outcome.moves < 1:
            broken.append("nothing was moved")
        for copier in self.copiers:
            if self.case.bounced == "clients" and copier.lives == 1:
                broken.append(f"{copier.name} was never bounced")
            if self.case.bounced == "clients" and self.case.movement == "still":
                broken += [f"no broker was away, but {death}" for death in copier.deaths]


def places_in_turn() -> list[tuple[str, int]]:
    """The partitions of all topics, so that a few moves are of each topic."""
    counts = {TARGET: PARTITIONS, STATE: INTERNAL_PARTITIONS, OFFSETS: INTERNAL_PARTITIONS, SOURCE: PARTITIONS}
    return [
        (topic, number) for number in range(INTERNAL_PARTITIONS) for topic, count in counts.items() if number < count
    ]


def duplicates(found: Found) -> int:
    values = Counter(value for of_partition in found.values() for value in of_partition)
    return sum(count - 1 for count in values.values())


def differences(found: Found, wanted: Found) -> Iterable[str]:
    for number, values in wanted.items():
        if found[number] == values:
            continue
        counts = Counter(found[number])
        missing = [value for value in values if value not in counts]
        doubled = [value for value, count in counts.items() if count > 1]
        strange = set(counts) - set(values)
        yield (
            f"in partition {number} {len(found[number])} of {len(values)} records: {len(missing)} missing "
            f"{missing[:5]}, {len(doubled)} doubled {doubled[:5]}, {len(strange)} unknown {sorted(strange)[:5]}"
            + ("" if missing or doubled or strange else ", not in order")
        )


def wrong_offsets(bootstrap: str, wanted: Found) -> list[str]:
    """The committed offsets of the copiers' group that are not behind the last record."""
    with closing(Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})) as consumer:
        found = {one.partition: one.offset for one in consumer.committed([TopicPartition(SOURCE, n) for n in wanted])}
    return [f"the offset of {number} is {found[number]}" for number, of in wanted.items() if found[number] != len(of)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="cluster.message_copies", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--case", default="", help="a name or the beginning of some; by default all without a group")
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--store", choices=("sqlite", "zookeeper"), default="sqlite")
    parser.add_argument("--keep", action="store_true", help="keeps what the processes wrote of every run")
    asked = parser.parse_args()
    known = CASES if asked.case in ("", *(case.name for case in CASES)) else CASES + GROUP_CASES
    chosen = [case for case in known if case.name.startswith(asked.case)]
    if not chosen:
        parser.error(f"no case begins with {asked.case}; cases are {', '.join(case.name for case in known)}")
    failed = 0
    for case, turn in product(chosen, range(asked.runs)):
        folder = Path(tempfile.mkdtemp(prefix="message-copies-"))
        outcome = Run(case, folder, asked.records, turn=turn, store=asked.store).play()
        print(f"{case.name} run {turn + 1}: {outcome.figures()}", flush=True)
        for line in [*outcome.broken[:10], *outcome.deaths[:5]]:
            print(f"  {line}", flush=True)
        failed += bool(outcome.broken)
        if outcome.broken or asked.keep:
            print(f"  what the processes printed is in {folder}", flush=True)
        else:
            shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
