"""``kafkastore topics``: what there is, and making, growing and deleting topics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kafkastore.cli.cluster_options import cluster_options, key_values
from kafkastore.cli.completion import TOPIC
from kafkastore.cli.confirm import confirm, yes_option
from kafkastore.cli.nouns import Noun
from kafkastore.cli.option_types import MOST_PARTITIONS
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, say
from kafkastore.cli.topics_describe import NO_TOPIC, describe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.topics import TopicDescription
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output


@click.group("topics", cls=Noun)
def command() -> None:
    """List, describe, create, grow and delete topics.

    kafkastore configs changes their configuration.
    """


command.add_command(describe)

LISTED = (Column("name"), Column("partitions", is_number=True), Column("replicas", is_number=True))
DETAILED = (
    *LISTED,
    Column("under_replicated", is_number=True),
    Column("without_leader", is_number=True),
    Column("bytes", is_number=True),
    Column("bytes_of_replicas", is_number=True),
    Column("id"),
)


@command.command("list")
@cluster_options
@click.option("--internal", is_flag=True, help="With the topics of the brokers themselves.")
@click.option("--regex", is_flag=True, help="TOPIC is a regular expression of whole names.")
@click.option("--detail", is_flag=True, help="With health, sizes and ids.")
@click.argument("names", metavar="[TOPIC]...", nargs=-1, type=TOPIC)
@output_options
def list_topics(
    cluster: ClusterSettings, internal: bool, regex: bool, detail: bool, names: tuple[str, ...], output: Output
) -> None:
    """List topics: all, or those named."""
    found, sizes = cluster.ask(_with_sizes if detail else _without_sizes)
    chosen = chosen_topics(names, found, is_regex=regex)
    shown = [
        topic
        for name, topic in sorted(found.items())
        if (name in chosen.there if names else internal or not topic.is_internal)
    ]
    nothing = "" if names else "no topics"
    if detail:
        output.rows(DETAILED, [_detailed(topic, sizes) for topic in shown], nothing)
    else:
        rows = [(topic.name, len(topic.partitions), topic.replication_factor) for topic in shown]
        output.rows(LISTED, rows, nothing)
    fail_if_refused(dict.fromkeys(chosen.missing, NO_TOPIC))


Sizes = dict[tuple[int, str, int], int]


async def _without_sizes(client: AdminClient) -> tuple[dict[str, TopicDescription], Sizes]:
    from kafkastore.admin.topics import all_topics

    return await all_topics(client), {}


async def _with_sizes(client: AdminClient) -> tuple[dict[str, TopicDescription], Sizes]:
    from kafkastore.admin.log_dirs import describe_log_dirs, held_bytes
    from kafkastore.admin.topics import all_topics

    found = await all_topics(client)
    held = {node: held_bytes(directories) for node, directories in (await describe_log_dirs(client)).items()}
    return found, {(node, *key): size for node, of_node in held.items() for key, size in of_node.items()}


def _detailed(topic: TopicDescription, sizes: Sizes) -> tuple[Any, ...]:
    from kafkastore.metadata.nodes import topic_id_text

    return (
        topic.name,
        len(topic.partitions),
        topic.replication_factor,
        sum(len(one.isr) < len(one.replicas) for one in topic.partitions),
        sum(one.leader < 0 for one in topic.partitions),
        sum(sizes.get((one.leader, topic.name, one.number), 0) for one in topic.partitions),
        sum(size for (_, name, _), size in sizes.items() if name == topic.name),
        None if topic.topic_id is None else topic_id_text(topic.topic_id),
    )


class Chosen(NamedTuple):
    there: list[str]
    missing: list[str]


def chosen_topics(names: tuple[str, ...], there: Iterable[str], *, is_regex: bool) -> Chosen:
    """Which of the topics are meant, and which names or expressions mean none."""
    known = sorted(there)
    found: dict[str, None] = {}
    missing = []
    for name in names:
        meant = [one for one in known if _pattern(name).fullmatch(one)] if is_regex else [name] * (name in known)
        found |= dict.fromkeys(meant)
        missing += [] if meant else [name]
    return Chosen(list(found), missing)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise click.UsageError(f"{text} is no regular expression: {error}") from None


@command.command()
@cluster_options
@click.argument("names", metavar="TOPIC...", nargs=-1, required=True, type=TOPIC)
@click.option(
    "-p", "--partitions", type=click.IntRange(1, MOST_PARTITIONS), help="How many each has.  [default: the broker's]"
)
@click.option("-r", "--replication-factor", type=click.IntRange(1, 32767), help="[default: the broker's]")
@click.option("-c", "--config", "configs", metavar="KEY=VALUE", multiple=True, help="May be given again.")
@click.option("--if-not-exists", is_flag=True, help="A topic that is there already is no error.")
@click.option("--dry-run", is_flag=True, help="Only ask whether it would be made.")
def create(
    cluster: ClusterSettings,
    names: tuple[str, ...],
    partitions: int | None,
    replication_factor: int | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
    dry_run: bool,
) -> None:
    """Make topics."""
    from kafkastore.admin import topics
    from kafkastore.errors import ErrorCode

    pairs = key_values("-c", configs)
    wanted = [topics.NewTopic(name, partitions or -1, replication_factor or -1, pairs) for name in names]
    refused = cluster.ask(lambda client: topics.create_topics(client, wanted, validate_only=dry_run))
    for name in names:
        is_there = name in refused and refused[name].code == ErrorCode.TOPIC_ALREADY_EXISTS
        if if_not_exists and is_there:
            del refused[name]
        if name not in refused:
            say(f"{name}: {'is there' if is_there else 'would be made' if dry_run else 'made'}")
    fail_if_refused(refused)


@command.command("add-partitions")
@cluster_options
@click.argument("names", metavar="TOPIC...", nargs=-1, required=True, type=TOPIC)
@click.option("-p", "--partitions", type=click.IntRange(1, MOST_PARTITIONS), help="How many more each gets.")
@click.option("--total", type=click.IntRange(2, MOST_PARTITIONS), help="How many each is to have then.")
@click.option("--dry-run", is_flag=True, help="Only say what it would be.")
def add_partitions(
    cluster: ClusterSettings, names: tuple[str, ...], partitions: int | None, total: int | None, dry_run: bool
) -> None:
    """Give topics more partitions. Keys go to other partitions than before from then on."""
    from kafkastore.admin import topics

    if (partitions is None) == (total is None):
        raise click.UsageError("give either --partitions, how many more, or --total, how many in all")

    async def grow(client: AdminClient) -> tuple[dict[str, int], dict[str, int], dict[str, Any]]:
        found = await topics.all_topics(client)
        before = {name: len(found[name].partitions) for name in names if name in found}
        totals = {name: total or count + (partitions or 0) for name, count in before.items()}
        refused: dict[str, Any] = {name: NO_TOPIC for name in names if name not in found}
        few = {name: f"it has {before[name]} already" for name in totals if totals[name] <= before[name]}
        totals = {name: count for name, count in totals.items() if name not in few}
        done = {} if dry_run or not totals else await topics.create_partitions(client, totals)
        return before, totals, refused | few | done

    before, totals, refused = cluster.ask(grow)
    for name, count in totals.items():
        if name not in refused:
            say(f"{name}: {'would have' if dry_run else 'has'} {count} partitions, {before[name]} before")
    fail_if_refused(refused)


@command.command()
@cluster_options
@click.argument("names", metavar="TOPIC...", nargs=-1, required=True, type=TOPIC)
@click.option("--regex", is_flag=True, help="TOPIC is a regular expression of whole names.")
@click.option("--if-exists", is_flag=True, help="A topic that is not there is no error.")
@click.option("--dry-run", is_flag=True, help="Only say which would be deleted.")
@yes_option
def delete(
    cluster: ClusterSettings, names: tuple[str, ...], regex: bool, if_exists: bool, dry_run: bool, is_confirmed: bool
) -> None:
    """Delete topics with all their records. A regular expression never means the brokers' own topics."""
    from kafkastore.admin import topics

    found = cluster.ask(topics.topic_names)
    known = [name for name, is_internal in found.items() if not (regex and is_internal)]
    chosen = chosen_topics(names, known, is_regex=regex)
    refused: dict[str, Any] = {} if if_exists else dict.fromkeys(chosen.missing, NO_TOPIC)
    if chosen.there and not dry_run:
        confirm(f"Delete {_named(chosen.there)} with all records?", is_confirmed=is_confirmed)
        refused |= cluster.ask(lambda client: topics.delete_topics(client, chosen.there))
    for name in chosen.there:
        if name not in refused:
            say(f"{name}: {'would be deleted' if dry_run else 'deleted'}")
    fail_if_refused(refused)


def _named(names: list[str]) -> str:
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{len(names)} topics ({shown})" if len(names) > 1 else f"topic {shown}"
