"""What is asked of the cluster in a run: topics that move, grow, go and come again, replicas that change their
directory, elections.

Drawn from the seed before the run begins, like faults, and with faults of their own: some come right before or after an
operation, when it is under way. Whoever asks is outside of every process and asks again when there is no answer, so a
request may be served twice, late, or by a controller that is none any more. What was asked for is noted in
``topics.py``; what became of it is looked at in ``ending.py``.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore.errors import KafkastoreError, NotControllerError
from kafkastore.metadata.admin_nodes import REASSIGN_PARTITIONS, encode_reassignments
from kafkastore.metadata.store import Create, NodeExistsError, NoNodeError
from kafkastore.purgatory.turns import Turn
from kafkastore.topic.new_topic import NewPartitions, NewTopic
from simulator import compaction
from simulator.faults import FAULTS_FROM_S, FAULTS_TO_S, Fault
from simulator.network import Lost

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from random import Random

    from simulator.topics import Topic
    from simulator.world import World

LIMIT_S = 0.8
"""Of one request."""
PAUSE_S = 0.05
MAX_PARTITIONS = 3
BACK_S = 0.3, 1.0
"""From a move to the one back."""

KINDS = ("reassign", "reassign", "reassign all", "reassign by node", "cancel", "grow", "delete", "elect", "move dir")

AIMED = (
    "kill controller", "power controller", "stop controller", "isolate controller", "kill", "power", "kill leader",
    "power leader", "stop", "isolate", "isolate leader", "cut", "cut one way", "cut from store", "fence", "late",
    "late", "lossy",
)  # fmt: skip
"""Faults that come right after an operation."""


class Operation(NamedTuple):
    kind: str
    begins_s: float
    is_lasting: bool
    """Of the topic that is never deleted."""
    chance: float
    """Which partition, as a part of all."""
    target: tuple[int, ...]


def is_any(random: Random) -> bool:
    """Whether a run has operations at all."""
    return random.random() < 0.5


def draw(random: Random, node_ids: tuple[int, ...]) -> tuple[list[Operation], list[Fault]]:
    """In the order of their beginnings."""
    kinds = random.sample(KINDS, random.randint(2, 6))
    operations, faults = [], []
    for _ in range(random.randint(2, 9)):
        begins_s = random.uniform(FAULTS_FROM_S, FAULTS_TO_S)
        target = tuple(random.sample(node_ids, min(random.choice((2, 3, 3, 3)), len(node_ids))))
        one = Operation(random.choice(kinds), begins_s, random.random() < 0.6, random.random(), target)
        operations.append(one)
        if random.random() < 0.3:  # something else while it is under way
            then = random.choice(("cancel", "reassign", "delete", "elect", "move dir", "grow"))
            shuffled = tuple(random.sample(target, len(target)))
            operations.append(one._replace(kind=then, begins_s=begins_s + _soon(random), target=shuffled))
        if random.random() < 0.6:
            begins_s += random.choice((-1, 1, 1, 1)) * _soon(random)
            lasts_s = random.choice((0.02, 0.1, 0.3, 1.0, 2.0)) * random.uniform(0.5, 1.5)
            faults.append(Fault(random.choice(AIMED), begins_s, lasts_s, *_two(random, one, node_ids)))
    return sorted(operations, key=lambda one: one.begins_s), faults


def with_ways_back(random: Random, operations: list[Operation]) -> list[Operation]:
    """Each move, and soon after it the one back to where the partition was at first."""
    found = list(operations)
    for one in operations:
        if one.kind == "reassign":
            begins_s = one.begins_s + random.uniform(*BACK_S)
            found.append(one._replace(kind="move back", begins_s=begins_s))
    return sorted(found, key=lambda one: one.begins_s)


def _soon(random: Random) -> float:
    return random.choice((0.01, 0.05, 0.2)) * random.random()


def _two(random: Random, operation: Operation, node_ids: tuple[int, ...]) -> tuple[int, int]:
    """A target, and anybody else."""
    target = random.choice(operation.target)
    return target, random.choice([one for one in node_ids if one != target])


class Admin:
    """Asks for operations; see the module."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random_of("admin")
        self.unsure_until_s = 0.0
        """Until then a request that nobody waits for any more may arrive."""
        self.tasks: list[asyncio.Task[None]] = []
        self._serving: dict[tuple[bytes, int], int] = {}

    def begin(self, operation: Operation) -> None:
        self.world.note(f"ask: {operation.kind} {list(operation.target)}")
        perform: Callable[[Topic, Operation], Coroutine[Any, Any, None]] = {
            "reassign": self._reassign,
            "reassign all": self._reassign,
            "move back": self._move_back,
            "reassign by node": self._reassign_by_node,
            "cancel": self._cancel,
            "grow": self._grow,
            "delete": self._delete,
            "elect": self._elect,
            "move dir": self._move_dir,
        }[operation.kind]
        names = (self.world.lasting_topic, self.world.passing_topic)
        name = names[0] if operation.is_lasting and operation.kind != "delete" else names[1]
        if operation.is_lasting and self.world.compaction is not None and int(operation.chance * 1000) % 2:
            name = compaction.TOPIC if operation.kind != "delete" else name
        topic = self.world.topics.living.get(name)
        if topic is not None and not topic.is_doomed:
            self.tasks.append(asyncio.get_running_loop().create_task(perform(topic, operation)))

    # ---- moves
    async def _reassign(self, topic: Topic, operation: Operation) -> None:
        partitions = range(len(topic.assigned)) if operation.kind == "reassign all" else (_partition(topic, operation),)
        await self._alter(topic, dict.fromkeys(partitions, operation.target))

    async def _move_back(self, topic: Topic, operation: Operation) -> None:
        partition = _partition(topic, operation)
        await self._alter(topic, {partition: topic.first[partition]})

    async def _cancel(self, topic: Topic, operation: Operation) -> None:
        await self._alter(topic, dict.fromkeys(range(len(topic.assigned))))

    async def _alter(self, topic: Topic, targets: dict[int, tuple[int, ...] | None]) -> None:
        others = self._begin_asking(topic, targets)
        asked = {(topic.name, partition): target for partition, target in targets.items()}
        answer = await self._ask_controller("alter_reassignments", asked)
        self._end_asking(topic, targets)
        for partition, target in targets.items():
            is_answered = isinstance(answer, dict)
            refusal = answer[topic.name, partition] if is_answered else answer
            accepted = "accepted" if is_answered else "not answered"
            self.world.note(f"{topic.key(partition)} to {target}: {accepted if refusal is None else repr(refusal)}")
            if not is_answered or partition in others:
                topic.unsure.add(partition)
            elif refusal is None and target is not None:
                topic.confirmed(partition, target)

    def _begin_asking(self, topic: Topic, targets: dict[int, tuple[int, ...] | None]) -> set[int]:
        """Partitions of which somebody else asks something."""
        others = set()
        for partition, target in targets.items():
            topic.asked(partition, target)
            key = topic.topic_id, partition
            self._serving[key] = self._serving.get(key, 0) + 1
            if self._serving[key] > 1:
                others.add(partition)
                topic.unsure.add(partition)
        return others

    def _end_asking(self, topic: Topic, targets: dict[int, tuple[int, ...] | None]) -> None:
        for partition in targets:
            self._serving[topic.topic_id, partition] -= 1

    async def _reassign_by_node(self, topic: Topic, operation: Operation) -> None:
        partition = _partition(topic, operation)
        topic.asked(partition, operation.target)
        topic.unsure.add(partition)
        content = encode_reassignments({(topic.name, partition): operation.target})
        with suppress(NodeExistsError, NoNodeError):
            self.world.tree.multi([Create(REASSIGN_PARTITIONS, content)], 0)

    # ---- topics
    async def _grow(self, topic: Topic, operation: Operation) -> None:
        if len(topic.assigned) < MAX_PARTITIONS:
            await self._ask_controller("create_partitions", [NewPartitions(topic.name, len(topic.assigned) + 1)])

    async def _delete(self, topic: Topic, operation: Operation) -> None:
        while self.world.is_busy and self.world.topics.living.get(topic.name) is topic:
            if not topic.is_doomed:
                await self._ask_controller("delete_topics", [topic.name])
            await asyncio.sleep(PAUSE_S * self.random.random())
        if self.world.is_busy:
            self.world.note(f"{topic.name} is gone")
            count = 1 + (operation.chance > 0.5)
            again = NewTopic(topic.name, count, min(len(operation.target), len(self.world.node_ids)))
            await self._ask_controller("create_topics", [again])

    async def _elect(self, topic: Topic, operation: Operation) -> None:
        await self._ask_controller("elect_leaders", [(topic.name, number) for number in range(len(topic.assigned))])

    # ---- one broker
    async def _move_dir(self, topic: Topic, operation: Operation) -> None:
        """To the directory that the seed says; often it is there."""
        partition, node = _partition(topic, operation), self.world.nodes[operation.target[0]]
        directory = node.log_dirs[int(operation.chance * 1000) % len(node.log_dirs)]

        async def serve() -> None:
            life = node.life
            if life is not None and life.is_started:
                codes = await life.broker.services.log_dir_moves.alter({(topic.name, partition): directory}, Turn())
                self.world.note(f"{node.name} moves {topic.key(partition)} to another directory: {codes}")

        with suppress(Lost):
            await self.world.network.ask("admin", node.name, node.find, serve, LIMIT_S)

    # ---- the controller
    async def _ask_controller(self, method: str, *arguments: Any) -> Any:
        """What it answers, or the error; None when nobody has answered while the clients work."""
        while self.world.is_busy:
            node = self.world.nodes[self.world.controller_now() or self.random.choice(self.world.node_ids)]

            async def serve() -> Any:
                life = node.life  # noqa: B023 - served before the next one is asked, or never
                if life is None or not life.is_started:
                    return NotControllerError()
                try:
                    return await getattr(life.broker.services.controller, method)(*arguments)
                except KafkastoreError as error:
                    return error

            try:
                answer = await self.world.network.ask("admin", node.name, node.find, serve, LIMIT_S)
            except Lost:
                self.is_unsure()
                return None
            if not isinstance(answer, NotControllerError):
                return answer
            await asyncio.sleep(PAUSE_S * (0.2 + self.random.random()))
        return None

    def is_unsure(self) -> None:
        self.unsure_until_s = self.world.time() + self.world.late_s


def _partition(topic: Topic, operation: Operation) -> int:
    return int(operation.chance * len(topic.assigned))
