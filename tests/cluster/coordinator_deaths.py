"""The coordinator of transactions is killed in each state of a transaction, and while requests are under way (H13).

    cd tests; python -m cluster.coordinator_deaths [--count N] [--kill states under-way expiry] [--seed N]

Three brokers. One kill finds transactions of versions 1 and 2 in every state (``doomed_transactions.py``), all of the
same coordinator. Then every partition's last stable offset must reach the end in time, a transaction must be in all
partitions and in the group's offsets or nowhere, as it was decided, no transaction may hang, and each producer must be
able to go on.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.cluster import Cluster
from cluster.doomed_transactions import (
    HELD,
    LEFT_TIMEOUT_MS,
    OFFSET,
    PLACES,
    SOURCE,
    STAYING,
    UNDER_WAY,
    Doomed,
    Expiring,
)
from cluster.raw_producer import ask_until, error_of
from cluster.request_router import NoSuchBrokerError, Router
from cluster.transaction_views import committed_offset, listed, log_ends, open_transactions, unfinished
from parity.raw_client import ConnectionClosedError
from peer.broker_process import hang, wait_until
from peer.topics import read_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STATE_TOPIC, OFFSETS_TOPIC = "__transaction_state", "__consumer_offsets"
ASSIGNMENT = {
    "held": [[3]],
    "kept": [[1, 2], [2, 1]],
    SOURCE: [[2, 1]],
    OFFSETS_TOPIC: [[1, 2], [2, 1], [1, 2], [2, 1]],
    STATE_TOPIC: [[1, 2], [2, 1], [1, 2], [2, 1]],
}
"""The replicas of each partition. Nodes 1 and 2 are the coordinators; node 3 has a partition of its own, so that no
marker is written to that while it hangs."""

TOPICS = sorted({topic for topic, _ in PLACES})
HANGING = 3
SETTINGS = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "min.insync.replicas": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}
STABLE_LIMIT_S = LEFT_TIMEOUT_MS / 1000 + 10
"""How soon after the death every last stable offset is at the end of its log (H11)."""

UNDER_WAY_MS = 20
"""The kill comes a random time after the requests were sent, so long at most and most often much sooner."""

ANSWER_LIMIT_S = 1.0
"""How long the answers to the requests that were under way are waited for: some brokers are alive."""

LIMIT_S = 60.0


ANSWERED = "answered"


@dataclass
class Report:
    """By state: the transactions, and the seconds from the death until no transaction was open."""

    kills: int = 0
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    slowest_s: dict[str, float] = field(default_factory=dict)

    def note(self, one: Doomed, stable_s: float) -> None:
        found = self.outcomes.setdefault(one.state, Counter())
        found["committed" if one.commits else "without records"] += 1
        found[ANSWERED] += one.is_answered
        self.slowest_s[one.state] = max(self.slowest_s.get(one.state, 0.0), stable_s)

    def lines(self) -> Iterator[str]:
        yield "| state at the death | transactions | outcomes, all kept in every partition | slowest end, s |"
        yield "|---|---|---|---|"
        for state, found in self.outcomes.items():
            told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(found.items()) if count)
            count = found.total() - found[ANSWERED]
            yield f"| {state} | {count} | {told} | {self.slowest_s[state]:.1f} |"


class Trials:
    """Kills one after another in one cluster; each finds the brokers whole."""

    def __init__(self, cluster: Cluster, seed: int = 0) -> None:
        self.cluster = cluster
        self.ask = Router(cluster)
        self.patient_ask = partial(ask_until, self.ask)
        self.report = Report()
        self.committed: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._made = 0

    def start(self) -> None:
        for topic, replicas in ASSIGNMENT.items():
            config = {"cleanup.policy": "compact"} if topic in {OFFSETS_TOPIC, STATE_TOPIC} else {}
            self.cluster.create_on(topic, replicas, {"min.insync.replicas": "1", **config})

    def kill_in(self, states: Sequence[type[Doomed]], versions: Sequence[int] = (1, 2)) -> None:
        """One kill that finds each state in both versions."""
        self.wait_until_whole()
        victim = self.victim()
        doomed = self.make(victim, states, versions)
        for one in sorted(doomed, key=lambda one: -one.timeout_ms):  # who has the least time begins last
            one.prepare()
        requested = [one for one in doomed if not one.is_held and one.request() is not None]
        held = [one for one in doomed if one.is_held]
        try:
            if held:
                self.hang(held)
            for one in doomed:
                one.assert_there()
            died_at = self.kill_under_way(victim, requested)
        finally:
            self.wake()
        self.check(victim, doomed, died_at)

    def kill_under_way(self, victim: int, doomed: Sequence[Doomed]) -> float:
        """Sends the requests at once and kills the coordinator a random time later; returns when it died."""
        aimed = [(one, self.ask.aim(request)) for one in doomed if (request := one.request()) is not None]
        self._random.shuffle(aimed)
        for _, shot in aimed:
            shot.send()
        if aimed:
            time.sleep(UNDER_WAY_MS / 1000 * self._random.random() ** 3)
        self.cluster.broker(victim).kill()
        died_at = time.monotonic()
        for one, shot in aimed:
            answer = shot.answer(died_at + ANSWER_LIMIT_S)
            one.is_answered = answer is not None and error_of(answer) == "NONE"
        return died_at

    # ---- before the death
    def victim(self) -> int:
        """A broker that coordinates some ids."""

        def leaders() -> list[int]:
            return sorted({node for node in self.ask.leaders(STATE_TOPIC).values() if node > 0})

        wait_until(lambda: bool(leaders()), LIMIT_S, f"the broker that is asked knows of {STATE_TOPIC}")
        return self._random.choice(leaders())

    def hang(self, held: Sequence[Doomed]) -> None:
        """Node 3 hangs, then the transactions are decided."""
        self.ask.paused.add(HANGING)
        hang(self.cluster.broker(HANGING).pid)
        with ThreadPoolExecutor(len(held)) as pool:
            list(pool.map(lambda one: one.decide(), held))

    def wake(self) -> None:
        os.kill(self.cluster.broker(HANGING).pid, signal.SIGCONT)
        self.ask.paused.clear()

    def wait_until_whole(self) -> None:
        """Every replica is in sync."""

        def is_whole() -> bool:
            topics = self.cluster.admin().list_topics(timeout=10).topics
            if not ASSIGNMENT.keys() <= topics.keys():
                return False
            in_sync = {
                name: [sorted(topics[name].partitions[number].isrs) for number in sorted(topics[name].partitions)]
                for name in ASSIGNMENT
            }
            return in_sync == {name: [sorted(one) for one in assigned] for name, assigned in ASSIGNMENT.items()}

        wait_until(is_whole, LIMIT_S, "every replica is in sync")

    def make(self, victim: int, states: Sequence[type[Doomed]], versions: Sequence[int]) -> list[Doomed]:
        """Transactions whose coordinator is the victim."""
        names: list[str] = []
        wanted = len(states) * len(versions)
        while len(names) < wanted:
            tried = [f"doomed-{self._made + number}" for number in range(wanted)]
            self._made += wanted
            names += [name for name, node in zip(tried, self.ask.coordinators(tried), strict=True) if node == victim]
        plans = [(state, version) for state in states for version in versions]
        return [state(self.ask, name, version) for name, (state, version) in zip(names, plans, strict=False)]

    # ---- after the death
    def check(self, victim: int, doomed: Sequence[Doomed], died_at: float) -> None:
        """The victim is started again at once or, as often, when everything has been looked at."""
        is_back_early = self._random.random() < 1 / 2
        if is_back_early:
            self.cluster.broker(victim).launch()
        for one in doomed:
            one.go_on()
        left_s = died_at + STABLE_LIMIT_S - time.monotonic()
        wait_until(lambda: self.is_stable() and self.hanging() == [], left_s, "no transaction is open")
        stable_s = time.monotonic() - died_at
        for one in doomed:
            self.committed.update(one.values if one.commits else [])
            assert committed_offset(self.patient_ask, one.name, SOURCE) == (OFFSET if one.commits else -1), one.name
        self.assert_committed()
        for one in doomed:
            self.committed.update(one.next_transaction())
        if not is_back_early:
            self.cluster.broker(victim).launch()
        self.cluster.broker(victim).wait_until_ready()
        self.report.kills += 1
        for one in doomed:
            self.report.note(one, stable_s)

    def is_stable(self) -> bool:
        """Whether no log has an open transaction."""
        try:
            return all(
                log_ends(self.ask.at(node), own, is_committed=True)
                == log_ends(self.ask.at(node), own, is_committed=False)
                for node, own in self.led().items()
            )
        except (OSError, ConnectionClosedError):
            return False

    def hanging(self) -> list[object]:
        """The open transactions of logs, and the unfinished ones of coordinators; an error if they cannot be told."""
        try:
            found: list[object] = []
            for node, own in self.led().items():
                found += open_transactions(self.ask.at(node), own)
            for node in self.coordinators():
                found += unfinished(self.ask.at(node)).items()
        except (OSError, ConnectionClosedError) as error:
            return [error]
        return found

    def coordinators(self) -> set[int]:
        """The nodes that lead partitions of ``__transaction_state``, every one of which has a leader."""
        found = set(self.ask.leaders(STATE_TOPIC).values())
        if any(node < 1 or not self.cluster.broker(node).is_running() for node in found):
            raise NoSuchBrokerError("not every id has a coordinator")
        return found

    def led(self) -> dict[int, dict[str, list[int]]]:
        """The partitions that records and offsets of transactions are in, by leader; every one has a leader."""
        found: dict[int, dict[str, list[int]]] = {}
        for topic in (*TOPICS, OFFSETS_TOPIC):
            for number, node in self.ask.leaders(topic).items():
                if node < 1 or not self.cluster.broker(node).is_running():
                    raise NoSuchBrokerError(f"{topic}-{number} has no leader")
                found.setdefault(node, {}).setdefault(topic, []).append(number)
        return found

    def assert_committed(self) -> None:
        """Readers of committed records get every committed record once, and no other."""
        bootstrap = ",".join(broker.bootstrap for broker in self.cluster.brokers if broker.is_running())
        read = [
            message
            for topic in TOPICS
            for message in read_topic(bootstrap, topic, isolation_level="read_committed", fetch_wait_max_ms=20)
        ]
        assert Counter((message.value() or b"").decode() for message in read) == self.committed

    def kill_in_expiry(self) -> None:
        """One kill while the coordinator forgets ids that were not used for a while."""
        self.wait_until_whole()
        victim = self.victim()
        doomed = self.make(victim, [Expiring] * EXPIRING, (2,))
        for one in doomed:
            one.prepare()
        names = {one.name for one in doomed}

        def known() -> set[str]:
            found = {name: state for node in self.coordinators() for name, state in listed(self.ask.at(node)).items()}
            assert {state for name, state in found.items() if name in names} <= {"Empty"}
            return found.keys() & names

        def is_known(most: int) -> bool:
            """Whether at most so many are known; false while a coordinator is elected or loads."""
            try:
                return len(known()) <= most
            except (OSError, ConnectionClosedError):
                return False

        wait_until(lambda: is_known(EXPIRING - 1), LIMIT_S, "the first ids are forgotten")
        time.sleep(self._random.uniform(0, UNDER_WAY_MS / 1000))
        self.cluster.broker(victim).kill()
        died_at = time.monotonic()
        wait_until(lambda: is_known(0), STABLE_LIMIT_S, "the next coordinator forgets the ids")
        forgotten_s = time.monotonic() - died_at
        for one in (doomed[0], doomed[EXPIRING // 2], doomed[-1]):
            self.committed.update(one.next_transaction())
        self.assert_committed()
        self.cluster.broker(victim).start()
        self.report.kills += 1
        for one in doomed:
            self.report.note(one, forgotten_s)


EXPIRY = {
    "transactional.id.expiration.ms": "4000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}
EXPIRING = 250
"""Ids that expire at one kill: more than one batch of tombstones."""

KILLS: dict[str, Callable[[Trials], None]] = {
    "states": lambda trials: trials.kill_in([*STAYING, *HELD]),
    "under-way": lambda trials: trials.kill_in([*UNDER_WAY, *UNDER_WAY]),
    "expiry": Trials.kill_in_expiry,
}


def run(kind: str, count: int, seed: int) -> Report:
    """So many kills of one kind in one cluster."""
    with tempfile.TemporaryDirectory(prefix="kafkastore-deaths-") as folder:
        settings = SETTINGS | (EXPIRY if kind == "expiry" else {})
        with closing(Cluster(Path(folder), overrides=settings)) as cluster:
            trials = Trials(cluster.start(), seed)
            trials.start()
            for number in range(count):
                KILLS[kind](trials)
                print(f"{kind}: kill {number + 1} of {count}", flush=True)
            return trials.report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cluster.coordinator_deaths", description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--kill", nargs="+", choices=KILLS, default=list(KILLS))
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for kind in given.kill:
        report = run(kind, given.count, given.seed)
        print("\n".join(report.lines()), f"{report.kills} kills, 0 hanging transactions", sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
