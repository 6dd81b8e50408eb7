"""A group as ``kafkastore groups`` shows it: its description, and its partitions with how far behind they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kafkastore.cli.output import Column, printable
from kafkastore.cli.times import duration_text, now_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafkastore.admin.admin_client import AdminClient, KafkaError, Partition
    from kafkastore.admin.group_lag import PartitionLag
    from kafkastore.admin.groups import GroupDescription, GroupMember
    from kafkastore.cli.output import Output


class GroupView(NamedTuple):
    """``since_ms``: the time of the first record that is not consumed, of the partitions that are behind."""

    group: GroupDescription
    partitions: Sequence[PartitionLag]
    since_ms: Mapping[Partition, int]
    at_ms: int

    @property
    def lag(self) -> int | None:
        """Of the partitions where it is known; None for a share group, whose members take records in any order."""
        return (
            None
            if self.group.protocol_type == "share"
            else sum(max(one.lag, 0) for one in self.partitions if one.lag is not None)
        )

    @property
    def lag_seconds(self) -> float | None:
        known = [seconds for one in self.partitions if (seconds := self.seconds(one)) is not None]
        return max(known, default=None)

    @property
    def behind_text(self) -> str | None:
        return None if self.lag_seconds is None else duration_text(self.lag_seconds)

    def seconds(self, row: PartitionLag) -> float | None:
        if row.lag is None:
            return None
        if row.lag <= 0:
            return 0.0
        since = self.since_ms.get(row.partition)
        return None if since is None else max(self.at_ms - since, 0) / 1000


async def views(client: AdminClient, names: Iterable[str]) -> tuple[list[GroupView], dict[str, KafkaError | str]]:
    """These groups by name, and why some are not shown."""
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.group_lag import group_lags
    from kafkastore.admin.group_offsets import committed_offsets
    from kafkastore.admin.groups import DEAD, SHARE, describe_groups
    from kafkastore.admin.lag_age import waiting_since

    refused: dict[str, KafkaError | str] = {}
    groups: list[GroupDescription] = []
    for name, group in sorted((await describe_groups(client, dict.fromkeys(names))).items()):
        if isinstance(group, KafkaError):
            refused[name] = group
        elif group.state == DEAD:
            refused[name] = "there is no such group"
        else:
            groups.append(group)
    consuming = [one.group_id for one in groups if one.type != SHARE]
    committed = await committed_offsets(client, consuming)
    refused |= {name: one for name, one in committed.items() if isinstance(one, KafkaError)}
    offsets = {name: one for name, one in committed.items() if not isinstance(one, KafkaError)}
    lags = await group_lags(client, [one for one in groups if one.group_id in offsets], offsets)
    at_ms = now_ms()
    found = []
    for group in groups:
        rows = lags.get(group.group_id, [])
        if group.group_id not in refused:
            found.append(GroupView(group, rows, await waiting_since(client, rows, at_ms), at_ms))
    return found, refused


async def views_of_all(client: AdminClient) -> tuple[list[GroupView], dict[str, KafkaError | str]]:
    """All groups of consumers."""
    from kafkastore.admin.groups import consumer_groups

    return await views(client, [one.group_id for one in await consumer_groups(client)])


PARTITIONS = (
    Column("topic"), Column("partition", is_number=True), Column("committed", is_number=True),
    Column("end", is_number=True), Column("lag", is_number=True), Column("behind", is_number=True),
    Column("member"), Column("host"),
)  # fmt: skip
PARTITION_FIELDS = (
    Column("group"), Column("topic"), Column("partition", is_number=True),
    Column("committed_offset", is_number=True), Column("log_end_offset", is_number=True),
    Column("lag", is_number=True), Column("lag_seconds", is_number=True), Column("member_id"), Column("client_id"),
    Column("host"),
)  # fmt: skip
MEMBERS = (Column("member"), Column("instance"), Column("client"), Column("host"), Column("partitions"))
MEMBER_FIELDS = (
    Column("group"), Column("member_id"), Column("group_instance_id"), Column("client_id"), Column("host"),
    Column("partitions"),
)  # fmt: skip


def show_partitions(view: GroupView, output: Output) -> None:
    _show_head(view)
    rows = []
    for one in view.partitions:
        seconds = view.seconds(one)
        behind = None if seconds is None else duration_text(seconds)
        member = one.member
        who = (None, None) if member is None else (member.group_instance_id or member.member_id, _host(member))
        rows.append((*one.partition, _committed(one), one.log_end, one.lag, behind, *who))
    if rows:
        output.rows(PARTITIONS, rows)
    click.echo()


def show_members(view: GroupView, output: Output) -> None:
    _show_head(view)
    rows = [
        (one.member_id, one.group_instance_id, one.client_id, _host(one), _assigned(one.partitions))
        for one in view.group.members
    ]
    if rows:
        output.rows(MEMBERS, rows)
    click.echo()


def _show_head(view: GroupView) -> None:
    group = view.group
    said = [group.type.lower(), group.state, f"{len(group.members)} members"]
    said += [f"assignor {group.assignor}"] if group.assignor else []
    said += [f"coordinator {group.coordinator}"]
    said += [] if view.lag is None else [f"lag {view.lag}"]
    said += [f"behind {view.behind_text}"] if view.lag else []
    click.echo(f"{printable(group.group_id)}: {', '.join(said)}")


def _host(member: GroupMember) -> str:
    """Without the slash that Java puts before addresses."""
    return member.host.removeprefix("/")


def _committed(row: PartitionLag) -> int | None:
    return None if row.committed is None else row.committed.offset


def _assigned(partitions: Iterable[Partition]) -> list[str]:
    return [f"{topic}-{number}" for topic, number in sorted(partitions)]


def rows_of(view: GroupView, *, of_members: bool) -> list[tuple[Any, ...]]:
    """For columns of fields."""
    if of_members:
        return [
            (view.group.group_id, one.member_id, one.group_instance_id, one.client_id, _host(one),
             _assigned(one.partitions))
            for one in view.group.members
        ]  # fmt: skip
    return [(view.group.group_id, *_partition(view, one).values()) for one in view.partitions]


def as_object(view: GroupView) -> dict[str, Any]:
    group = view.group
    return {
        "group": group.group_id,
        "type": group.type.lower(),
        "protocol_type": group.protocol_type,
        "state": group.state,
        "assignor": group.assignor or None,
        "coordinator": group.coordinator,
        "lag": view.lag,
        "lag_seconds": view.lag_seconds,
        "members": [
            {
                "member_id": one.member_id,
                "group_instance_id": one.group_instance_id,
                "client_id": one.client_id,
                "host": _host(one),
                "partitions": [{"topic": topic, "partition": number} for topic, number in sorted(one.partitions)],
            }
            for one in group.members
        ],
        "partitions": [_partition(view, one) for one in view.partitions],
    }


def _partition(view: GroupView, row: PartitionLag) -> dict[str, Any]:
    member = row.member
    return {
        "topic": row.partition[0],
        "partition": row.partition[1],
        "committed_offset": _committed(row),
        "log_end_offset": row.log_end,
        "lag": row.lag,
        "lag_seconds": view.seconds(row),
        "member_id": member and member.member_id,
        "client_id": member and member.client_id,
        "host": member and _host(member),
    }
