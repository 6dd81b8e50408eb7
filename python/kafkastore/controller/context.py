"""The controller's context: live brokers, topics, partitions and the states of their replicas.

It is read from the store when the broker becomes the controller. Each later change is written to the store first, and
made here after that, on one loop by one event at a time. No I/O; no decision.
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
    from kafkastore.metadata.assignment import ReplicaAssignment
    from kafkastore.metadata.broker_nodes import Registration
    from kafkastore.metadata.leadership import Leadership
    from kafkastore.purgatory.turns import Turn


class Partition:
    """One partition. ``leadership`` is None until the first leader is elected."""

    __slots__ = ("assigned", "has_folder", "is_invalid", "leadership", "number", "replica_states", "status", "topic")

    def __init__(self, topic: Topic, number: int, assigned: ReplicaAssignment) -> None:
        self.topic = topic
        self.number = number
        self.assigned = assigned
        self.leadership: Leadership | None = None
        self.is_invalid = False  # the state node is invalid: which replicas have all committed records is not known
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
        """Moves a partition that is new to the controller, and its replicas, from NON_EXISTENT to NEW."""
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

    def reassign(self, assigned: ReplicaAssignment) -> None:
        """Takes over an assignment that the store has taken. An added replica begins as NEW, whatever the state of an
        earlier replica on the same broker."""
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

    def __init__(self, name: str, topic_id: bytes, assigned: Iterable[ReplicaAssignment], version: int = 0) -> None:
        self.name = name
        self.topic_id = topic_id
        self.configs: dict[str, str] = {}
        self.version = version  # of the topic's node, which has the assignment
        self.has_folder = False  # whether the store has the parent node of the partitions
        self.is_deleting = False
        self.held_up = 0  # the number of replicas whose deletion waits until their broker comes back
        self.moves: MoveLog | None = None  # None while a new controller reads the topics
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
        """The partitions that a reassignment moves, or of which it still has to delete a replica."""
        self.invalid: set[str] = set()
        """The paths of invalid nodes of topics and partition states; such a topic or partition is left as it is until
        its node is repaired."""
        self.reassign_node: ReassignNode | None = None
        """None while there is no ``/admin/reassign_partitions``."""
        self.offline_logs: dict[int, set[Partition]] = {}
        """By live broker: the partitions whose log directory failed there."""
        self.moves: MoveLog | None = None

    # ---- brokers
    def usable(self) -> set[int]:
        """The live brokers that are not shutting down; :meth:`usable_of` has those that may lead a given partition."""
        return self.brokers.keys() - self.shutting_down

    def usable_of(self, partition: Partition, usable: set[int]) -> set[int]:
        """``usable`` without the brokers where this partition's log is offline."""
        without = {broker for broker, partitions in self.offline_logs.items() if partition in partitions}
        return usable - without if without else usable

    def is_online(self, partition: Partition, replica: int) -> bool:
        """Whether the replica is on a live broker, in a log directory that works."""
        return replica in self.brokers and partition not in self.offline_logs.get(replica, ())

    def is_in_order(self, state: Leadership) -> bool:
        """A quick check whether the partition needs no change: its leader and its isr are alive, its elr is empty, and
        no log is offline. Most partitions pass it when a broker joins or dies."""
        if self.offline_logs or state.elr or state.leader not in self.brokers:
            return False
        return all(replica in self.brokers for replica in state.isr)

    def gone_of(self, partition: Partition) -> set[int]:
        """The replicas, members of the isr and leader that are not online; members and leader count even when they are
        no longer replicas."""
        known = set(partition.replicas)
        if partition.leadership is not None:
            known |= {*partition.leadership.isr, partition.leadership.leader}
        return {replica for replica in known if not self.is_online(partition, replica)}

    # ---- topics
    def log_moves(self) -> None:
        """Logs moves from now on, after the controller has read all: the moves of that reading are not logged."""
        self.moves = MoveLog()
        for topic in self.topics.values():
            topic.moves = self.moves

    def put_topic(self, topic: Topic) -> None:
        topic.moves = self.moves
        self.topics[topic.name] = topic
        self.topics_by_id[topic.topic_id] = topic

    def note_moving(self, partition: Partition) -> None:
        """Updates ``moving`` for a partition whose assignment is new here or has changed."""
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
        """The partitions of all topics that are not being deleted."""
        for topic in list(self.topics.values()):  # a copy: topics may change while the caller gives way
            if not topic.is_deleting:
                yield from topic.partitions

    def all_partitions(self) -> Iterator[Partition]:
        """The partitions of all topics, those being deleted too."""
        for topic in list(self.topics.values()):
            yield from topic.partitions

    async def partitions_on(self, broker: int, turn: Turn) -> list[Partition]:
        """The partitions with a replica on ``broker``, without those of topics that are being deleted."""
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
