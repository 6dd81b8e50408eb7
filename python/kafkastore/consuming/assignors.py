"""Who of a group reads which partition: Kafka's assignors ``range`` and ``roundrobin``, and the bytes in which members
tell each other what they want and get (``ConsumerProtocolSubscription``, ``ConsumerProtocolAssignment``).

Given equal members, every assignor here gives what Kafka's own gives: members of both kinds may be in one group. Racks
are passed on, but not looked at. No I/O.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore._core import decode_message, message_encoder
from kafkastore.admin.routing import by_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Partition = tuple[str, int]
    Assignor = Callable[[Sequence["Subscription"], Mapping[str, int]], dict[str, list[Partition]]]

PROTOCOL_TYPE: Final = "consumer"
VERSION: Final = 1
"""Of both messages: what Kafka's clients since 2.3 understand; later ones add the rack alone to what is told here."""
RACK_VERSION: Final = 3


class Subscription(NamedTuple):
    """What a member wants. ``member_id`` and ``instance_id`` are the group's names of it."""

    member_id: str
    topics: tuple[str, ...]
    instance_id: str | None = None

    @property
    def place(self) -> tuple[bool, str]:
        """Its place among the members: those with a name of their own come first."""
        return self.instance_id is None, self.instance_id or self.member_id


def assign_ranges(members: Sequence[Subscription], partitions: Mapping[str, int]) -> dict[str, list[Partition]]:
    """Of each topic, neighbouring partitions to each member; the first members get one more where they do not come out
    even. ``partitions``: how many each topic has."""
    assigned: dict[str, list[Partition]] = {member.member_id: [] for member in members}
    ordered = sorted(members, key=lambda member: member.place)
    for topic in dict.fromkeys(topic for member in members for topic in member.topics):
        readers = [member.member_id for member in ordered if topic in member.topics]
        each, more = divmod(partitions.get(topic, 0), len(readers))
        first = 0
        for place, reader in enumerate(readers):
            count = each + (place < more)
            assigned[reader] += [(topic, number) for number in range(first, first + count)]
            first += count
    return assigned


def assign_in_turn(members: Sequence[Subscription], partitions: Mapping[str, int]) -> dict[str, list[Partition]]:
    """The partitions of all topics in order, one to each member in turn."""
    assigned: dict[str, list[Partition]] = {member.member_id: [] for member in members}
    turns = cycle(sorted(members, key=lambda member: member.place))
    for topic in sorted({topic for member in members for topic in member.topics}):
        for number in range(partitions.get(topic, 0)):
            reader = next(member for member in turns if topic in member.topics)
            assigned[reader.member_id].append((topic, number))
    return assigned


ASSIGNORS: Final[dict[str, Assignor]] = {"range": assign_ranges, "roundrobin": assign_in_turn}
"""By the names that members tell each other."""


def subscription_bytes(topics: Iterable[str], owned: Iterable[Partition], rack: str | None = None) -> bytes:
    """What a member tells the group's leader."""
    version = VERSION if rack is None else RACK_VERSION
    fields: dict[str, Any] = {"topics": tuple(topics), "owned_partitions": _rows(owned), "user_data": None}
    return _written("ConsumerProtocolSubscription", version, fields | ({} if rack is None else {"rack_id": rack}))


def read_subscription(member_id: str, instance_id: str | None, data: bytes) -> Subscription:
    """Raises ValueError."""
    return Subscription(member_id, tuple(_read("ConsumerProtocolSubscription", data).topics), instance_id)


def assignment_bytes(partitions: Iterable[Partition]) -> bytes:
    fields = {"assigned_partitions": _rows(partitions), "user_data": None}
    return _written("ConsumerProtocolAssignment", VERSION, fields)


def _rows(partitions: Iterable[Partition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partitions": tuple(numbers)} for topic, numbers in by_topic(partitions).items()]


def _written(message: str, version: int, fields: dict[str, Any]) -> bytes:
    return version.to_bytes(2, "big") + message_encoder(message, version).row(fields)


def _read(message: str, data: bytes) -> Any:
    version = int.from_bytes(data[:2], "big", signed=True)
    if version < 0 or len(data) < 2:
        raise ValueError(f"{message}: {data[:8]!r} has no version")
    return decode_message(message, min(version, RACK_VERSION), data[2:])
