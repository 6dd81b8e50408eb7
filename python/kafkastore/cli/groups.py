"""``kafkastore groups``: who consumes what, how far behind, and where groups are to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.completion import GROUP
from kafkastore.cli.confirm import confirm, yes_option
from kafkastore.cli.groups_reset import delete_offsets, reset
from kafkastore.cli.nouns import Noun
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, printable, say
from kafkastore.cli.watching import shown_again, watch_option

if TYPE_CHECKING:
    from kafkastore.admin.admin_client import AdminClient, KafkaError
    from kafkastore.admin.groups import GroupDescription
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.group_view import GroupView
    from kafkastore.cli.output import Output


@click.group("groups", cls=Noun)
def command() -> None:
    """Consumer groups: lag, members, offsets set anew."""


command.add_command(reset)
command.add_command(delete_offsets)

GROUPS = click.argument("names", metavar="GROUP...", nargs=-1, required=True, type=GROUP)
SOME_GROUPS = click.argument("names", metavar="[GROUP]...", nargs=-1, type=GROUP)
LISTED = (
    Column("group"),
    Column("type"),
    Column("protocol_type"),
    Column("state"),
    Column("coordinator", is_number=True),
)


@command.command("list")
@cluster_options
@click.option("--state", "states", metavar="STATE", multiple=True, help="Stable, Empty, ...; may be given again.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Classic, Consumer, Share or Streams; likewise.")
@SOME_GROUPS
@output_options
def list_groups(
    cluster: ClusterSettings, states: tuple[str, ...], types: tuple[str, ...], names: tuple[str, ...], output: Output
) -> None:
    """List groups of all types: all, or those named."""
    from kafkastore.admin import groups

    listed = cluster.ask(lambda client: groups.list_groups(client, states=states, types=types))
    shown = sorted(group for group in listed if not names or group.group_id in names)
    rows = [(one.group_id, one.type.lower(), one.protocol_type, one.state, one.coordinator) for one in shown]
    output.rows(LISTED, rows, "" if names else "no groups")
    known = {group.group_id for group in listed}
    fail_if_refused({name: "there is no such group" for name in names if name not in known})


LAGS = (
    Column("group"), Column("state"), Column("members", is_number=True), Column("partitions", is_number=True),
    Column("lag", is_number=True), Column("behind", is_number=True),
)  # fmt: skip


@command.command()
@cluster_options
@SOME_GROUPS
@watch_option
@output_options
def lag(cluster: ClusterSettings, names: tuple[str, ...], watch: float | None, output: Output) -> None:
    """Show how far groups are behind.

    A line for each: all groups of consumers, or those named.
    """
    from kafkastore.cli.group_view import views, views_of_all

    def show() -> None:
        found, refused = cluster.ask(lambda client: views(client, names) if names else views_of_all(client))
        if output.is_table:
            output.rows(LAGS, [(*_summary(one), one.behind_text) for one in found], "" if refused else "no groups")
        else:
            columns = (*LAGS[:-1], Column("lag_seconds", is_number=True))
            output.rows(columns, [(*_summary(one), one.lag_seconds) for one in found])
        fail_if_refused(refused)

    shown_again(show, watch)


def _summary(view: GroupView) -> tuple[str, str, int, int, int | None]:
    group = view.group
    return group.group_id, group.state, len(group.members), len(view.partitions), view.lag


@command.command()
@cluster_options
@GROUPS
@click.option("--members", is_flag=True, help="The members, not the partitions.")
@watch_option
@output_options
def describe(
    cluster: ClusterSettings, names: tuple[str, ...], members: bool, watch: float | None, output: Output
) -> None:
    """Show groups: state, members, lag.

    For each partition how far behind the group is, in records and in time.
    BEHIND is how long the first record that is not consumed yet has waited: found by the records' timestamps, exact
    while these do not go back within a partition; where they do, it may have waited for longer.
    """
    from kafkastore.cli import group_view

    def show() -> None:
        found, refused = cluster.ask(lambda client: group_view.views(client, names))
        if output.is_table:
            for view in found:
                (group_view.show_members if members else group_view.show_partitions)(view, output)
        elif output.format in ("csv", "tsv"):
            rows = [row for view in found for row in group_view.rows_of(view, of_members=members)]
            output.rows(group_view.MEMBER_FIELDS if members else group_view.PARTITION_FIELDS, rows)
        else:
            output.objects(map(group_view.as_object, found))
        fail_if_refused(refused)

    shown_again(show, watch)


@command.command()
@cluster_options
@GROUPS
@click.option("--dry-run", is_flag=True, help="Only say which would be deleted.")
@yes_option
def delete(cluster: ClusterSettings, names: tuple[str, ...], dry_run: bool, is_confirmed: bool) -> None:
    """Delete groups that have no members, with their offsets."""
    from kafkastore.admin import groups

    if not dry_run:
        confirm(f"Delete {', '.join(map(printable, names))} with all offsets?", is_confirmed=is_confirmed)
    refused: dict[str, Any] = cluster.ask(
        lambda client: _undeletable(client, names) if dry_run else groups.delete_groups(client, names)
    )
    for name in dict.fromkeys(names):
        if name not in refused:
            say(f"{name}: {'would be deleted' if dry_run else 'deleted'}")
    fail_if_refused(refused)


async def _undeletable(client: AdminClient, names: tuple[str, ...]) -> dict[str, KafkaError | str]:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.groups import DEAD, describe_groups

    def reason(group: GroupDescription | KafkaError) -> KafkaError | str | None:
        if isinstance(group, KafkaError):
            return group
        if group.state == DEAD:
            return "there is no such group"
        return f"it has {len(group.members)} members; stop them first" if group.members else None

    found = {name: reason(group) for name, group in (await describe_groups(client, names)).items()}
    return {name: why for name, why in found.items() if why is not None}


@command.command("remove-member")
@cluster_options
@click.argument("group", type=GROUP)
@click.argument("members", metavar="[MEMBER]...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="All members.")
@click.option("--dry-run", is_flag=True, help="Only say which would be removed.")
def remove_member(cluster: ClusterSettings, group: str, members: tuple[str, ...], is_all: bool, dry_run: bool) -> None:
    """Remove members from a group.

    Each by its group.instance.id or its member id. Its partitions go to the others at once. A member that still runs
    joins again; a static one that does not would be waited for until its session ends.
    """
    if is_all == bool(members):
        raise click.UsageError("name members of the group, or give --all")
    removed, refused = cluster.ask(lambda client: _remove(client, group, members, is_dry=dry_run))
    for name in removed:
        say(f"{name}: {'would be removed' if dry_run else 'removed'}")
    fail_if_refused(refused)


async def _remove(
    client: AdminClient, group: str, names: tuple[str, ...], *, is_dry: bool
) -> tuple[list[str], dict[str, Any]]:
    """Those removed, and those refused; all without names."""
    from kafkastore.admin import groups
    from kafkastore.admin.admin_client import KafkaError

    described = (await groups.describe_groups(client, [group]))[group]
    if isinstance(described, KafkaError):
        return [], {group: described}
    known = {one.group_instance_id or one.member_id: one for one in described.members}
    by_id = {one.member_id: one for one in described.members}
    asked = names or tuple(known)
    refused: dict[str, Any] = {
        name: f"group {group} has no such member" for name in asked if name not in known and name not in by_id
    }
    chosen = [known.get(name) or by_id[name] for name in asked if name not in refused]
    instances = [one.group_instance_id for one in chosen if one.group_instance_id]
    ids = [one.member_id for one in chosen if not one.group_instance_id]
    if chosen and not is_dry:
        refused |= await groups.remove_members(client, group, instances=instances, member_ids=ids)
    return [name for name in (*instances, *ids) if name not in refused], refused
