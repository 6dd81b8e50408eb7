"""What topics the store has and had: each is its id, and another of the same name is another topic.

Looked up after each change of the tree. It also notes where replicas may be: what was asked for, and what of that was
confirmed. It changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.metadata.assignment import decode_assigned
from kafkastore.metadata.leadership import decode_leadership

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kafkastore.metadata.assignment import ReplicaAssignment
    from simulator.metadata import Tree

    Target = frozenset[int]


class Topic:
    """One of its name; the first is called by the name alone, later ones have a number."""

    def __init__(self, name: str, topic_id: bytes, number: int) -> None:
        self.name = name
        self.topic_id = topic_id
        self.number = number
        self.assigned: list[ReplicaAssignment] = []
        self.is_doomed = False
        """Its deletion was decided."""
        self.allowed: dict[int, set[Target]] = {}
        """By partition: where its replicas may be at last."""
        self.first: dict[int, tuple[int, ...]] = {}
        """Where they were at first."""
        self.ever: dict[int, set[Target]] = {}
        """Where they were, or were to be, at any time: a cancellation may bring that back."""
        self._keys: dict[int, str] = {}
        self.unsure: set[int] = set()
        """Partitions of which a request may still arrive, or did without an answer."""

    def key(self, partition: int) -> str:
        key = self._keys.get(partition)
        if key is None:
            again = f"~{self.number}" if self.number else ""
            key = self._keys[partition] = f"{self.name}{again}-{partition}"
        return key

    def asked(self, partition: int, target: Sequence[int] | None) -> None:
        """Before it is sent; None for a cancellation."""
        if target is None:
            self.allowed[partition] = set(self.ever[partition])
        else:
            self.ever[partition].add(frozenset(target))
            self.allowed[partition].add(frozenset(target))

    def take_over(self, partition: int, earlier: Topic) -> None:
        """A request names a topic, not its id (AlterPartitionReassignments): one that is still on its way for an
        earlier topic of the name moves this one."""
        if partition in earlier.unsure:
            self.unsure.add(partition)
            self.ever[partition] |= earlier.ever[partition]
            self.allowed[partition] |= earlier.ever[partition]

    def confirmed(self, partition: int, target: Sequence[int]) -> None:
        """That move is under way, and nothing else was asked for that could still undo it."""
        if partition not in self.unsure:
            self.allowed[partition] = {frozenset(target)}


class Topics:
    """See the module."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.all: dict[bytes, Topic] = {}
        self.living: dict[str, Topic] = {}
        self.on_partition: Callable[[Topic, int], None] = lambda *_: None
        """Told of each partition that comes."""
        self._seen: dict[str, bytes] = {}

    def look(self) -> None:
        for name in self.tree.nodes["/brokers/topics"].children if "/brokers/topics" in self.tree.nodes else ():
            data = self.tree.nodes[f"/brokers/topics/{name}"].data
            if self._seen.get(name) is not data:
                self._seen[name] = data
                self._take_over(name, data)
        for name in [name for name in self.living if f"/brokers/topics/{name}" not in self.tree.nodes]:
            self.living.pop(name).is_doomed = True
            del self._seen[name]
        marks = self.tree.nodes.get("/admin/delete_topics")
        for name in marks.children if marks is not None else ():
            if name in self.living:
                self.living[name].is_doomed = True

    def _take_over(self, name: str, data: bytes) -> None:
        topic_id, assigned = decode_assigned(data)
        topic = self.all.get(topic_id)
        earlier = [one for one in self.all.values() if one.name == name and one is not topic]
        if topic is None:
            topic = self.all[topic_id] = Topic(name, topic_id, len(earlier))
        self.living[name] = topic
        new = range(len(topic.assigned), len(assigned))
        topic.assigned = assigned
        for partition in new:
            topic.allowed[partition] = {frozenset(assigned[partition].replicas)}
            topic.first[partition] = tuple(assigned[partition].replicas)
            topic.ever[partition] = set(topic.allowed[partition])
            for one in earlier:
                topic.take_over(partition, one)
            self.on_partition(topic, partition)

    def places(self) -> Iterator[tuple[Topic, int]]:
        """Every partition of the topics that are there and are to stay."""
        for topic in self.living.values():
            if not topic.is_doomed:
                for partition in range(len(topic.assigned)):
                    yield topic, partition

    def leadership(self, topic: Topic, partition: int) -> Any:
        if self.living.get(topic.name) is not topic:
            return None
        node = self.tree.nodes.get(f"/brokers/topics/{topic.name}/partitions/{partition}/state")
        return None if node is None else decode_leadership(node.data, node.version)
