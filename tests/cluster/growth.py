"""The coordinators' topics grow under load and the three brokers restart one by one: afterwards no group and no
transactional id may stand still.

    cd tests; python -m cluster.growth [--store sqlite|zookeeper] [--folder DIR] [--seed N]

Writers, one for each transactional id, commit and abort transactions; some send a group's offsets with them. Groups,
some of two members, read the committed records and commit offsets. Partitions are added to ``__consumer_offsets`` and
``__transaction_state`` meanwhile. Then each broker is stopped (SIGTERM), one of them killed, and started again. As in
Kafka a key stays in its partition until a broker starts again, and brokers place keys differently until the last has:
meanwhile a producer whose id moves may end for good, a group that moves may lose its offsets and begin anew. Within
``LIMIT_S`` of the last broker's return each id must commit and each group be at the end; every committed record must be
read once, and no other. The exit status is 1 when a promise was broken.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions, ElectionType, KafkaException
from confluent_kafka.admin import NewPartitions

from cluster.cluster import Cluster
from cluster.growth_load import CALL_LIMIT_S, PARTITIONS, TOPIC, UNKNOWN_ID, Member, Writer
from cluster.request_router import Router
from cluster.transaction_views import unfinished
from kafkastore.coordinator.runtime.partitioning import partition_for
from parity.raw_client import ConnectionClosedError
from peer.broker_process import wait_until
from peer.topics import end_offsets, last_stable_offsets, place_of, read_topic

OFFSETS, STATE = "__consumer_offsets", "__transaction_state"
BEFORE = 5
"""The partitions of both topics before they grow."""

GROWTHS = (6, 7, 10)
"""How many they may have afterwards; each topic has one of these."""

COUNT = 12
"""The groups, and the transactional ids."""

LATE = 2
"""So many of each begin only when the topics have grown."""

STAYING = 3
"""So many of each stay in their partition when the topics grow; the others move."""

LIMIT_S = 60.0
LEAST_LIMIT_S = 10.0
"""What is looked at after something else had not gone on in time has so long at least."""

GOING_ON = 2
"""The transactions that each id has to commit in each phase."""

BETWEEN = 30
"""The transactions that all writers together commit between two restarts; ids that move may not be among them."""

OVERRIDES = {
    "offsets.topic.num.partitions": str(BEFORE),
    "transaction.state.log.num.partitions": str(BEFORE),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "300",
}


# ---- what the run did and found
@dataclass
class Outcome:
    growths: dict[str, int] = field(default_factory=dict)
    restarts: list[str] = field(default_factory=list)
    commits: int = 0
    records: int = 0
    aborted: int = 0
    unknown: int = 0
    rewinds: int = 0
    joins: int = 0
    ids_s: float = 0.0
    """How long after the last return the last id had committed again."""
    groups_s: float = 0.0
    """How long after the last return the last group was at the end."""
    stable_s: float = 0.0
    """How long after the last return no transaction was open."""
    causes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def lines(self) -> Iterable[str]:
        grown = ", ".join(f"{topic} to {count}" for topic, count in self.growths.items())
        yield f"grown: {grown}; {', '.join(self.restarts)}"
        yield (
            f"{self.commits} commits of {self.records} records, {self.aborted} records aborted, {self.unknown} "
            f"transactions of unknown end; {self.joins} assignments, {self.rewinds} partitions read again"
        )
        yield f"producers made anew after: {counted(self.causes)}; refused: {counted(self.refusals)}"
        yield (
            f"after the last return all ids had committed in {self.ids_s:.1f} s, all groups were at the end in "
            f"{self.groups_s:.1f} s, no transaction was open in {self.stable_s:.1f} s; {len(self.broken)} broken"
        )


def counted(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counter.most_common()) or "nothing"


def placed_names(kind: str, seed: int, after: int) -> dict[str, bool]:
    """Names, and whether each stays in its partition when the topic grows."""
    tried = [f"{kind}-{seed}-{number}" for number in range(100 * COUNT)]
    stays = {name: partition_for(name, BEFORE) == partition_for(name, after) for name in tried}
    staying = [name for name in tried if stays[name]][:STAYING]
    moving = [name for name in tried if not stays[name]][: COUNT - STAYING]
    return {name: stays[name] for name in (*moving, *staying)}


class Run:
    """One growth of a new cluster."""

    def __init__(self, folder: Path, seed: int, store: str = "sqlite") -> None:
        self.chance = random.Random(seed)
        self.outcome = Outcome()
        self.cluster = Cluster(folder, store, overrides=OVERRIDES)
        self.router = Router(self.cluster)
        self.outcome.growths = {topic: self.chance.choice(GROWTHS) for topic in (OFFSETS, STATE)}
        bootstrap = self.cluster.bootstrap
        ids = placed_names("id", seed, self.outcome.growths[STATE])
        self.writers = [
            Writer(bootstrap, name, seed, stays=stays, sends_offsets=number % 3 == 0)
            for number, (name, stays) in enumerate(ids.items())
        ]
        groups = placed_names("group", seed, self.outcome.growths[OFFSETS])
        self.groups = list(groups)
        pairs = {self.groups[0], self.groups[-1]}
        self.members = [
            Member(bootstrap, group, stays=stays)
            for group, stays in groups.items()
            for _ in range(2 if group in pairs else 1)
        ]
        self.chance.shuffle(self.writers)
        self.chance.shuffle(self.groups)
        self.returned_at = 0.0

    def play(self) -> Outcome:
        try:
            self.cluster.start()
            self.cluster.create(TOPIC, PARTITIONS)
            self._load_and_grow()
            self._restart_all()
            self._must_go_on()
            self._judge_records()
        except (AssertionError, KafkaException, OSError) as error:
            self.outcome.broken.append(f"{type(error).__name__}: {error}")
        finally:
            self._end_load()
            self.cluster.stop()
            self.cluster.close()
        return self.outcome

    # ---- phases
    def _load_and_grow(self) -> None:
        late = set(self.groups[:LATE])
        early = [*self.writers[LATE:], *(member for member in self.members if member.group not in late)]
        for thread in early:
            thread.start()
        self._wait_for_progress("before the growth")
        admin = self.cluster.admin()
        asked = [NewPartitions(topic, count) for topic, count in self.outcome.growths.items()]
        for future in admin.create_partitions(asked, operation_timeout=20).values():
            future.result(LIMIT_S)
        for thread in (*self.writers, *self.members):
            if thread not in early:
                thread.start()
        self._make_some_anew()
        self._wait_for_progress("after the growth")
        self._judge_places(self.writers, self.members)

    def _restart_all(self) -> None:
        brokers = self.chance.sample(self.cluster.brokers, len(self.cluster.brokers))
        killed = self.chance.choice(brokers)
        for broker in brokers:
            is_killed, waits = broker is killed, self.chance.random() < 1 / 2
            if is_killed:
                broker.kill()
            else:
                broker.stop()
            if waits:
                self.cluster.wait_for_brokers(len(brokers) - 1)
            broker.start()
            self.cluster.wait_for_brokers(len(brokers))
            self.returned_at = time.monotonic()
            node = self.cluster.brokers.index(broker) + 1
            self.outcome.restarts.append(f"{node} {'killed' if is_killed else 'stopped'}{' for longer' * waits}")
            for topic in (TOPIC, OFFSETS, STATE):
                self.cluster.wait_in_sync(topic, len(brokers))
            if self.chance.random() < 1 / 2:
                admin = self.cluster.admin()  # kept: its requests end with its last reference
                admin.elect_leaders(ElectionType.PREFERRED).result(LIMIT_S)
            if broker is not brokers[-1]:
                self._let_some_go_on()
                self._make_some_anew()

    def _must_go_on(self) -> None:
        """Each id has to commit, then, without further records, each group has to come to the end."""

        def is_back(writer: Writer) -> bool:
            return writer.last_commit > self.returned_at and writer.commits >= before[writer.name] + GOING_ON

        before = {writer.name: writer.commits for writer in self.writers}
        wait_until_none(self._left_s(), lambda: [writer for writer in self.writers if not is_back(writer)])
        stuck = [writer for writer in self.writers if not is_back(writer)]
        self.outcome.broken += [
            f"{writer.name} stands still: {counted(writer.causes)}; {counted(writer.refusals)}" for writer in stuck
        ]
        self.outcome.ids_s = time.monotonic() - self.returned_at
        for writer in self.writers:
            writer.finish()
        for writer in self.writers:
            writer.join(LIMIT_S)
            if writer.is_alive():
                self.outcome.broken.append(f"{writer.name} hangs")
        self._judge_stable()
        self._judge_groups()
        staying = [writer for writer in self.writers if writer.stays], [one for one in self.members if one.stays]
        self._judge_places(*staying)

    def _left_s(self) -> float:
        return max(self.returned_at + LIMIT_S - time.monotonic(), LEAST_LIMIT_S)

    # ---- the load
    def _commits(self) -> int:
        return sum(writer.commits for writer in self.writers)

    def _let_some_go_on(self) -> None:
        enough = self._commits() + BETWEEN
        wait_until(lambda: self._commits() >= enough, LIMIT_S, f"{BETWEEN} transactions between two restarts")

    def _make_some_anew(self) -> None:
        for number, writer in enumerate(self.writers):
            if number % 2 and self.chance.random() < 2 / 3:
                writer.make_anew()
        for number, member in enumerate(self.members):
            if number % 2 and self.chance.random() < 2 / 3:
                member.join_anew()

    def _wait_for_progress(self, phase: str) -> None:
        """Each writer that runs commits and each member's group reads: nothing has moved yet."""
        commits = {writer: writer.commits for writer in self.writers if writer.is_alive()}
        read = Counter({group: self._read(group) for group in {one.group for one in self.members if one.is_alive()}})

        def idle() -> list[str]:
            return [
                *(writer.name for writer, before in commits.items() if writer.commits < before + GOING_ON),
                *(group for group, before in read.items() if self._read(group) <= before),
            ]

        wait_until_none(LIMIT_S, idle)
        self.outcome.broken += [f"{phase} {name} stands still" for name in idle()]

    def _read(self, group: str) -> int:
        return sum(member.read for member in self.members if member.group == group)

    def _end_load(self) -> None:
        load: tuple[Writer | Member, ...] = (*self.writers, *self.members)
        threads = [thread for thread in load if thread.ident is not None]
        for thread in threads:
            thread.finish()
        for thread in threads:
            thread.join(LIMIT_S)
        for writer in self.writers:
            self.outcome.commits += writer.commits
            self.outcome.aborted += len(writer.aborted)
            self.outcome.unknown += len(writer.unknown)
            self.outcome.causes += writer.causes
            self.outcome.refusals += writer.refusals
        for member in self.members:
            self.outcome.joins += member.joins
            self.outcome.rewinds += member.rewinds
            self.outcome.refusals += member.refusals

    # ---- the promises
    def _judge_places(self, writers: Iterable[Writer], members: Iterable[Member]) -> None:
        """No id was unknown in its partition, no group has lost offsets: these had no reason to move."""
        for writer in writers:
            lost = writer.causes[UNKNOWN_ID] + writer.refusals[UNKNOWN_ID]
            if lost:
                self.outcome.broken.append(f"{writer.name} was refused {lost} {UNKNOWN_ID} where it stays")
        for member in members:
            if member.rewinds:
                self.outcome.broken.append(f"{member.group} went back {member.rewinds} times where it stays")

    def _judge_stable(self) -> None:
        """No log has an open transaction, and no coordinator one that is not ended."""
        bootstrap, found = self.cluster.bootstrap, list[str]()

        def open_ones() -> list[str]:
            found.clear()
            try:
                for topic in (TOPIC, OFFSETS):
                    stable = last_stable_offsets(bootstrap, topic)
                    for number, (_, high) in end_offsets(bootstrap, topic).items():
                        if stable[number] != high:
                            found.append(f"{topic}-{number} is stable to {stable[number]} of {high}")
                for node in set(self.router.leaders(STATE).values()):
                    found.extend(f"{name} is {state}" for name, state in unfinished(self.router.at(node)).items())
            except (KafkaException, OSError, ConnectionClosedError) as error:
                found.append(f"{type(error).__name__}: {error}")
            return found

        wait_until_none(self._left_s(), open_ones)
        self.outcome.broken += found
        self.outcome.stable_s = time.monotonic() - self.returned_at

    def _judge_groups(self) -> None:
        """The offsets of each group, as they are answered to a client that asks for the first time."""
        last = Counter[int]()
        for message in read_topic(self.cluster.bootstrap, TOPIC, LIMIT_S, isolation_level="read_committed"):
            number, offset = place_of(message)
            last[number] = max(last[number], offset + 1)
        wanted = {group: dict(last) for group in self.groups}
        wanted |= {writer.group: {0: writer.offset} for writer in self.writers if writer.offset >= 0}
        found: dict[str, dict[int, int] | str] = {}

        def behind() -> list[str]:
            for group in wanted:
                if found.get(group) != wanted[group]:
                    found[group] = self._committed_offsets(group)
            return [group for group in wanted if found[group] != wanted[group]]

        wait_until_none(self._left_s(), behind)
        self.outcome.groups_s = time.monotonic() - self.returned_at
        for group in behind():
            members = [member for member in self.members if member.group == group]
            refusals = counted(sum((member.refusals for member in members), Counter[str]()))
            self.outcome.broken.append(f"{group} is at {found[group]} of {wanted[group]}; refused: {refusals}")

    def _committed_offsets(self, group: str) -> dict[int, int] | str:
        admin = self.cluster.admin()
        try:
            asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
            rows = asked[group].result(CALL_LIMIT_S).topic_partitions or []
        except KafkaException as error:
            return str(error)
        return {row.partition: row.offset for row in rows if row.error is None}

    def _judge_records(self) -> None:
        read = Counter(
            (message.value() or b"").decode()
            for message in read_topic(
                self.cluster.bootstrap, TOPIC, LIMIT_S, isolation_level="read_committed", check_crcs=True
            )
        )
        committed = {value for writer in self.writers for value in writer.committed}
        aborted = {value for writer in self.writers for value in writer.aborted}
        unknown = [values for writer in self.writers for values in writer.unknown]
        broken = self.outcome.broken
        broken += [f"lost: {value}" for value in sorted(committed - read.keys())]
        broken += [f"doubled: {value}, {count} times" for value, count in read.items() if count > 1]
        broken += [f"aborted, but read: {value}" for value in sorted(aborted & read.keys())]
        broken += [
            f"in part: {values}" for values in unknown if 0 < sum(value in read for value in values) < len(values)
        ]
        strange = read.keys() - committed - aborted - {value for values in unknown for value in values}
        broken += [f"never written: {value}" for value in sorted(strange)]
        self.outcome.records = read.total()


def wait_until_none(limit_s: float, left: Callable[[], Sequence[object]]) -> None:
    """Waits until nothing is left, at most ``limit_s``; the caller judges what is."""
    deadline = time.monotonic() + limit_s
    while left() and time.monotonic() < deadline:
        time.sleep(0.05)


def main() -> int:
    parser = argparse.ArgumentParser(prog="cluster.growth", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite", "zookeeper"), default="sqlite")
    parser.add_argument("--folder", type=Path, help="where the brokers live; by default a temporary one")
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="growth-"))
    began = time.monotonic()
    outcome = Run(folder, asked.seed, asked.store).play()
    print(f"seed {asked.seed}, {asked.store}, {time.monotonic() - began:.1f} s", *outcome.lines(), sep="\n  ")
    for line in outcome.broken[:30]:
        print(f"  broken: {line}")
    if outcome.broken:
        print(f"what the brokers printed is in {folder}")
        return 1
    if asked.folder is None:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
