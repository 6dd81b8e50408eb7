"""``kafkastore groups reset`` and ``delete-offsets``: where a group is to go on. Nothing changes without
``--execute``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.completion import GROUP, TOPIC
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, say
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kafkastore.admin.admin_client import AdminClient, KafkaError, Partition
    from kafkastore.admin.offset_resets import Reset, Way
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output
    from kafkastore.cli.partitions import TopicPartitions

WORDS = ("earliest", "latest", "current")
TOPICS = click.option(
    "-t", "--topic", "topics", metavar="TOPIC[:N,...]", multiple=True, type=TOPIC, help="May be given again."
)
COLUMNS = (
    Column("topic"), Column("partition", is_number=True), Column("current", is_number=True),
    Column("new", is_number=True), Column("change", is_number=True), Column("note"),
)  # fmt: skip


class Preview(NamedTuple):
    """``refused``: what was asked to be set and is not."""

    current: Mapping[Partition, int]
    reset: Reset
    refused: Mapping[Partition, KafkaError]


@click.command()
@cluster_options
@click.argument("group", type=GROUP)
@TOPICS
@click.option("--to", metavar="OFFSET", help="earliest, latest, current (where nothing is committed: latest), or one.")
@click.option("--to-time", metavar="TIME", help="2026-01-31T12:00:00Z, ago (90s, 2h30m, 7d), or ms since 1970.")
@click.option("--by", type=int, metavar="RECORDS", help="So many from what is committed; back with a minus.")
@click.option("--from-file", metavar="FILE", help="CSV: topic,partition,offset, as kafka-consumer-groups --export has.")
@click.option("--execute", is_flag=True, help="Set the offsets; without it they are only shown.")
@output_options
def reset(
    cluster: ClusterSettings,
    group: str,
    topics: tuple[str, ...],
    to: str | None,
    to_time: str | None,
    by: int | None,
    from_file: str | None,
    execute: bool,
    output: Output,
) -> None:
    """Set the offsets of a group anew.

    For a group without members: of some topics, or of all that it has offsets for. Shows the new offsets; --execute
    sets them.
    """
    from kafkastore.cli.partitions import topic_partitions

    if sum(one is not None for one in (to, to_time, by, from_file)) != 1:
        raise click.UsageError("give one of --to, --to-time, --by and --from-file")
    way = _way(group, to, to_time, by, from_file)
    scope = [topic_partitions(one) for one in topics]
    if from_file and scope:
        raise click.UsageError("--from-file names the partitions itself; leave out -t")
    preview = cluster.ask(lambda client: _reset(client, group, scope, way, from_file, is_dry=not execute))
    output.rows(COLUMNS, [_row(preview, key) for key in sorted(preview.reset.offsets)])
    if not execute:
        say(f"{group}: nothing is set yet; --execute sets these offsets", err=True)
    else:
        say(f"{group}: {len(preview.reset.offsets) - len(preview.refused)} offsets set", err=True)
    fail_if_refused({f"{topic}-{number}": why for (topic, number), why in preview.refused.items()})


def _way(group: str, to: str | None, to_time: str | None, by: int | None, from_file: str | None) -> Way:
    """Raises ConfigError."""
    from kafkastore.admin import offset_resets
    from kafkastore.cli.consume_offsets import BEGIN, END
    from kafkastore.cli.offset_files import read_offsets
    from kafkastore.cli.times import DIGITS, time_ms

    if to_time is not None:
        return offset_resets.to_time(time_ms(to_time))
    if by is not None:
        return offset_resets.shift_by(by)
    if from_file is not None:
        try:
            planned = read_offsets(from_file, [group]).get(group)
        except OSError as error:
            raise ConfigError(f"--from-file {from_file} cannot be read: {error.strerror}") from None
        if not planned:
            raise ConfigError(f"{from_file} has no offsets for group {group}")

        async def way(client: AdminClient, _: str, __: Collection[Partition]) -> Reset:
            return await offset_resets.inside(client, planned)

        return way
    to = "earliest" if to in BEGIN else "latest" if to in END else to
    if to in WORDS:
        return {
            "earliest": offset_resets.to_earliest,
            "latest": offset_resets.to_latest,
            "current": offset_resets.to_current,
        }[to]
    if to is None or DIGITS.fullmatch(to) is None:
        raise ConfigError(f"--to {to} is no offset; give {', '.join(WORDS)} or a number")
    return offset_resets.to_offset(int(to))


async def _reset(
    client: AdminClient, group: str, scope: list[TopicPartitions], way: Way, from_file: str | None, *, is_dry: bool
) -> Preview:
    from kafkastore.admin.group_offsets import alter_offsets
    from kafkastore.admin.offset_resets import check_partitions, committed_by

    await _check_inactive(client, group)
    current = {key: one.offset for key, one in (await committed_by(client, group)).items()}
    partitions = await _scope(client, group, scope, current, is_needed=from_file is None)
    await check_partitions(client, partitions)
    found = await way(client, group, partitions)
    refused = {} if is_dry else await alter_offsets(client, group, found.offsets)
    return Preview(current, found, refused)


async def _check_inactive(client: AdminClient, group: str) -> None:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.groups import DEAD, EMPTY, describe_consumer_groups
    from kafkastore.errors import ErrorCode

    described = (await describe_consumer_groups(client, [group]))[group]
    if isinstance(described, KafkaError):
        if described.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise ConfigError(f"group {group}: {described}")
    elif described.state not in (EMPTY, DEAD):
        raise ConfigError(
            f"group {group} is {described.state} with {len(described.members)} members; stop them first: offsets are "
            "set while a group has none"
        )


async def _scope(
    client: AdminClient, group: str, scope: list[TopicPartitions], committed: Collection[Partition], *, is_needed: bool
) -> list[Partition]:
    """The partitions that are meant; all that the group has offsets for without any named."""
    from kafkastore.cli.partitions import partitions_of

    if scope:
        return await partitions_of(client, scope)
    if is_needed and not committed:
        raise ConfigError(f"group {group} has no offsets; name topics with -t")
    return sorted(committed)


def _row(preview: Preview, key: Partition) -> tuple[str, int, int | None, int, int | None, str | None]:
    current, new = preview.current.get(key), preview.reset.offsets[key]
    note = None
    if key in preview.refused:
        note = f"refused: {preview.refused[key]}"
    elif key in preview.reset.asked:
        note = f"{preview.reset.asked[key]} is outside"
    elif key in preview.reset.ends:
        note = "no record is so young"
    return (*key, current, new, None if current is None else new - current, note)


@click.command("delete-offsets")
@cluster_options
@click.argument("group", type=GROUP)
@TOPICS
@click.option("--dry-run", is_flag=True, help="Only say which would be deleted.")
def delete_offsets(cluster: ClusterSettings, group: str, topics: tuple[str, ...], dry_run: bool) -> None:
    """Delete offsets of a group.

    Those that it has committed for topics that it does not consume now.
    """
    from kafkastore.cli.partitions import topic_partitions

    if not topics:
        raise click.UsageError("name topics with -t")
    scope = [topic_partitions(one) for one in topics]
    deleted, refused = cluster.ask(lambda client: _delete(client, group, scope, is_dry=dry_run))
    for topic, number in deleted:
        say(f"{topic}-{number}: {'would be deleted' if dry_run else 'deleted'}")
    fail_if_refused({f"{topic}-{number}": why for (topic, number), why in refused.items()})


async def _delete(
    client: AdminClient, group: str, scope: list[TopicPartitions], *, is_dry: bool
) -> tuple[list[Partition], dict[Partition, KafkaError]]:
    from kafkastore.admin import group_offsets
    from kafkastore.admin.offset_resets import committed_by

    committed = await committed_by(client, group)
    meant = [key for key in sorted(committed) if any(_is_meant(one, key) for one in scope)]
    if not meant:
        raise ConfigError(f"group {group} has no offsets for {', '.join(one.topic for one in scope)}")
    refused = {} if is_dry else await group_offsets.delete_offsets(client, group, meant)
    return [key for key in meant if key not in refused], refused


def _is_meant(one: TopicPartitions, key: Partition) -> bool:
    topic, number = key
    return topic == one.topic and (one.numbers is None or number in one.numbers)
