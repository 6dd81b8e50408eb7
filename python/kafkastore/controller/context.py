"""What the controller knows: live brokers, topics, partitions and the states of their replicas.

Read from the store when the broker becomes the controller, and changed after the store has taken a change. Changed on
one loop by one event at a time. No I/O; no decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.controller.move_log import MoveLog
from kafkastore.controller.states import (
    PartitionStatus,
    ReplicaState,
    check_partition_move,
    check_replica_move,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkastore.controller.admin_nodes import ReassignNode
    from kafkastore.metadata.assignment import Assigned
    from kafkastore.metadata.broker_nodes import Registration
    from kafkastore.metadata.leadership import Leadership
    from kafkastore.purgatory.turns import Turn


class Partition:
    """One partition. ``leadership`` is None until it was decided for the first time."""

    __slots__ = ("assigned", "has_folder", "is_invalid", "leadership", "number", "replica_states", "status", "topic")

    def __init__(self, topic: Topic, number: int, assigned: Assigned) -> None:
        self.topic = topic
        self.number = number
        self.assigned = assigned
        self.leadership: Leadership | None = None
        self.is_invalid = False  # there is a state that cannot be read: who has what was committed is not known
        self.has_folder = False  # whether the store has the parent of the state node
        self.status = PartitionStatus.NON_EXISTENT
        known = (*assigned.replicas, *assigned.pending_deletion) if assigned.removing else assigned.replicas
        self.replica_states = dict.fromkeys(known, ReplicaState.NON_EXISTENT)

    @property
    def replicas(self) -> tuple[int, ...]:
        return self.assigned.replicas

    @property
    def folder(self) -> str:
        return f"/brokers/topics/{self.topic.name}/partitions/{self.number}"

    @property
    def leader(self) -> int:
        return -1 if self.leadership is None else self.leadership.leader

    def begin(self) -> None:
        """It and its replicas are new to the controller: out of nothing the one legal move."""
        self.move(PartitionStatus.NEW)
        for replica in self.replica_states:
            self.move_replica(replica, ReplicaState.NEW)

    def move(self, status: PartitionStatus) -> None:
        check_partition_move(self.status, status)
        if self.topic.moves is not None and status is not self.status:
            self.topic.moves.note("partitions", self.status, status, self.topic.name, self.number)
        self.status = status

    def move_replica(self, replica: int, state: ReplicaState) -> None:
        current = self.replica_states[replica]
        check_replica_move(current, state)
        if state is ReplicaState.DELETION_INELIGIBLE:
            self.topic.held_up += current is not state
        elif current is ReplicaState.DELETION_INELIGIBLE:
            self.topic.held_up -= 1
        if self.topic.moves is not None and state is not current:
            self.topic.moves.note("replicas", current, state, self.topic.name, self.number, replica)
        self.replica_states[replica] = state

    def reassign(self, assigned: Assigned) -> None:
        """The store has taken another assignment. Replicas that are new begin as such, whatever is known of an earlier
        one."""
        for replica in assigned.replicas:
            if replica not in self.assigned.replicas:
                self.replica_states[replica] = ReplicaState.NON_EXISTENT
                self.move_replica(replica, ReplicaState.NEW)
        for replica in self.replica_states.keys() - {*assigned.replicas, *assigned.pending_deletion}:
            self.move_replica(replica, ReplicaState.NON_EXISTENT)
            del self.replica_states[replica]
        self.assigned = assigned

    def __repr__(self) -> str:
        return f"{self.topic.name}-{self.number}"


class Topic:
    """One topic; ``partitions[i]`` is partition i."""

    __slots__ = (
        "configs",
        "has_folder",
        "held_up",
        "is_deleting",
        "moves",
        "name",
        "partitions",
        "topic_id",
        "version",
    )

    def __init__(self, name: str, topic_id: bytes, assigned: Iterable[Assigned], version: int = 0) -> None:
        self.name = name
        self.topic_id = topic_id
        self.configs: dict[str, str] = {}
        self.version = version  # of the node with the assignment
        self.has_folder = False  # whether the store has the parent of the partitions
        self.is_deleting = False
        self.held_up = 0  # replicas whose deletion goes on when their broker has come back
        self.moves: MoveLog | None = None  # none while an earlier controller's topics are read
        self.partitions = [Partition(self, number, one) for number, one in enumerate(assigned)]

    @property
    def path(self) -> str:
        return f"/brokers/topics/{self.name}"


class ControllerContext:
    """See the module."""

    def __init__(self) -> None:
        self.brokers: dict[int, Registration] = {}
        self.shutting_down: set[int] = set()
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[bytes, Topic] = {}
        self.moving: dict[Partition, None] = {}
        """What a reassignment changes, or owes the deletion of a replica."""
        self.invalid: set[str] = set()
        """Nodes that cannot be read, of topics and states; what they were about is left as it is until somebody mends
        them."""
        self.reassign_node: ReassignNode | None = None
        """While there is one."""
        self.offline_logs: dict[int, set[Partition]] = {}
        """Of live brokers: the partitions whose log directory failed there."""
        self.moves: MoveLog | None = None

    # ---- brokers
    def usable(self) -> set[int]:
        """Who may lead, as far as brokers go; of one partition ask :meth:`usable_of`."""
        return self.brokers.keys() - self.shutting_down

    def usable_of(self, partition: Partition, usable: set[int]) -> set[int]:
        """``usable`` without the brokers where this partition's log is offline."""
        without = {broker for broker, partitions in self.offline_logs.items() if partition in partitions}
        return usable - without if without else usable

    def is_online(self, partition: Partition, replica: int) -> bool:
        """On a live broker, in a log directory that works."""
        return replica in self.brokers and partition not in self.offline_logs.get(replica, ())

    def is_in_order(self, state: Leadership) -> bool:
        """Whether it can be seen at once that nothing is to do: what most partitions are when a broker comes or
        goes."""
        if self.offline_logs or state.elr or state.leader not in self.brokers:
            return False
        return all(replica in self.brokers for replica in state.isr)

    def gone_of(self, partition: Partition) -> set[int]:
        """The replicas that are not online, and whoever is in a set without being a replica any more."""
        known = set(partition.replicas)
        if partition.leadership is not None:
            known |= {*partition.leadership.isr, partition.leadership.leader}
        return {replica for replica in known if not self.is_online(partition, replica)}

    # ---- topics
    def log_moves(self) -> None:
        """From now on: what was read when this controller began is no news."""
        self.moves = MoveLog()
        for topic in self.topics.values():
            topic.moves = self.moves

    def put_topic(self, topic: Topic) -> None:
        topic.moves = self.moves
        self.topics[topic.name] = topic
        self.topics_by_id[topic.topic_id] = topic

    def note_moving(self, partition: Partition) -> None:
        """Its assignment is new here, or has changed."""
        if partition.assigned.adding or partition.assigned.removing:
            self.moving[partition] = None
        else:
            self.moving.pop(partition, None)

    def remove_topic(self, topic: Topic) -> None:
        self.topics.pop(topic.name, None)
        self.topics_by_id.pop(topic.topic_id, None)
        for offline in self.offline_logs.values():
            if offline:
                offline.difference_update(topic.partitions)
        if self.moving:
            for partition in topic.partitions:
                self.moving.pop(partition, None)

    def partitions(self) -> Iterator[Partition]:
        """Of all topics that are not being deleted."""
        for topic in list(self.topics.values()):  # of this moment: whoever walks them may give way
            if not topic.is_deleting:
                yield from topic.partitions

    def all_partitions(self) -> Iterator[Partition]:
        """Of topics that are being deleted, too."""
        for topic in list(self.topics.values()):
            yield from topic.partitions

    async def partitions_on(self, broker: int, turn: Turn) -> list[Partition]:
        """Those with a replica on ``broker``."""
        return [
            partition
            async for run in turn.runs(self.partitions())
            for partition in run
            if broker in partition.assigned.replicas
        ]

    def partition(self, topic: str, number: int) -> Partition | None:
        found = self.topics.get(topic)
        if found is None or not 0 <= number < len(found.partitions):
            return None
        return found.partitions[number]
