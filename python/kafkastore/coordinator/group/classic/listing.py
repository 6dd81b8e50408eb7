"""ListGroups and DescribeGroups. Reads groups, and never changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.runtime.steps import ITEMS
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafkastore.coordinator.group.classic.group import Group
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.runtime.steps import Steps

CLASSIC: Final = "classic"


class ListedGroup(NamedTuple):
    group_id: str
    protocol_type: str
    state: str
    group_type: str


class DescribedMember(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(NamedTuple):
    error_code: int
    group_id: str
    state: str = ""
    protocol_type: str = ""
    protocol_name: str = ""
    members: tuple[DescribedMember, ...] = ()


def list_groups(
    store: GroupStore[Group], states_filter: Collection[str], types_filter: Collection[str]
) -> Steps[list[ListedGroup]]:
    """Lists groups. An empty filter lets all groups pass; names compare without case, and an unknown name matches no
    group. The cost grows with the groups in the wanted states only. Each group is listed as it is when its turn comes,
    if it still exists and is in one of the wanted states then."""
    if types_filter and CLASSIC not in {name.lower() for name in types_filter}:
        return []
    wanted_states = {state.lower() for state in states_filter}
    wanted = [state for state in states.STATES if state.lower() in wanted_states or not states_filter]
    found: list[ListedGroup] = []
    for shard in list(store.shards.values()):
        groups = [
            group for state in wanted for group in shard.in_state(state).values()
        ]  # in one step, so that each group is in exactly one state
        for number, group in enumerate(groups):
            if number % ITEMS == 0:
                yield None
            if store.is_current(group) and group.state in wanted:
                found.append(ListedGroup(group.group_id, group.protocol_type or "", group.state, CLASSIC))
    return found


def describe_group(store: GroupStore[Group], group_id: str) -> DescribedGroup:
    """Describes a group. A group that does not exist is Dead, with GROUP_ID_NOT_FOUND. Only a Stable group is described
    with its members' metadata."""
    error_code = store.check(group_id)
    if error_code:
        return DescribedGroup(error_code, group_id)
    group = store.groups.get(group_id)
    if group is None:
        return DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, group_id, states.DEAD)
    is_stable = group.state == states.STABLE
    members = tuple(
        DescribedMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            member.metadata(group.protocol_name) if is_stable else b"",
            member.assignment,
        )
        for member in group.members.values()
    )
    protocol_name = (group.protocol_name or "") if is_stable else ""
    return DescribedGroup(ErrorCode.NONE, group_id, group.state, group.protocol_type or "", protocol_name, members)
