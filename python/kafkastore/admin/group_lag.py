"""How far groups of consumers are behind: partition by partition, who has it, what is committed, what is to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.admin.admin_client import KafkaError
from kafkastore.admin.offsets import LATEST, list_offsets
from kafkastore.admin.routing import leaders
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition
    from kafkastore.admin.group_offsets import CommittedOffset
    from kafkastore.admin.groups import GroupDescription, GroupMember


NO_END: Final = (ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class PartitionLag(NamedTuple):
    """``committed`` is None where the group has committed nothing, ``log_end`` where the partition has no leader or is
    gone, ``member`` where no member has the partition."""

    partition: Partition
    committed: CommittedOffset | None
    log_end: int | None
    member: GroupMember | None

    @property
    def lag(self) -> int | None:
        """Offsets to come; None when it is not known where the group is, or where the partition ends."""
        if self.committed is None or self.log_end is None:
            return None
        return self.log_end - self.committed.offset


async def group_lags(
    client: AdminClient,
    groups: Iterable[GroupDescription],
    committed: Mapping[str, Mapping[Partition, CommittedOffset]],
) -> dict[str, list[PartitionLag]]:
    """The partitions of each group: those of its members, the busiest member first, then those that only have
    commits. Raises KafkaError when the end of a partition is refused."""
    placed = {group.group_id: _placed(group, committed[group.group_id]) for group in groups}
    ends = await log_ends(client, {key for rows in placed.values() for key, _ in rows})
    return {
        name: [PartitionLag(key, committed[name].get(key), ends.get(key), member) for key, member in rows]
        for name, rows in placed.items()
    }


def _placed(
    group: GroupDescription, committed: Mapping[Partition, CommittedOffset]
) -> list[tuple[Partition, GroupMember | None]]:
    found: list[tuple[Partition, GroupMember | None]] = []
    for member in sorted(group.members, key=lambda one: -len(one.partitions)):
        found += [(key, member) for key in sorted(member.partitions)]
    assigned = {key for key, _ in found}
    return found + [(key, None) for key in sorted(committed) if key not in assigned]


async def log_ends(client: AdminClient, partitions: Iterable[Partition]) -> dict[Partition, int]:
    """The end of each partition that is there and has a leader. Raises KafkaError."""
    led = await leaders(client, sorted(partitions))
    _raise_refusal(led.values())
    ends = await list_offsets(client, dict.fromkeys((key for key, one in led.items() if isinstance(one, int)), LATEST))
    _raise_refusal(ends.values())
    return {key: one.offset for key, one in ends.items() if not isinstance(one, KafkaError)}


def _raise_refusal(rows: Iterable[object]) -> None:
    for row in rows:
        if isinstance(row, KafkaError) and row.code not in NO_END:
            raise row
