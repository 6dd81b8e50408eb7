"""Groups: what there is, who is in them, and deleting them or their members. See ``admin_client.py``.

A group is described by the request of its type: consumer groups of KIP-848, classic ones, share groups, streams groups.
Each coordinator that does not know a group by one of them is asked by the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.admin_client import GROUP_KEY, KafkaError, check, refusals
from kafkastore.admin.assignments import assigned_partitions
from kafkastore.admin.routing import ask_coordinators, ask_every_broker
from kafkastore.errors import ErrorCode
from kafkastore.interbroker.cluster import UnsupportedApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kafkastore.admin.admin_client import AdminClient, Partition

CLASSIC: Final = "Classic"
CONSUMER: Final = "Consumer"
SHARE: Final = "Share"
STREAMS: Final = "Streams"
CONSUMER_PROTOCOLS: Final = ("consumer", "")
"""Protocol types of groups of consumers; the empty one is that of a group that only commits offsets."""
DEAD: Final = "Dead"
EMPTY: Final = "Empty"
STATES_SINCE: Final = 4
TYPES_SINCE: Final = 5
"""Versions of ListGroups."""
UNKNOWN_HERE: Final = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
"""What a coordinator answers where another type of group may have the name."""
AUTHORIZED_SINCE: Final = 3
"""The version of DescribeGroups that asks what the user may do."""
STATIC_SINCE: Final = 3
"""The first version of LeaveGroup that takes several members, also by their group.instance.id."""
IS_CONSUMER_MEMBER: Final = 1
REASON: Final = "removed by an administrator"


class ListedGroup(NamedTuple):
    """``state`` and ``type`` are empty from brokers that do not say them."""

    group_id: str
    protocol_type: str
    state: str
    type: str
    coordinator: int

    @property
    def is_of_consumers(self) -> bool:
        return self.protocol_type in CONSUMER_PROTOCOLS and self.type in ("", CLASSIC, CONSUMER)


class GroupMember(NamedTuple):
    """``partitions``: what the member has; ``target``: what it is to have, None in a classic group. ``is_consumer``:
    whether the member speaks the protocol of KIP-848, None where that is not said."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[Partition, ...]
    target: tuple[Partition, ...] | None = None
    epoch: int | None = None
    is_consumer: bool | None = None


class GroupDescription(NamedTuple):
    """``coordinator`` is a broker. The epochs are None in a classic group."""

    group_id: str
    type: str
    protocol_type: str
    state: str
    assignor: str
    coordinator: int
    members: tuple[GroupMember, ...]
    epoch: int | None = None
    assignment_epoch: int | None = None


async def list_groups(
    client: AdminClient, *, states: Collection[str] = (), types: Collection[str] = ()
) -> list[ListedGroup]:
    """The groups that the user may describe: all, or those in one of the states and of one of the types. Each
    broker has those that it coordinates. Raises UnsupportedApiError where a broker does not know states."""

    def fields(version: int) -> dict[str, Any]:
        asked: dict[str, Any] = {}
        if version >= STATES_SINCE:
            asked["states_filter"] = tuple(states)
        if version >= TYPES_SINCE:
            asked["types_filter"] = tuple(types)
        return asked

    async def attempt() -> list[ListedGroup]:
        answers = await ask_every_broker(client, "ListGroups", fields, lowest=STATES_SINCE if states else 0)
        found = {}
        for node, answer in answers.items():
            check(answer)
            for row in answer.groups:
                found[row.group_id] = ListedGroup(
                    row.group_id, row.protocol_type, row.group_state, row.group_type.capitalize(), node
                )
        return list(found.values())

    listed = await client.until_done(attempt)
    wanted = {one.capitalize() for one in types}
    return [one for one in listed if not wanted or (one.type or CLASSIC) in wanted]


async def consumer_groups(client: AdminClient, **filters: Collection[str]) -> list[ListedGroup]:
    """The groups of consumers, of both protocols."""
    return [one for one in await list_groups(client, **filters) if one.is_of_consumers]


# ---- description
async def describe_consumer_groups(
    client: AdminClient, names: Iterable[str]
) -> dict[str, GroupDescription | KafkaError]:
    """Groups of consumers, of both protocols; of any other kind only what every group has."""
    return await _describe(client, list(names), (CONSUMER, CLASSIC))


async def describe_groups(client: AdminClient, names: Iterable[str]) -> dict[str, GroupDescription | KafkaError]:
    """Groups of any type."""
    return await _describe(client, list(names), (CONSUMER, CLASSIC, SHARE, STREAMS))


async def _describe(
    client: AdminClient, names: list[str], types: Sequence[str]
) -> dict[str, GroupDescription | KafkaError]:
    found: dict[str, GroupDescription | KafkaError] = {}
    left = names
    for type_ in types:
        answers = await ask_coordinators(client, GROUP_KEY, left, _asker(client, type_))
        for name, answer in answers.items():
            if not isinstance(answer, KafkaError):
                found[name] = answer.description
            elif name not in found or answer.code not in UNKNOWN_HERE or _is_unsupported(found[name]):
                found[name] = answer  # of those that do not know the group, the first one says why
        left = [name for name in left if _is_unknown(found[name])]
    return found


def _is_unsupported(found: GroupDescription | KafkaError) -> bool:
    return isinstance(found, KafkaError) and found.code == ErrorCode.UNSUPPORTED_VERSION


def _is_unknown(found: GroupDescription | KafkaError) -> bool:
    if isinstance(found, KafkaError):
        return found.code in UNKNOWN_HERE
    return found.state == DEAD


class _Described(NamedTuple):
    description: GroupDescription
    error_code: int = ErrorCode.NONE


def _asker(client: AdminClient, type_: str) -> Callable[[int, list[str]], Any]:
    api, read = _READERS[type_]

    def fields(names: list[str], version: int) -> dict[str, Any]:
        if type_ != CLASSIC:
            return {"group_ids": tuple(names), "include_authorized_operations": False}
        asked = {"include_authorized_operations": False} if version >= AUTHORIZED_SINCE else {}
        return {"groups": tuple(names), **asked}

    async def ask(node: int, names: list[str]) -> Mapping[str, Any]:
        try:
            answer = await client.ask_broker(node, api, lambda version: fields(names, version))
        except UnsupportedApiError as error:
            if type_ == CLASSIC:
                raise
            return {name: KafkaError(error.code, error.client_message) for name in names}
        rows = [(row.group_id, row) for row in answer.groups]
        refused = refusals(rows)
        return {name: refused.get(name) or _Described(read(node, row)) for name, row in rows}

    return ask


def _classic(node: int, row: Any) -> GroupDescription:
    is_of_consumers = row.protocol_type in CONSUMER_PROTOCOLS
    members = tuple(
        GroupMember(
            one.member_id,
            one.group_instance_id,
            one.client_id,
            one.client_host,
            assigned_partitions(one.member_assignment) if is_of_consumers else (),
        )
        for one in row.members
    )
    return GroupDescription(row.group_id, CLASSIC, row.protocol_type, row.group_state, row.protocol_data, node, members)


def _consumer(node: int, row: Any) -> GroupDescription:
    members = tuple(
        GroupMember(
            one.member_id,
            one.instance_id,
            one.client_id,
            one.client_host,
            _partitions(one.assignment),
            _partitions(one.target_assignment),
            one.member_epoch,
            None if one.member_type < 0 else one.member_type == IS_CONSUMER_MEMBER,
        )
        for one in row.members
    )
    return _newer(CONSUMER, "consumer", node, row, members)


def _share(node: int, row: Any) -> GroupDescription:
    members = tuple(
        GroupMember(
            one.member_id, None, one.client_id, one.client_host, _partitions(one.assignment), None, one.member_epoch
        )
        for one in row.members
    )
    return _newer(SHARE, "share", node, row, members)


def _streams(node: int, row: Any) -> GroupDescription:
    members = tuple(
        GroupMember(one.member_id, one.instance_id, one.client_id, one.client_host, (), None, one.member_epoch)
        for one in row.members
    )
    return _newer(STREAMS, "streams", node, row, members)


def _newer(type_: str, protocol: str, node: int, row: Any, members: tuple[GroupMember, ...]) -> GroupDescription:
    assignor = getattr(row, "assignor_name", None) or ""
    return GroupDescription(
        row.group_id, type_, protocol, row.group_state, assignor, node, members, row.group_epoch, row.assignment_epoch
    )


def _partitions(assignment: Any) -> tuple[Partition, ...]:
    return tuple((topic.topic_name, number) for topic in assignment.topic_partitions for number in topic.partitions)


_READERS: Final[dict[str, tuple[str, Callable[[int, Any], GroupDescription]]]] = {
    CONSUMER: ("ConsumerGroupDescribe", _consumer),
    CLASSIC: ("DescribeGroups", _classic),
    SHARE: ("ShareGroupDescribe", _share),
    STREAMS: ("StreamsGroupDescribe", _streams),
}


# ---- changes
async def delete_groups(client: AdminClient, names: Iterable[str]) -> dict[str, KafkaError]:
    """Deletes groups that have no members, with their offsets; those that were refused, with the reasons."""

    async def ask(node: int, asked: list[str]) -> Mapping[str, Any]:
        answer = await client.ask_broker(node, "DeleteGroups", {"groups_names": tuple(asked)})
        return {row.group_id: row for row in answer.results}

    rows = await ask_coordinators(client, GROUP_KEY, names, ask)
    return {name: row for name, row in rows.items() if isinstance(row, KafkaError)}


async def remove_members(
    client: AdminClient, group: str, *, instances: Collection[str] = (), member_ids: Collection[str] = ()
) -> dict[str, KafkaError]:
    """Removes members from a classic group, static ones by their group.instance.id; those that were refused. Raises
    KafkaError when the group refuses, UnsupportedApiError by a broker before Kafka 2.4."""
    members: list[dict[str, str | None]]
    members = [{"member_id": "", "group_instance_id": one, "reason": REASON} for one in instances]
    members += [{"member_id": one, "group_instance_id": None, "reason": REASON} for one in member_ids]

    async def attempt() -> dict[str, KafkaError]:
        fields = {"group_id": group, "members": members}
        answer = await client.ask_coordinator(GROUP_KEY, group, "LeaveGroup", fields, lowest=STATIC_SINCE)
        check(answer)
        return refusals((row.group_instance_id or row.member_id, row) for row in answer.members)

    return await client.until_done(attempt)
