"""``kafkastore topics``: what there is, and making, growing, emptying and deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkastore.cli.cluster_options import cluster_options, key_values
from kafkastore.cli.completion import TOPIC
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options

if TYPE_CHECKING:
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output


@click.group("topics")
def command() -> None:
    """List, describe, create, grow and delete topics."""


LISTED = (Column("name"), Column("partitions", is_number=True), Column("replicas", is_number=True))


@command.command("list")
@cluster_options
@click.option("--internal", is_flag=True, help="With the topics of the brokers themselves.")
@click.argument("names", metavar="[TOPIC]...", nargs=-1, type=TOPIC)
@output_options
def list_topics(cluster: ClusterSettings, internal: bool, names: tuple[str, ...], output: Output) -> None:
    """Lists topics: all, or those named."""
    from kafkastore.admin import topics

    found = cluster.ask(topics.all_topics)
    shown = [
        topic
        for name, topic in sorted(found.items())
        if (name in names if names else internal or not topic.is_internal)
    ]
    output.rows(LISTED, [(topic.name, len(topic.partitions), topic.replication_factor) for topic in shown])
    fail_if_refused({name: "there is no such topic" for name in names if name not in found})


@command.command()
@cluster_options
@click.argument("names", metavar="TOPIC...", nargs=-1, required=True, type=TOPIC)
@click.option("-p", "--partitions", type=click.IntRange(1), help="How many each has.  [default: the broker's]")
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
    """Makes topics."""
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
            click.echo(f"{name}: {'is there' if is_there else 'would be made' if dry_run else 'made'}")
    fail_if_refused(refused)
