"""Twenty partitions that move under load while brokers die; min.insync.replicas is the number of replicas (H16).

As in Apache Kafka's reassign_partitions_test there are four brokers, each partition gets the replicas of another one,
and the move ends within a minute. Besides, no record is lost or doubled, and nothing is left of removed replicas. In
every other trial the logs do not start at offset 0. The move is limited to a rate, so that it is under way when the
fault comes; each scenario checks that it is.
"""

from __future__ import annotations

import random
import time
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException, TopicPartition

from cluster.faults import leftovers
from cluster.faults.move import Move
from cluster.faults.process_faults import RESUME_LIMIT_S, SESSION_S
from cluster.faults.traffic import Filler
from history.events import Sent
from peer.broker_process import wait_until
from peer.topics import end_offsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cluster.faults.trial import Trial

    Assignment = list[list[int]]

BROKERS = 4
PARTITIONS = 20
REPLICAS = 3
FILLED_WITH = 200
"""Records of 10,000 bytes in each partition before it moves: 2 MB, 30 MB in all that are copied."""

RATE = 1_000_000
"""Bytes a second, in each direction of each broker: a move takes some eight seconds."""

SLOW_RATE = 250_000
"""So slow that the move does not end before it is let go, even when the faults take a minute. What the writer sends to
the replicas in sync counts too, some 130,000 bytes a second at each broker: a lower rate would stop the move."""

FIRST_DELETED_ID = 3_000_000_000

SOME_BYTES = 2_000_000
"""When these of the 30 MB are copied, the move is under way."""

LIMIT_S = 60.0
HELD_LIMIT_S = 10.0
LEFT_LIMIT_S = 20.0
"""How soon nothing may be left, the second of file.delete.delay.ms included."""


# ---- before
def around(number: int) -> Assignment:
    """An assignment with the same number of replicas and leaders on every broker."""
    return [[(number + first + nth) % BROKERS + 1 for nth in range(REPLICAS)] for first in range(PARTITIONS)]


def without_target(number: int) -> Assignment:
    """An assignment to all brokers but the target."""
    nodes = [node for node in range(1, BROKERS + 1) if node != target_of(number)]
    return [[nodes[(first + nth) % REPLICAS] for nth in range(REPLICAS)] for first in range(PARTITIONS)]


def target_of(number: int) -> int:
    return number % BROKERS + 1


def exchanged(trial: Trial) -> Assignment:
    """The trial's assignment, with the lists of replicas shuffled between the partitions."""
    assert trial.assignment is not None
    lists = [list(replicas) for replicas in trial.assignment]
    random.Random(trial.topic).shuffle(lists)
    return lists


def onto_target(trial: Trial) -> Assignment:
    """The broker without replicas gets a replica of each partition, and the preferred leader of every third."""
    assert trial.assignment is not None
    target, moved = target_of(trial.number), [list(replicas) for replicas in trial.assignment]
    for number, replicas in enumerate(moved):
        replicas[number % REPLICAS] = target
    return moved


def delete_first_records(trial: Trial) -> None:
    """In every other trial, writes records and deletes all but the last record of each partition; these records are not
    looked for afterwards."""
    if trial.number % 2:
        bootstrap = trial.cluster.bootstrap
        filler = Filler(bootstrap, trial.topic, PARTITIONS, FIRST_DELETED_ID)
        filler.fill(10)
        trial.notes += [note for note in filler.notes if isinstance(note, Sent)]
        admin = trial.cluster.admin()  # kept: its requests end with its last reference
        asked = [
            TopicPartition(trial.topic, partition, end - 1)
            for partition, (_, end) in end_offsets(bootstrap, trial.topic).items()
        ]
        for future in admin.delete_records(asked).values():
            future.result(30)


# ---- the scenarios
def partitions_move(trial: Trial) -> None:
    """The partitions move without any fault."""
    with closing(_begin(trial, exchanged(trial), RATE)) as going:
        going.expect_under_way("when it is listed")
        going.completes(going.begun)


def brokers_bounce(trial: Trial) -> None:
    """One broker after the other is stopped or killed and started again, while the move goes on."""
    cluster = trial.cluster
    with closing(_begin(trial, exchanged(trial), SLOW_RATE)) as going:
        for node in range(1, BROKERS + 1):
            going.expect_under_way(f"when broker {node} goes")
            if (trial.number + node) % 2:
                code = cluster.broker(node).stop()
                trial.expect(code == 0, f"broker {node} ended with {code}")
            else:
                cluster.broker(node).kill()
            cluster.start_brokers()
        going.expect_under_way("when all have come back")
        going.let_go_and_completes()


def controller_is_killed(trial: Trial) -> None:
    """kill -9 of the controller during the move; it is started again when another broker is the controller."""
    cluster = trial.cluster
    with closing(_begin(trial, exchanged(trial), SLOW_RATE)) as going:
        killed = cluster.controller()
        going.expect_under_way("when the controller is killed")
        cluster.broker(killed).kill()
        other = cluster.broker(cluster.others(killed)[0])

        def is_replaced() -> bool:
            with suppress(KafkaException):  # none at the moment
                return cluster.controller(other) not in (killed, -1)
            return False

        wait_until(is_replaced, SESSION_S + 15, "another is the controller")
        going.expect_under_way("when there is another controller")
        cluster.start_brokers()
        going.let_go_and_completes()


def move_is_cancelled(trial: Trial) -> None:
    """The move is cancelled when a part of the added replicas is copied and must be deleted; the replicas are those
    before the move."""
    with closing(_begin(trial, exchanged(trial), SLOW_RATE)) as going:
        going.expect_under_way("when it is cancelled")
        at = time.monotonic()
        going.move.cancel(keeps_throttles=False)
        going.is_cancelled(at)


def target_dies(trial: Trial) -> None:
    """The broker that gets a replica of each partition is killed: producing goes on without it. It comes back, and the
    move completes; in every other trial the move was cancelled meanwhile."""
    cluster, target = trial.cluster, target_of(trial.number)
    is_cancelled = bool(trial.number % 2)
    with closing(_begin(trial, onto_target(trial), 2 * RATE)) as going:  # 40 MB to one broker
        going.expect_under_way("when its target dies")
        at = time.monotonic()
        cluster.broker(target).kill()
        trial.resumes(trial.partitions, at, RESUME_LIMIT_S)
        running = cluster.broker(cluster.others(target)[0])
        wait_until(
            lambda: len(cluster.admin_at(running).list_topics(timeout=10).brokers) == BROKERS - 1,
            SESSION_S + 5,
            "the target is known to be dead",
        )
        going.expect_under_way("while its target is dead")
        trial.wait_for_acks(1000)
        if is_cancelled:
            going.move.cancel(keeps_throttles=True)
        cluster.start_brokers()
        back = time.monotonic()
        if is_cancelled:
            going.is_cancelled(back)
        else:
            going.completes(back)


# ---- what each scenario promises
class _Going:
    """A move that has begun, and the promises about its end."""

    def __init__(self, trial: Trial, move: Move, begun: float) -> None:
        self.trial = trial
        self.move = move
        self.begun = begun

    def close(self) -> None:
        """Cancels a move that has not ended, so that the next trial begins without one."""
        try:
            if self.move.under_way():
                self.trial.attempt("a move that did not end is cancelled", self._give_up)
        finally:
            self.move.close()

    def _give_up(self) -> None:
        self.trial.cluster.mend()
        self.move.cancel(keeps_throttles=False)

    def expect_under_way(self, when: str) -> None:
        self.trial.expect(bool(self.move.under_way()), f"nothing moves any more {when}: the trial shows nothing")

    def completes(self, since: float) -> None:
        self._ends(since, self.move.target)
        said = self.move.verify()
        self.trial.expect(said.count("is completed.") == PARTITIONS, f"the tool verifies: {said}")
        self._leaves_nothing()

    def let_go_and_completes(self) -> None:
        """A move at :data:`SLOW_RATE` completes at full speed."""
        at = time.monotonic()
        self.move.let_go()
        self.completes(at)

    def is_cancelled(self, since: float) -> None:
        assert self.trial.assignment is not None
        self._ends(since, self.trial.assignment)
        self.move.verify()  # takes the throttles away
        self._leaves_nothing()

    def _ends(self, since: float, wanted: Sequence[Sequence[int]]) -> None:
        """Waits until no partition moves and each has the wanted replicas, all in sync; the time limit is a promise."""
        trial = self.trial
        wait_until(lambda: not self.move.under_way(), 2 * LIMIT_S, "nothing moves any more")
        took = time.monotonic() - since
        trial.outcome.resumed_after_s = took
        trial.expect(took <= LIMIT_S, f"it took {took:.1f} s, not {LIMIT_S:g} s, until nothing moved")
        trial.attempt("the replicas are as asked", lambda: self._wait_held(wanted))

    def _wait_held(self, wanted: Sequence[Sequence[int]]) -> None:
        """Waits until each broker's metadata has the wanted replicas, a moment after the move has ended."""
        cluster, topic = self.trial.cluster, self.trial.topic
        held: dict[int, tuple[list[int], list[int]]] = {}
        asked = {number: (sorted(replicas),) * 2 for number, replicas in enumerate(wanted)}

        def are_held() -> bool:
            for broker in cluster.brokers:
                found = cluster.admin_at(broker).list_topics(topic, timeout=10).topics[topic].partitions
                held.update({number: (sorted(one.replicas), sorted(one.isrs)) for number, one in found.items()})
                if held != asked:
                    return False
            return True

        try:
            wait_until(are_held, HELD_LIMIT_S, "every partition has its replicas, all in sync")
        except AssertionError as error:
            wrong = {number: found for number, found in held.items() if found != asked[number]}
            raise AssertionError(f"{error}; replicas and in-sync set are {wrong}") from None

    def _leaves_nothing(self) -> None:
        trial = self.trial
        for look in (leftovers.directories, leftovers.throttles, leftovers.nodes):
            left = partial(look, trial.cluster, trial.topic)
            trial.attempt(
                f"no {look.__name__} are left",
                lambda left=left: wait_until(lambda: not left(), LEFT_LIMIT_S, "nothing is left"),  # type: ignore[misc]
            )
            trial.outcome.violations += left()


def _begin(trial: Trial, target: Assignment, rate: int) -> _Going:
    """Fills the topic and begins the move; returns when a part of it is copied."""
    assert trial.assignment is not None
    filler = Filler(trial.cluster.bootstrap, trial.topic, PARTITIONS)
    filler.fill(FILLED_WITH)
    trial.notes += filler.notes
    move = Move(trial.cluster, trial.topic, trial.assignment, target)
    going = _Going(trial, move, time.monotonic())
    try:
        going.begun = move.begin(rate)
        wait_until(lambda: move.copied() > SOME_BYTES, LIMIT_S, "some is copied")
    except BaseException:
        going.close()
        raise
    return going
