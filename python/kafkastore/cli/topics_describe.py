"""``kafkastore topics describe``: a topic with its partitions and its configuration, or the partitions that are ill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.completion import TOPIC
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.admin.admin_client import AdminClient, KafkaError
    from kafkastore.admin.configs import ConfigEntry
    from kafkastore.admin.reassignments import Reassignment
    from kafkastore.admin.topics import PartitionDescription, TopicDescription
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output

NO_TOPIC: Final = "there is no such topic"
MIN_ISR: Final = "min.insync.replicas"
ILLNESSES: Final = ("under-replicated", "without-leader", "under-min-isr", "at-min-isr", "moving")

TOPICS = (
    Column("name"),
    Column("partitions", is_number=True),
    Column("replicas", is_number=True),
    Column("internal"),
    Column("id"),
)
PARTITIONS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("leader", is_number=True),
    Column("replicas"),
    Column("isr"),
    Column("offline"),
    Column("elr"),
    Column("adding"),
    Column("removing"),
)
OFFSETS = (Column("first_offset", is_number=True), Column("end_offset", is_number=True))
CONFIGS = (Column("topic"), Column("key"), Column("value"), Column("source"))


class Described(NamedTuple):
    topics: list[TopicDescription]
    configs: dict[str, tuple[ConfigEntry, ...]]
    moves: dict[tuple[str, int], Reassignment]
    alive: set[int]
    offsets: dict[tuple[str, int], tuple[int, int]]
    refused: dict[str, KafkaError]


@click.command()
@cluster_options
@click.argument("names", metavar="[TOPIC]...", nargs=-1, type=TOPIC)
@click.option("--only", "illnesses", type=click.Choice(ILLNESSES), multiple=True, help="These partitions alone.")
@click.option("--partitions", "is_partitions", is_flag=True, help="The partitions alone.")
@click.option("--configs", "is_configs", is_flag=True, help="The configuration alone: what differs from the default.")
@click.option("--offsets", "has_offsets", is_flag=True, help="With the first offset of each partition and its end.")
@output_options
def describe(
    cluster: ClusterSettings,
    names: tuple[str, ...],
    illnesses: tuple[str, ...],
    is_partitions: bool,
    is_configs: bool,
    has_offsets: bool,
    output: Output,
) -> None:
    """Show partitions and configuration of topics.

    All topics but the brokers' own, or those named; of the configuration what differs from the default.
    """
    from kafkastore.errors import ErrorCode

    if is_partitions and is_configs:
        raise click.UsageError("--partitions and --configs: give one of them, or neither for both")
    found = cluster.ask(lambda client: _found(client, names, has_offsets=has_offsets))
    rows = [
        (topic, one)
        for topic in found.topics
        for one in topic.partitions
        if not illnesses or any(_is_ill(found, topic, one, illness) for illness in illnesses)
    ]
    columns = (*PARTITIONS, *(OFFSETS if has_offsets else ()))
    partitions = [_partition(found, topic, one, has_offsets=has_offsets) for topic, one in rows]
    if illnesses or is_partitions:
        output.rows(columns, partitions, "" if found.refused else "no such partitions")
    elif is_configs:
        output.rows(CONFIGS, _configs(found), "" if found.refused else "nothing differs from the default")
    elif output.is_table:
        _print(found, output, columns, partitions)
    else:
        output.objects(_object(found, topic, columns, partitions) for topic in found.topics)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    fail_if_refused({name: NO_TOPIC if one.code == unknown else one for name, one in found.refused.items()})


async def _found(client: AdminClient, names: Sequence[str], *, has_offsets: bool) -> Described:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.configs import TOPIC as TOPIC_TYPE
    from kafkastore.admin.configs import ConfigResource, describe_configs
    from kafkastore.admin.reassignments import visible_reassignments
    from kafkastore.admin.topics import TopicDescription, describe_topics, topic_names

    wanted = names or sorted(name for name, is_internal in (await topic_names(client)).items() if not is_internal)
    described = await describe_topics(client, wanted)
    topics = [one for one in described.values() if isinstance(one, TopicDescription)]
    refused = {name: one for name, one in described.items() if isinstance(one, KafkaError)}
    configs = await describe_configs(client, [ConfigResource(TOPIC_TYPE, topic.name) for topic in topics])
    refused |= {one.name: entries for one, entries in configs.items() if isinstance(entries, KafkaError)}
    return Described(
        topics,
        {one.name: entries for one, entries in configs.items() if not isinstance(entries, KafkaError)},
        await visible_reassignments(client),
        set((await client.cluster(is_fresh=True)).brokers),
        await _offsets(client, topics) if has_offsets else {},
        refused,
    )


async def _offsets(client: AdminClient, topics: Sequence[TopicDescription]) -> dict[tuple[str, int], tuple[int, int]]:
    """The first offset of each partition and the one behind its last record; not of those whose leader does not say."""
    from kafkastore.admin.offsets import EARLIEST, LATEST, ListedOffset, list_offsets

    led = [(topic.name, one.number) for topic in topics for one in topic.partitions if one.leader >= 0]
    first, end = [await list_offsets(client, dict.fromkeys(led, time)) for time in (EARLIEST, LATEST)]
    return {
        key: (one.offset, other.offset)
        for key in led
        if isinstance(one := first[key], ListedOffset) and isinstance(other := end[key], ListedOffset)
    }


def _is_ill(found: Described, topic: TopicDescription, one: PartitionDescription, illness: str) -> bool:
    from kafkastore.admin.reassignments import wanted_replicas

    entries = {entry.name: entry.value for entry in found.configs.get(topic.name, ())}
    min_isr = int(entries.get(MIN_ISR) or 1)
    move = found.moves.get((topic.name, one.number))
    return {
        "under-replicated": len(one.isr) < wanted_replicas(one, move),
        "without-leader": one.leader not in found.alive,
        "under-min-isr": one.leader < 0 or len(one.isr) < min_isr,
        "at-min-isr": len(one.isr) == min_isr,
        "moving": move is not None,
    }[illness]


def _partition(
    found: Described, topic: TopicDescription, one: PartitionDescription, *, has_offsets: bool
) -> tuple[Any, ...]:
    move = found.moves.get((topic.name, one.number))
    row = (
        topic.name,
        one.number,
        None if one.leader < 0 else one.leader,
        one.replicas,
        one.isr,
        one.offline,
        one.elr,
        () if move is None else move.adding,
        () if move is None else move.removing,
    )
    return (*row, *found.offsets.get((topic.name, one.number), (None, None))) if has_offsets else row


def _configs(found: Described) -> list[tuple[Any, ...]]:
    from kafkastore.cli.configs_words import source_in_words

    return [
        (topic.name, entry.name, entry.value, source_in_words(entry.source))
        for topic in found.topics
        for entry in found.configs.get(topic.name, ())
        if not entry.is_default
    ]


def _topic(found: Described, topic: TopicDescription) -> tuple[Any, ...]:
    from kafkastore.admin.reassignments import wanted_replicas
    from kafkastore.metadata.nodes import topic_id_text

    topic_id = None if topic.topic_id is None else topic_id_text(topic.topic_id)
    first = next(iter(topic.partitions), None)  # a broken broker may say none
    replicas = 0 if first is None else wanted_replicas(first, found.moves.get((topic.name, first.number)))
    return topic.name, len(topic.partitions), replicas, topic.is_internal, topic_id


def _print(found: Described, output: Output, columns: Sequence[Column], partitions: Sequence[Sequence[Any]]) -> None:
    """Tables: the topics, their partitions, their configuration."""
    if not found.topics:
        if not found.refused:
            click.echo("no topics", err=True)
        return
    output.rows(TOPICS, [_topic(found, topic) for topic in found.topics])
    click.echo()
    empty = {at for at in range(len(columns)) if all(row[at] in ((), None) for row in partitions)} - {2}
    kept = [at for at in range(len(columns)) if at not in empty]
    output.rows([columns[at] for at in kept], [[row[at] for at in kept] for row in partitions])
    configs = _configs(found)
    if configs:
        click.echo()
        output.rows(CONFIGS, configs)


def _object(
    found: Described, topic: TopicDescription, columns: Sequence[Column], partitions: Sequence[Sequence[Any]]
) -> dict[str, Any]:
    names = [column.name for column in TOPICS]
    shown = dict(zip(names, _topic(found, topic), strict=True))
    del shown["partitions"]  # those themselves are in its place
    of_topic = [
        dict(zip([column.name for column in columns[1:]], row[1:], strict=True))
        for row in partitions
        if row[0] == topic.name
    ]
    configs = [
        dict(zip([column.name for column in CONFIGS[1:]], row[1:], strict=True))
        for row in _configs(found)
        if row[0] == topic.name
    ]
    return {**shown, "partitions": of_topic, "configs": configs}
