"""The replicas of each partition of a topic: the content of ``/brokers/topics/T``.

While a partition moves (KIP-455) ``replicas`` are the target and the replicas before the move; ``adding`` and
``removing`` are the differences. A replica that is in ``removing`` and no longer in ``replicas`` is *to be deleted*: it
was removed from the partition, and its broker has not yet answered that the data is deleted.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

from kafkastore.metadata.node_content import InvalidNodeError, ids, json_object, mapping, shown, text
from kafkastore.metadata.nodes import parse_topic_id, topic_id_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Generator, Sequence

    Pause = Callable[[], Awaitable[None]]


NEWEST_VERSION: Final = 3
"""The newest version of the node."""

IN_A_STEP: Final = 1000
"""Partitions that are encoded or decoded between two pauses; a topic may have 100,000."""

T = TypeVar("T")


class ReplicaAssignment(NamedTuple):
    """One partition's replicas, the preferred leader first."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas when the reassignment is complete."""
        return _without(self.replicas, self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas when the reassignment is cancelled."""
        return _without(self.replicas, self.adding)

    @property
    def leaving(self) -> tuple[int, ...]:
        """The replicas that leave the partition when the reassignment is complete."""
        return tuple(replica for replica in self.removing if replica in self.replicas)

    @property
    def pending_deletion(self) -> tuple[int, ...]:
        """The replicas that were removed from the partition and whose data is not known to be deleted."""
        return _without(self.removing, self.replicas)

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.leaving)

    def moved_to(self, target: Sequence[int]) -> ReplicaAssignment:
        """With a new reassignment, or another one in place of the one under way; the origin as the target ends it."""
        origin = self.origin
        replicas = (*target, *_without(origin, target))
        pending = _without((*self.pending_deletion, *self.replicas), replicas)
        return ReplicaAssignment(replicas, _without(target, origin), (*_without(origin, target), *pending))

    def completed(self) -> ReplicaAssignment:
        """With the target alone; the replicas that leave are to be deleted from now on."""
        return ReplicaAssignment(self.target, (), self.removing)

    def without_deleted(self, deleted: Container[int]) -> ReplicaAssignment:
        """The brokers ``deleted`` have deleted their replicas."""
        return self._replace(removing=tuple(one for one in self.removing if one in self.replicas or one not in deleted))


def encode_assigned(topic_id: bytes, partitions: Sequence[ReplicaAssignment]) -> bytes:
    return at_once(encode_in_steps(topic_id, partitions))


def encode_in_steps(topic_id: bytes, partitions: Sequence[ReplicaAssignment]) -> Generator[None, None, bytes]:
    """As :func:`encode_assigned`; yields between some partitions."""
    rows: list[str] = []
    adding: dict[str, tuple[int, ...]] = {}
    removing: dict[str, tuple[int, ...]] = {}
    equal: dict[tuple[int, ...], str] = {}  # equal lists of replicas are encoded once
    for first in range(0, len(partitions), IN_A_STEP):
        yield
        for number, one in enumerate(partitions[first : first + IN_A_STEP], first):
            replicas = equal.get(one.replicas)
            if replicas is None:
                replicas = equal[one.replicas] = _json(one.replicas)
            rows.append(f'"{number}":{replicas}')
            if one.adding:
                adding[str(number)] = one.adding
            if one.removing:
                removing[str(number)] = one.removing
    head = f'"version":{NEWEST_VERSION},"topic_id":"{topic_id_text(topic_id)}"'
    moves = f'"adding_replicas":{_json(adding)},"removing_replicas":{_json(removing)}'
    return f'{{{head},"partitions":{{{",".join(rows)}}},{moves}}}'.encode()


_json: Final = json.JSONEncoder(separators=(",", ":")).encode


def at_once(steps: Generator[None, None, T]) -> T:
    """The result of the steps."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return cast("T", done.value)


async def paced(steps: Generator[None, None, T], pause: Pause | None) -> T:
    """The result of the steps; ``pause`` is awaited between them."""
    while True:
        if pause is not None:
            await pause()
        try:
            next(steps)
        except StopIteration as done:
            return cast("T", done.value)


def decode_assigned(data: bytes) -> tuple[bytes | None, list[ReplicaAssignment]]:
    """The topic's id and its partitions. Versions 1, without moves, and 2 have no id (Kafka up to 2.3 and 2.7): None.
    Raises InvalidNodeError."""
    return at_once(decode_in_steps(data))


def decode_in_steps(data: bytes) -> Generator[None, None, tuple[bytes | None, list[ReplicaAssignment]]]:
    """As :func:`decode_assigned`; yields between some partitions."""
    content = json_object(data)
    version = content.get("version", NEWEST_VERSION)
    if isinstance(version, bool) or version not in range(1, NEWEST_VERSION + 1):
        raise InvalidNodeError(f"version is {shown(version)}; 1 to {NEWEST_VERSION} are known")
    topic_id = parse_topic_id(text(content, "topic_id")) if "topic_id" in content else None
    replicas = mapping(content, "partitions")
    adding, removing = mapping(content, "adding_replicas"), mapping(content, "removing_replicas")
    equal: dict[ReplicaAssignment, ReplicaAssignment] = {}  # equal assignments share one object, and are checked once
    partitions = []
    for index in range(len(replicas)):
        if index % IN_A_STEP == 0:
            yield
        number = str(index)
        one = ReplicaAssignment(ids(replicas.get(number), f"partition {number}"))
        if number in adding or number in removing:
            added = ids(adding.get(number, []), f"adding_replicas of {number}")
            one = ReplicaAssignment(
                one.replicas, added, ids(removing.get(number, []), f"removing_replicas of {number}")
            )
        known = equal.get(one)
        if known is None:
            known = equal[one] = one
            if not one.target or not one.origin or not set(one.adding) <= set(one.replicas):
                raise InvalidNodeError(
                    f"partition {number} has no replicas before or after its move, or others are added"
                )
        partitions.append(known)
    if not partitions:
        raise InvalidNodeError("it has no partitions")
    return topic_id, partitions


def _without(replicas: Sequence[int], others: Container[int]) -> tuple[int, ...]:
    return tuple(replica for replica in replicas if replica not in others)
