"""Transactions in each state in which their coordinator may die (``coordinator_deaths.py``), and what must be of them.

A plan says how one transaction gets to its state, which request is under way at the death, and how its client goes on.
A transaction writes one record to every partition of the topic and an offset of a group. No plan kills anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from cluster.raw_producer import Ask, RawProducer, Request, error_of
from cluster.transaction_views import committed_offset, state
from peer.broker_process import wait_until

PLACES = [("held", 0), ("kept", 0), ("kept", 1)]
"""The topic and the partition of each record of a transaction; ``held`` is led by the broker that hangs."""

SOURCE = "source"
"""The topic whose offsets are committed."""

OFFSET = 5
LEFT_TIMEOUT_MS, LONG_TIMEOUT_MS = 6_000, 60_000
"""The timeout of a transaction that its client has left, and of the others."""

HANG_LIMIT_S = 10.0


class Doomed:
    """One transactional id. ``commits`` is the decision that readers must see."""

    state = ""
    """The name of the state in tables."""

    is_held = False
    """Whether the leader of a partition hangs before ``decide``, so that no marker is written to it."""

    commits = False

    def __init__(self, ask: Ask, transactional_id: str, version: int) -> None:
        self.ask = ask
        self.name = transactional_id
        self.producer = RawProducer(ask, transactional_id, version, self.timeout_ms)
        self.is_answered = False
        """Whether the request that was under way at the death was answered."""

    @property
    def timeout_ms(self) -> int:
        return LONG_TIMEOUT_MS

    @property
    def values(self) -> list[str]:
        """One for each partition."""
        return self.values_of("doomed")

    def values_of(self, word: str) -> list[str]:
        return [f"{self.name}-{word}-{topic}-{number}" for topic, number in PLACES]

    # ---- what a plan overrides
    def prepare(self) -> None:
        """Before the leader hangs."""

    def decide(self) -> None:
        """While the leader hangs."""

    def request(self) -> Request | None:
        """The request that is under way at the death."""
        return None

    def go_on(self) -> None:
        """The client after the death."""

    # ---- parts of plans
    @staticmethod
    def send(producer: RawProducer, values: Sequence[str]) -> None:
        for (topic, number), value in zip(PLACES, values, strict=True):
            producer.send(topic, number, value)

    def write(self) -> None:
        self.producer.init()
        self.send(self.producer, self.values)
        self.producer.send_offsets(self.name, SOURCE, OFFSET)

    def end(self, *, commits: bool) -> None:
        self.producer.end(commits=commits)
        self.commits = commits

    def await_state(self, *states: str) -> None:
        wait_until(lambda: state(self.ask, self.name) in states, HANG_LIMIT_S, f"{self.name} is {states}")

    def assert_there(self) -> None:
        """Directly before the death: the transaction is in the state that the plan names."""
        if self.request() is None or self.is_held:
            found, planned = state(self.ask, self.name), self.state.split(",")[0].split(" ")[0]
            assert found == planned, f"{self.name} is {found}, not {planned}"

    def next_transaction(self) -> Sequence[str]:
        """The producer goes on, or a new instance does; returns the values that it committed."""
        heir = RawProducer(self.ask, self.name, self.producer.version, LONG_TIMEOUT_MS)
        heir.init()
        return self.commit_more(heir, "heir")

    def commit_more(self, producer: RawProducer, word: str) -> list[str]:
        values = self.values_of(word)
        self.send(producer, values)
        producer.end(commits=True)
        return values


# ---- states that stay until the death
class Empty(Doomed):
    state = "Empty"

    def prepare(self) -> None:
        self.producer.init()
        self.await_state("Empty")

    def next_transaction(self) -> Sequence[str]:
        return [*self.commit_more(self.producer, "same"), *super().next_transaction()]


class Ongoing(Doomed):
    state = "Ongoing, the client ends it"

    def prepare(self) -> None:
        self.write()
        self.await_state("Ongoing")

    def go_on(self) -> None:
        self.end(commits=self.producer.version == 2)


class Left(Doomed):
    state = "Ongoing, left to its timeout"

    @property
    def timeout_ms(self) -> int:
        return LEFT_TIMEOUT_MS

    def prepare(self) -> None:
        self.write()


class CompleteCommit(Doomed):
    state = "CompleteCommit"

    def prepare(self) -> None:
        self.write()
        self.end(commits=True)
        self.await_state("CompleteCommit")

    def next_transaction(self) -> Sequence[str]:
        return [*self.commit_more(self.producer, "same"), *super().next_transaction()]


class CompleteAbort(Doomed):
    state = "CompleteAbort"

    def prepare(self) -> None:
        self.write()
        self.end(commits=False)
        self.await_state("CompleteAbort")

    def next_transaction(self) -> Sequence[str]:
        return [*self.commit_more(self.producer, "same"), *super().next_transaction()]


# ---- states that are held by a leader that hangs
class PrepareCommit(Doomed):
    state = "PrepareCommit"
    is_held = True

    def prepare(self) -> None:
        self.write()

    def decide(self) -> None:
        self.end(commits=True)
        self.await_state("PrepareCommit")


class PrepareAbort(PrepareCommit):
    state = "PrepareAbort"

    def decide(self) -> None:
        self.end(commits=False)
        self.await_state("PrepareAbort")


class Fenced(Doomed):
    """A new instance waits for the abort of the transaction: Kafka's PrepareEpochFence, which no log has."""

    state = "PrepareAbort by InitProducerId"
    is_held = True

    def prepare(self) -> None:
        self.write()

    def decide(self) -> None:
        request = self.request()
        assert request is not None
        assert error_of(self.ask(request)) == "CONCURRENT_TRANSACTIONS"  # after a wait in vain for the markers
        self.await_state("PrepareAbort")

    def request(self) -> Request:
        return self.producer.init_request()

    def go_on(self) -> None:
        RawProducer(self.ask, self.name, self.producer.version, LONG_TIMEOUT_MS).init()


# ---- a request is under way at the death
class WithinInit(Doomed):
    state = "within InitProducerId"

    def prepare(self) -> None:
        assert state(self.ask, self.name) == "TRANSACTIONAL_ID_NOT_FOUND"  # now the router knows the coordinator

    def request(self) -> Request:
        return self.producer.init_request()


class WithinFence(Fenced):
    state = "within InitProducerId of a new instance"
    is_held = False

    def decide(self) -> None:
        pass


class WithinAdd(Doomed):
    """The first request of the transaction: AddPartitionsToTxn of version 1, Produce of version 2."""

    state = "within AddPartitionsToTxn, Produce"

    def prepare(self) -> None:
        self.producer.init()

    def request(self) -> Request:
        if self.producer.version == 1:
            return self.producer.add_request(*PLACES[0])
        return self.producer.produce_request(*PLACES[0], self.values[0])

    def go_on(self) -> None:
        self.send(self.producer, self.values)
        self.producer.send_offsets(self.name, SOURCE, OFFSET)
        self.end(commits=True)


class WithinOffsets(Doomed):
    """AddOffsetsToTxn of version 1, TxnOffsetCommit of version 2."""

    state = "within AddOffsetsToTxn, TxnOffsetCommit"

    def prepare(self) -> None:
        self.producer.init()
        assert committed_offset(self.ask, self.name, SOURCE) == -1  # now the router knows the group's coordinator

    def request(self) -> Request:
        if self.producer.version == 1:
            return self.producer.add_offsets_request(self.name)
        return self.producer.offsets_request(self.name, SOURCE, OFFSET)

    def go_on(self) -> None:
        self.producer.send_offsets(self.name, SOURCE, OFFSET)
        self.send(self.producer, self.values)
        self.end(commits=True)


class WithinCommit(Doomed):
    state = "within EndTxn commit"

    def prepare(self) -> None:
        self.write()

    def request(self) -> Request:
        return self.producer.end_request(commits=True)

    def go_on(self) -> None:
        self.end(commits=True)


class WithinAbort(WithinCommit):
    state = "within EndTxn abort"

    def request(self) -> Request:
        return self.producer.end_request(commits=False)

    def go_on(self) -> None:
        self.end(commits=False)


class Expiring(Doomed):
    """An id that the coordinator forgets: Kafka's state Dead, while the tombstone is written."""

    state = "Dead: the id expires"

    def prepare(self) -> None:
        self.producer.init()


STAYING: Sequence[type[Doomed]] = (Empty, Ongoing, Left, CompleteCommit, CompleteAbort)
HELD: Sequence[type[Doomed]] = (PrepareCommit, PrepareAbort, Fenced)
UNDER_WAY: Sequence[type[Doomed]] = (WithinInit, WithinFence, WithinAdd, WithinOffsets, WithinCommit, WithinAbort)
