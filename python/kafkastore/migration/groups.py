"""Sets consumer groups in the target to where they are in the source: to the record with which they would go on.

A group that has members in the target is left alone, and so is an offset that is further there than the translated one,
unless this process has set it: the group has read on in the target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkastore.admin.admin_client import KafkaError
from kafkastore.admin.group_offsets import CommittedOffset, alter_offsets, committed_offsets
from kafkastore.admin.groups import DEAD, EMPTY, SHARE, describe_groups, list_groups
from kafkastore.admin.offsets import LATEST, offsets_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition
    from kafkastore.migration.clusters import Cluster
    from kafkastore.migration.marks import Marks
    from kafkastore.migration.plan import Plan

    Offsets = dict[str, dict[Partition, CommittedOffset]]

AT_REST = (EMPTY, DEAD)


class GroupsSet(NamedTuple):
    """``active``: groups with members in the target, which were left alone; ``ahead``: offsets that are further in the
    target; ``at_work``: groups that still have members in the source; ``refused``: with the reasons."""

    groups: int
    offsets: int
    active: list[str]
    ahead: dict[str, int]
    at_work: list[str]
    refused: dict[str, KafkaError]


class GroupSync:
    """Of one run."""

    def __init__(self, plan: Plan, source: Cluster, target: Cluster) -> None:
        self._plan, self._source, self._target = plan, source, target
        self._set: dict[tuple[str, Partition], int] = {}

    def set_all(self, marks: Mapping[Partition, Marks], positions: Mapping[Partition, int]) -> GroupsSet:
        """Raises KafkaError, AdminError."""
        found, at_work = self._source.ask(self._read)
        wanted = {group: {key: one for key, one in offsets.items() if key in marks} for group, offsets in found.items()}
        wanted = {group: offsets for group, offsets in wanted.items() if offsets}

        async def work(client: AdminClient) -> GroupsSet:
            touched = {key for offsets in wanted.values() for key in offsets}
            ends = await offsets_at(client, touched, LATEST)
            translated = {
                group: {
                    key: one._replace(offset=_translated(one.offset, marks[key], positions[key], ends[key]))
                    for key, one in offsets.items()
                }
                for group, offsets in wanted.items()
            }
            return await self._write(client, translated, at_work)

        return self._target.ask(work)

    async def _read(self, client: AdminClient) -> tuple[Offsets, list[str]]:
        listed = [one for one in await list_groups(client) if self._plan.has_group(one.group_id) and one.type != SHARE]
        committed = await committed_offsets(client, [one.group_id for one in listed])
        found = {name: offsets for name, offsets in committed.items() if not isinstance(offsets, KafkaError)}
        described = await describe_groups(client, found)
        at_work = [name for name, one in described.items() if not isinstance(one, KafkaError) and one.members]
        return found, sorted(at_work)

    async def _write(self, client: AdminClient, wanted: Offsets, at_work: list[str]) -> GroupsSet:
        described = await describe_groups(client, wanted)
        active = [
            name
            for name, one in described.items()
            if not isinstance(one, KafkaError) and (one.members or one.state not in AT_REST)
        ]
        there = await committed_offsets(client, [name for name in wanted if name not in active])
        ahead: dict[str, int] = {}
        refused: dict[str, KafkaError] = {}
        groups = count = 0
        for group, current in there.items():
            if isinstance(current, KafkaError):
                refused[group] = current
                continue
            changed = {}
            for key, one in wanted[group].items():
                before = current.get(key)
                if before is None or one.offset > before.offset or self._set.get((group, key)) == before.offset:
                    if before != one:
                        changed[key] = one
                elif one.offset < before.offset:
                    ahead[group] = ahead.get(group, 0) + 1
            failed = await self._alter(client, group, changed)
            if failed:
                refused[group] = next(iter(failed.values()))
            groups, count = groups + 1, count + len(changed) - len(failed)
        return GroupsSet(groups, count, sorted(active), ahead, at_work, refused)

    async def _alter(
        self, client: AdminClient, group: str, changed: Mapping[Partition, CommittedOffset]
    ) -> dict[Partition, KafkaError]:
        if not changed:
            return {}
        offsets = {key: one.offset for key, one in changed.items()}
        failed = await alter_offsets(client, group, offsets, {key: one.metadata for key, one in changed.items()})
        self._set |= {(group, key): offset for key, offset in offsets.items() if key not in failed}
        return failed


def _translated(offset: int, marks: Marks, position: int, target_end: int) -> int:
    """Of a group that has read everything, behind the marker of the mirror's last transaction: its lag is 0 then."""
    found, end = marks.translated(offset), marks.end
    assert found is not None, "each partition has a base"
    assert end is not None, "each partition has a base"
    return target_end if offset >= position and target_end == end + 1 else found
