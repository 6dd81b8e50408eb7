"""``kafkastore records``: the offsets of partitions, records found by time, and records deleted from the beginning."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.completion import TOPIC
from kafkastore.cli.nouns import Noun
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.admin.admin_client import AdminClient, KafkaError, Partition
    from kafkastore.admin.offsets import ListedOffset
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output
    from kafkastore.cli.partitions import TopicPartitions


@click.group("records", cls=Noun)
def command() -> None:
    """Find and delete records by offset and time."""


def _topics(given: tuple[str, ...]) -> list[TopicPartitions]:
    from kafkastore.cli.partitions import topic_partitions

    return [topic_partitions(one) for one in given]


async def _partitions(client: AdminClient, scope: list[TopicPartitions]) -> list[Partition]:
    """Those named; without a name all of the topics that users made."""
    from kafkastore.admin.topics import all_topics
    from kafkastore.cli.partitions import partitions_of

    if scope:
        return sorted(await partitions_of(client, scope))
    topics = await all_topics(client)
    return sorted(
        (name, one.number) for name, topic in topics.items() if not topic.is_internal for one in topic.partitions
    )


def _refused(*answers: Mapping[Partition, object]) -> dict[str, object]:
    from kafkastore.admin.admin_client import KafkaError

    return {
        f"{topic}-{number}": one
        for answer in answers
        for (topic, number), one in answer.items()
        if isinstance(one, KafkaError)
    }


OFFSETS = (
    Column("topic"), Column("partition", is_number=True), Column("earliest", is_number=True),
    Column("latest", is_number=True), Column("offsets", is_number=True),
)  # fmt: skip


@command.command()
@cluster_options
@click.argument("topics", metavar="[TOPIC[:N,...]]...", nargs=-1, type=TOPIC)
@output_options
def offsets(cluster: ClusterSettings, topics: tuple[str, ...], output: Output) -> None:
    """Show where partitions begin and end.

    Of all topics, or of those named. OFFSETS is how many lie between; some of them may be markers of transactions,
    or compacted away.
    """
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.offsets import EARLIEST, LATEST, list_offsets

    scope = _topics(topics)

    async def ask(client: AdminClient) -> tuple[dict[Partition, Any], dict[Partition, Any]]:
        partitions = await _partitions(client, scope)
        first = await list_offsets(client, dict.fromkeys(partitions, EARLIEST))
        return first, await list_offsets(client, dict.fromkeys(partitions, LATEST))

    first, last = cluster.ask(ask)
    rows = []
    for key in sorted(first):
        start, end = first[key], last[key]
        if not isinstance(start, KafkaError) and not isinstance(end, KafkaError):
            rows.append((*key, start.offset, end.offset, end.offset - start.offset))
    output.rows(OFFSETS, rows, nothing="" if topics else "no topics")
    fail_if_refused(_refused({**first, **last}))


FOUND = (
    Column("topic"), Column("partition", is_number=True), Column("offset", is_number=True), Column("time"),
    Column("timestamp_ms", is_number=True),
)  # fmt: skip


@command.command()
@cluster_options
@click.argument("topics", metavar="TOPIC[:N,...]...", nargs=-1, required=True, type=TOPIC)
@click.option(
    "--at", "time", metavar="TIME", required=True, help="2026-01-31T12:00:00Z, ago (90s, 2h30m, 7d), ms, or newest."
)
@output_options
def find(cluster: ClusterSettings, topics: tuple[str, ...], time: str, output: Output) -> None:
    """Find records by time.

    The first one of each partition that is as young as a time, or the one with the newest time. A partition without
    such a record has no offset here.
    """
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.offsets import MAX_TIMESTAMP, list_offsets
    from kafkastore.cli.times import time_ms

    scope = _topics(topics)
    wanted = MAX_TIMESTAMP if time == "newest" else time_ms(time)

    async def ask(client: AdminClient) -> dict[Partition, ListedOffset | KafkaError]:
        return await list_offsets(client, dict.fromkeys(await _partitions(client, scope), wanted))

    found = cluster.ask(ask)
    rows = [(*key, *_shown(one)) for key, one in sorted(found.items()) if not isinstance(one, KafkaError)]
    output.rows(FOUND, rows)
    fail_if_refused(_refused(found))


def _shown(found: ListedOffset) -> tuple[int | None, str | None, int | None]:
    if found.offset < 0:
        return None, None, None
    if found.timestamp < 0:
        return found.offset, None, None
    time = datetime.fromtimestamp(found.timestamp / 1000, UTC).isoformat(timespec="milliseconds")
    return found.offset, time.replace("+00:00", "Z"), found.timestamp


class Deletion(NamedTuple):
    """``before``: the offset that a partition is to begin with."""

    partition: Partition
    earliest: int
    latest: int
    before: int


DELETED = (
    Column("topic"), Column("partition", is_number=True), Column("earliest", is_number=True),
    Column("latest", is_number=True), Column("new_earliest", is_number=True), Column("deleted", is_number=True),
)  # fmt: skip


@command.command()
@cluster_options
@click.argument("topics", metavar="TOPIC[:N,...]...", nargs=-1, required=True, type=TOPIC)
@click.option("--before", type=click.IntRange(0), metavar="OFFSET", help="The records before this offset.")
@click.option("--before-time", metavar="TIME", help="The records before the first one that is as young as this.")
@click.option("--all", "is_all", is_flag=True, help="All records.")
@click.option("--execute", is_flag=True, help="Delete them; without it they are only counted.")
@output_options
def delete(
    cluster: ClusterSettings,
    topics: tuple[str, ...],
    before: int | None,
    before_time: str | None,
    is_all: bool,
    execute: bool,
    output: Output,
) -> None:
    """Delete records from the beginning of partitions, for good.

    Shows how many; --execute deletes them.
    """
    from kafkastore.cli.times import time_ms

    if sum((before is not None, before_time is not None, is_all)) != 1:
        raise click.UsageError("give one of --before, --before-time and --all")
    scope = _topics(topics)
    time = None if before_time is None else time_ms(before_time)
    planned, refused = cluster.ask(lambda client: _delete(client, scope, before, time, is_dry=not execute))
    rows = [
        (*one.partition, one.earliest, one.latest, one.before, one.before - one.earliest)
        for one in planned
        if one.partition not in refused
    ]
    output.rows(DELETED, rows)
    said = "deleted" if execute else "would be deleted; --execute deletes them"
    click.echo(f"{sum(row[-1] for row in rows)} records {said}", err=True)
    fail_if_refused(_refused(refused))


async def _delete(
    client: AdminClient, scope: list[TopicPartitions], before: int | None, time: int | None, *, is_dry: bool
) -> tuple[list[Deletion], dict[Partition, KafkaError]]:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.offsets import EARLIEST, LATEST, offsets_at
    from kafkastore.admin.records import delete_records

    partitions = await _partitions(client, scope)
    first, last = await offsets_at(client, partitions, EARLIEST), await offsets_at(client, partitions, LATEST)
    found = {} if time is None else await offsets_at(client, partitions, time)
    planned = []
    for key in partitions:
        wanted = last[key] if before is None else before
        if time is not None and found[key] >= 0:
            wanted = found[key]
        planned.append(Deletion(key, first[key], last[key], max(first[key], min(last[key], wanted))))
    if is_dry:
        return planned, {}
    meant = {one.partition: one.before for one in planned if one.before > one.earliest}
    answers = await delete_records(client, meant)
    return planned, {key: one for key, one in answers.items() if isinstance(one, KafkaError)}
