"""The tables of ``kafka-consumer-groups --describe``, to the blank as Kafka prints them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kafkastore.admin import groups as admin
from kafkastore.cli.kafka.run import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.admin.admin_client import ClusterMetadata, Partition
    from kafkastore.admin.group_lag import PartitionLag
    from kafkastore.admin.groups import GroupDescription, GroupMember

MISSING: Final = "-"
REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
LEAST: Final = 15


def has_table(group: GroupDescription, rows: int) -> bool:
    """Says what there is to say of the group's state; whether its table follows."""
    name = group.group_id
    if group.state == admin.DEAD:
        print_error(f"Consumer group '{name}' does not exist.")
    elif group.state == admin.EMPTY:
        sys.stderr.write(f"\nConsumer group '{name}' has no active members.\n")
    elif group.state in REBALANCING:
        sys.stderr.write(f"\nWarning: Consumer group '{name}' is rebalancing.\n")
    return group.state != admin.DEAD and rows > 0


def print_error(text: str) -> None:
    say(f"\nError: {text}")


def print_offsets(group: GroupDescription, rows: Sequence[PartitionLag], *, is_verbose: bool) -> None:
    if not has_table(group, len(rows)):
        return
    heads = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    if is_verbose:
        heads.insert(3, "LEADER-EPOCH")
    table = [[*heads, "CONSUMER-ID", "HOST", "CLIENT-ID"]]
    for row in rows:
        epoch = row.committed.leader_epoch if row.committed and row.committed.leader_epoch >= 0 else None
        cells = [group.group_id, row.partition[0], row.partition[1]]
        cells += [epoch] if is_verbose else []
        cells += [row.committed.offset if row.committed else None, row.log_end, row.lag]
        cells += [row.member.member_id, row.member.host, row.member.client_id] if row.member else [None] * 3
        table.append([MISSING if cell is None else str(cell) for cell in cells])
    numbers = [10, 15, 15, 15, 15] if is_verbose else [10, 15, 15, 15]
    wide = [_widest(table, column) for column in (0, 1, -3, -2)]
    _print(table, [*wide[:2], *numbers, *wide[2:], 0], first="\n", last="")
    say("")


def print_members(group: GroupDescription, *, is_verbose: bool) -> None:
    has_table(group, len(group.members))
    members = group.members if group.state != admin.DEAD else ()
    has_instances = any(one.group_instance_id for one in members)
    kinds = {one.is_consumer for one in members}
    is_migrating = {True, False} <= kinds
    table = [["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]]
    table += [
        [group.group_id, one.member_id, one.host, one.client_id, str(len(one.partitions))] for one in group.members
    ]
    widths = [_widest(table, 0), _widest(table, 1), _widest(table, 2), _widest(table, 3), LEAST]
    if has_instances:
        instances = ["GROUP-INSTANCE-ID", *(one.group_instance_id or "" for one in group.members)]
        for row, instance in zip(table, instances, strict=True):
            row.insert(2, instance)
        widths.insert(2, max(map(len, instances)))
    if is_verbose:
        details = [_detail(group, one, is_migrating=is_migrating) for one in group.members]
        heads = ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        details.insert(0, [*heads, "UPGRADED"] if is_migrating else heads)
        widths += [LEAST, max(20, *(len(one[1]) for one in details)), LEAST, max(20, *(len(one[3]) for one in details))]
        widths += [0] if is_migrating else []
        table = [[*row, *detail] for row, detail in zip(table, details, strict=True)]
    say("")
    _print(table, widths, first="", last="\n" if is_verbose else " \n")


def _detail(group: GroupDescription, member: GroupMember, *, is_migrating: bool) -> list[str]:
    cells = [
        MISSING if member.epoch is None else str(member.epoch),
        assignment_text(member.partitions) or MISSING,
        MISSING if group.assignment_epoch is None else str(group.assignment_epoch),
        assignment_text(member.target or ()) or MISSING,
    ]
    upgraded = MISSING if member.is_consumer is None else str(member.is_consumer).lower()
    return [*cells, upgraded] if is_migrating else cells


def assignment_text(partitions: Sequence[Partition]) -> str:
    """``topic:0,1;other:2``"""
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(number)
    return ";".join(sorted(f"{topic}:{','.join(map(str, sorted(numbers)))}" for topic, numbers in by_topic.items()))


def print_state(group: GroupDescription, cluster: ClusterMetadata, *, is_verbose: bool) -> None:
    if not has_table(group, 1):
        return
    broker = cluster.brokers.get(group.coordinator)
    coordinator = f"{broker.host}:{broker.port}  ({group.coordinator})" if broker else f"({group.coordinator})"
    heads = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    cells = [group.group_id, coordinator, group.assignor or MISSING, group.state]
    widths = [max(LEAST, len(group.group_id)), max(25, len(coordinator)), 20, 20]
    if is_verbose:
        heads += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        cells += [MISSING if one is None else str(one) for one in (group.epoch, group.assignment_epoch)]
        widths += [15, 25]
    _print([[*heads, "#MEMBERS"], [*cells, str(len(group.members))]], [*widths, 0], first="\n", last="")
    say("")


def _widest(table: Sequence[Sequence[str]], column: int) -> int:
    return max(LEAST, *(len(row[column]) for row in table[1:]), 0)


def _print(table: Sequence[Sequence[str]], widths: Sequence[int], *, first: str, last: str) -> None:
    for row in table:
        cells = " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{first}{cells}{last}")
