"""Transactional producers of a simulation (KIP-98, KIP-890): instances that share a transactional id, of transaction
version 1 (AddPartitionsToTxn, Produce 11, EndTxn 4) or 2 (Produce 13, EndTxn 5). Many transactions also commit an
offset of a group (AddOffsetsToTxn, TxnOffsetCommit; ``offsets.py``).

An instance handles errors as Kafka's clients do: it repeats what can be repeated, aborts its transaction after other
errors, and ends when it is fenced. It may die in the middle of a transaction, or go on when another instance has
fenced it already. What it was told goes to the history; whether that was right, ``history/transactions.py`` says.

A client of version 1 may not repeat an EndTxn of which a copy may come late: all transactions of a producer epoch look
alike, so the copy would end a later transaction (KIP-890). Its EndTxn is lost instead of late, and so are the markers
of a cluster with such clients. After a TxnOffsetCommit without an answer it raises its epoch before the next
transaction: a late copy would bring the offset of this transaction into the next one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from kafkastore._simulator import producer_batch

from history.events import EndAsked, Ended, OffsetSent, Sent
from simulator import offsets
from simulator import transaction_wire as wire
from simulator.clients import DUPLICATE, PAUSE_S, Client, Consumer, note_acknowledged
from simulator.coordinators import LOAD_IN_PROGRESS, NOT_AVAILABLE, NOT_COORDINATOR, Coordinator, Over
from simulator.wire import PRODUCE, compact, produce_request, produce_response

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from simulator.topics import Topic
    from simulator.world import World

STATE_TOPIC = "__transaction_state"
SETTINGS = {
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    **offsets.SETTINGS,
}
TOPICS = (STATE_TOPIC, offsets.OFFSETS_TOPIC)
"""The internal topics of runs with transactions."""
IDS = ("alpha", "beta")
TIMEOUTS_MS = (1000, 2000)
HANGING_S = 8.0
"""How long a transaction may be open in a cluster that is whole otherwise: the largest timeout, and some seconds for
the look at the timeouts and for the markers."""
TRIES = (1, 2, 6)
"""Of a batch, until the producer gives up and aborts (``delivery.timeout.ms``)."""
OFFSET_TRIES = 10
"""Of an offset, until the producer aborts."""
OFFSETS_SHARE = 0.7
"""Of the transactions: how many commit an offset."""
OFFSET_LATENESS = 3.0
"""How much more often than other requests a TxnOffsetCommit comes late: a run has few of them."""

CONCURRENT_TRANSACTIONS, NOT_ATTEMPTED = 51, 55
RETRIABLE = frozenset(
    {
        3,  # UNKNOWN_TOPIC_OR_PARTITION
        5,  # LEADER_NOT_AVAILABLE
        6,  # NOT_LEADER_OR_FOLLOWER
        7,  # REQUEST_TIMED_OUT
        13,  # NETWORK_EXCEPTION
        LOAD_IN_PROGRESS,
        NOT_AVAILABLE,
        NOT_COORDINATOR,
        19,  # NOT_ENOUGH_REPLICAS
        20,  # NOT_ENOUGH_REPLICAS_AFTER_APPEND
        CONCURRENT_TRANSACTIONS,
        NOT_ATTEMPTED,
        56,  # KAFKA_STORAGE_ERROR
        74,  # FENCED_LEADER_EPOCH
        76,  # UNKNOWN_LEADER_EPOCH
        100,  # UNKNOWN_TOPIC_ID
    }
)
INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, INVALID_MAPPING, FENCED, ABORTABLE = 47, 48, 49, 90, 120
ABORTABLE_FROM = 4
"""From this version on a TxnOffsetCommit that the transaction coordinator does not confirm is told to be ABORTABLE;
before, it is an error that ends Kafka's clients. A coordinator that was replaced, and has not heard of it, confirms
none that is newer."""
FATAL = frozenset({INVALID_PRODUCER_EPOCH, INVALID_MAPPING, FENCED})
TO_ABORT = frozenset({45, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, 59, ABORTABLE})
"""Errors of a produce after which the transaction is to be aborted."""


class Plan(NamedTuple):
    """What a seed plays."""

    versions: tuple[int, ...]
    """Of the clients."""
    has_offsets: bool
    """Whether transactions commit offsets."""

    @property
    def may_markers_be_late(self) -> bool:
        return 1 not in self.versions


def draw(random: Random, share: float, *, has_changes: bool) -> Plan | None:
    """None when there are no transactions. No offsets are committed where changes may delete records: the records of a
    transaction tell what became of its offset."""
    if random.random() >= share:
        return None
    return Plan(random.choice(((1,), (2,), (1, 2))), not has_changes)


class _Fenced(Exception):  # noqa: N818 - as the protocol has it
    """The instance can go on with nothing."""


class _ToAbort(Exception):  # noqa: N818 - it is a decision
    """The transaction cannot be committed."""


class TransactionalId:
    """Its instances, one after the other; an earlier one may go on."""

    def __init__(self, world: World, name: str, topic: Topic, plan: Plan) -> None:
        self.world = world
        self.name = name
        self.topic = topic
        self.plan = plan
        self.random = world.random_of(f"transactional id {name}")
        self.transactions = 0
        """Of all instances."""

    async def run(self) -> None:
        instances: list[asyncio.Task[None]] = []
        while self.world.is_busy:
            instance = Instance(self, len(instances) + 1)
            task = asyncio.get_running_loop().create_task(instance.run())
            instances.append(task)
            await asyncio.wait([task], timeout=self.random.choice((0.4, 1.0, 2.5, 6.0)) * self.random.uniform(0.5, 1.5))
            if self.random.random() < 0.4 and self.world.is_busy:
                if not task.done():
                    self.world.note(f"{instance.name} dies")
                task.cancel()
                await asyncio.sleep(self.random.choice((0.05, 0.3, 2.5)))
            elif task.done():
                await asyncio.sleep(PAUSE_S * (1 + self.random.random()))
        for outcome in await asyncio.gather(*instances, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome


class Instance:
    """One producer with the transactional id."""

    def __init__(self, owner: TransactionalId, number: int) -> None:
        self.owner = owner
        self.world = owner.world
        self.topic = owner.topic
        self.transactional_id = owner.name
        self.name = f"{owner.name}-{number}"
        self.random = self.world.random_of(self.name)
        self.version = self.random.choice(owner.plan.versions)
        self.timeout_ms = self.random.choice(TIMEOUTS_MS)
        self.offsets_share = OFFSETS_SHARE if owner.plan.has_offsets else 0.0
        self.group = offsets.group_of(owner.name)
        self.coordinator = Coordinator(self.world, self.name, owner.name, wire.TRANSACTION, self.random)
        self.group_coordinator = Coordinator(self.world, self.name, self.group, wire.GROUP, self.random)
        self.producer_id = self.epoch = -1
        self.count = 0
        self.transactions = 0
        numbers = range(len(self.topic.assigned))
        self._leaders = {number: Client(self.world, f"{self.name}/{number}", self.topic, number) for number in numbers}
        self._sequences: dict[int, int] = {}
        self._sent: dict[int, int] = {}
        """By partition the records that were ever sent, for the history."""
        self._is_unsure = False
        """Whether a batch was given up whose sequence the partition may have, or an offset may still come."""

    async def run(self) -> None:
        try:
            await self._initialise(is_first=True)
            while self.world.is_busy:
                await asyncio.sleep(self.random.expovariate(1 / 0.05))
                await self._transact()
        except _Fenced as error:
            self.world.note(f"{self.name} is fenced: {error}")
        except Over:
            return

    # ---- the coordinator
    def _unexpected(self, request: str, error: int) -> _Fenced:
        self.world.violate("unexpected", f"{self.name} got the error {error} for {request}")
        return _Fenced(f"error {error}")

    async def _initialise(self, *, is_first: bool) -> None:
        """Takes over the transactional id, or raises the epoch of this instance (KIP-360)."""
        known = (-1, -1) if is_first else (self.producer_id, self.epoch)
        body = wire.init_producer_id_request(self.transactional_id, self.timeout_ms, *known)
        while True:
            answer = await self.coordinator.ask(wire.INIT_PRODUCER_ID, wire.INIT_PRODUCER_ID_VERSION, body)
            if answer is None:
                continue
            found = wire.init_producer_id_response(answer)
            if found.error == 0:
                self._take_over(found)
                self._is_unsure = False
                kind = f"version {self.version}, timeout {self.timeout_ms} ms"
                self.world.note(f"{self.name} is producer {self.producer_id} in epoch {self.epoch}, {kind}")
                return
            if found.error in FATAL:
                raise _Fenced(f"InitProducerId: {found.error}")
            if found.error not in RETRIABLE:
                raise self._unexpected("InitProducerId", found.error)
            await self.coordinator.pause(found.error)

    def _take_over(self, found: wire.Producer) -> None:
        if (found.producer_id, found.epoch) != (self.producer_id, self.epoch):
            self.producer_id, self.epoch = found.producer_id, found.epoch
            self._sequences.clear()

    # ---- a transaction
    async def _transact(self) -> None:
        self.transactions += 1
        name = f"{self.name}.{self.transactions}"
        numbers = self.random.sample(sorted(self._leaders), self.random.randint(1, len(self._leaders)))
        is_commit = self.random.random() < 0.75
        is_added = self.version == 2
        rounds = self.random.randint(1, 3)
        has_offset = self.random.random() < self.offsets_share
        offset_round = self.random.randrange(rounds) if has_offset else -1
        try:
            if self.version == 1:
                await self._add_partitions(numbers)
                is_added = True
                if has_offset:
                    await self._add_offsets()
            for number in range(rounds):
                await self._send_all(name, numbers, has_offset=number == offset_round)
                await asyncio.sleep(self.random.expovariate(1 / 0.02))
        except _ToAbort as error:
            self.world.note(f"{self.name} aborts {name}: {error}")
            is_commit = False
        if is_added:
            await self._end(name, is_commit=is_commit)
        if self.version == 1 and (self._is_unsure or not is_added):
            await self._initialise(is_first=False)

    async def _add_partitions(self, numbers: list[int]) -> None:
        body = wire.add_partitions_request(
            self.transactional_id, self.producer_id, self.epoch, self.topic.name, numbers
        )
        while True:
            answer = await self.coordinator.ask(wire.ADD_PARTITIONS, wire.ADD_PARTITIONS_VERSION, body)
            if answer is None:
                continue
            errors = set(wire.add_partitions_response(answer, self.topic.name))
            if await self._is_added("AddPartitionsToTxn", errors):
                return

    async def _add_offsets(self) -> None:
        body = wire.add_offsets_request(self.transactional_id, self.producer_id, self.epoch, self.group)
        while True:
            answer = await self.coordinator.ask(wire.ADD_OFFSETS, wire.ADD_OFFSETS_VERSION, body)
            if answer is None:
                continue
            if await self._is_added("AddOffsetsToTxn", {wire.add_offsets_response(answer)}):
                return

    async def _is_added(self, request: str, errors: set[int]) -> bool:
        """Pauses after errors that pass."""
        if errors == {0}:
            return True
        for error in sorted(errors - RETRIABLE):
            if error in FATAL or error == INVALID_TXN_STATE:
                raise _Fenced(f"{request}: {error}")
            if error == ABORTABLE:
                raise _ToAbort(f"{request}: {error}")
            raise self._unexpected(request, error)
        await self.coordinator.pause(max(errors))
        return False

    async def _send_all(self, name: str, numbers: list[int], *, has_offset: bool) -> None:
        """One batch to each partition, at once; with an offset before them or beside them."""
        sends = [self._send(name, number) for number in numbers]
        if has_offset:
            sends.append(self._send_offset(name))
            if self.random.random() < 0.5:
                sends.reverse()
        outcomes = await asyncio.gather(*sends, return_exceptions=True)
        for kind in (Exception, Over, _Fenced, _ToAbort):
            for outcome in outcomes:
                is_ours = isinstance(outcome, Over | _Fenced | _ToAbort)
                if isinstance(outcome, kind) and is_ours == (kind is not Exception):
                    raise outcome

    async def _send(self, name: str, number: int) -> None:
        client = self._leaders[number]
        names = []
        for _ in range(self.random.randint(1, 2)):
            names.append(f"{self.name}-{self.count}")
            self.count += 1
            sequence = self._sent[number] = self._sent.get(number, -1) + 1
            sent = Sent(names[-1], self.name, client.key, sequence, transaction=name)
            self.world.history.events.append(sent)
        sequence = self._sequences.get(number, 0)
        for _ in range(self.random.choice(TRIES)):
            error, base_offset = await self._produce(client, names, sequence)
            if error in (0, DUPLICATE):
                self._sequences[number] = sequence + len(names)
                note_acknowledged(client, names, base_offset)
                return
            if error in (FENCED, INVALID_MAPPING):
                raise _Fenced(f"Produce: {error}")
            if error in TO_ABORT:
                self._is_unsure = True
                raise _ToAbort(f"Produce: {error}")
            if error not in RETRIABLE and error != -1:
                raise self._unexpected("Produce", error)
            await client.refresh()
        self._is_unsure = True
        raise _ToAbort("nobody takes the batch")

    async def _produce(self, client: Client, names: list[str], sequence: int) -> tuple[int, int]:
        """Error and offset; the error is -1 when there is no answer."""
        if self.world.is_over:
            raise Over
        values = [name.encode() for name in names]
        now_ms, epoch = self.world.now_ms(), self.epoch
        batch = producer_batch(values, now_ms, self.producer_id, sequence, epoch, is_transactional=True)
        topic = self.topic.topic_id if self.version == 2 else compact(self.topic.name)
        body = produce_request(topic, client.partition, batch, -1, compact(self.transactional_id))
        answer = await client.ask(PRODUCE, wire.PRODUCE_VERSIONS[self.version], body)
        if answer is None:
            return -1, -1
        produced = produce_response(answer, len(topic))
        return produced.error, produced.base_offset

    async def _send_offset(self, name: str) -> None:
        self.owner.transactions += 1
        offset = self.owner.transactions
        self.world.history.events.append(OffsetSent(name, offsets.row_of(self.transactional_id), offset))
        version = self.random.choice(wire.TXN_OFFSET_COMMIT_VERSIONS[self.version])
        place = self.group, self.topic.name, offsets.PARTITION, offset
        body = wire.txn_offset_commit_request(self.transactional_id, self.producer_id, self.epoch, *place)
        for _ in range(OFFSET_TRIES):
            answer = await self.group_coordinator.ask(wire.TXN_OFFSET_COMMIT, version, body, lateness=OFFSET_LATENESS)
            if answer is None:
                self._is_unsure = True
                continue
            error = wire.txn_offset_commit_response(answer, self.topic.name)
            if error == 0:
                self.world.note(f"{name} has the offset {offset}")
                return
            if error in FATAL or (error == INVALID_TXN_STATE and version < ABORTABLE_FROM):
                raise _Fenced(f"TxnOffsetCommit: {error}")
            if error == ABORTABLE:
                raise _ToAbort(f"TxnOffsetCommit: {error}")
            if error not in RETRIABLE:
                raise self._unexpected(f"TxnOffsetCommit {version}", error)
            await self.group_coordinator.pause(error)
        raise _ToAbort("nobody takes the offset")

    async def _end(self, name: str, *, is_commit: bool) -> None:
        self.world.history.events.append(EndAsked(name, is_commit, self.world.time()))
        version, what = wire.END_TXN_VERSIONS[self.version], "commit" if is_commit else "abort"
        body = wire.end_txn_request(self.transactional_id, self.producer_id, self.epoch, is_commit=is_commit)
        is_unknown = False
        while True:
            answer = await self.coordinator.ask(wire.END_TXN, version, body, lateness=float(self.version == 2))
            if answer is None:
                is_unknown = True
                continue
            found = wire.end_txn_response(answer, self.version)
            if found.error == 0:
                self._note_end(name, is_commit=is_commit)
                if self.version == 2:
                    self._take_over(found)
                return
            if found.error in FATAL or found.error in (INVALID_TXN_STATE, ABORTABLE):
                if not (is_commit and is_unknown):
                    self._note_end(name, is_commit=False)
                raise _Fenced(f"EndTxn, {what} of {name}: {found.error}")
            if found.error not in RETRIABLE:
                raise self._unexpected(f"EndTxn, {what}", found.error)
            is_unknown = True
            await self.coordinator.pause(found.error)

    def _note_end(self, name: str, *, is_commit: bool) -> None:
        self.world.note(f"{name} is {'committed' if is_commit else 'aborted'}")
        self.world.history.events.append(Ended(name, is_commit, self.world.time()))


def clients(world: World, topic: Topic, plan: Plan) -> Iterator[TransactionalId | Consumer | offsets.OffsetReader]:
    """Of the partitions that the topic has at first."""
    for name in IDS:
        yield TransactionalId(world, name, topic, plan)
        yield offsets.OffsetReader(world, name, topic)
    for number in range(len(topic.assigned)):
        yield Consumer(world, f"committed-{number}", topic, number, gap_s=0.1, is_committed=True)
