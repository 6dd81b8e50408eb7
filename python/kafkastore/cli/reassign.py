"""``kafkastore reassign``: moves of the partitions of some topics, and how many replicas they have.

``kafkastore cluster`` does the same for a whole cluster, when brokers come or go; both begin moves, show their progress
and set throttles with the same code.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.completion import TOPIC
from kafkastore.cli.nouns import Noun
from kafkastore.cli.output import Column, output_options
from kafkastore.cli.progress import progress_option

if TYPE_CHECKING:
    from kafkastore.admin.cluster_client import ClusterClient, ClusterView
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output

    Key = tuple[str, int]

STDIN = "/dev/stdin"
MOVING = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("replicas"),
    Column("target"),
    Column("adding"),
    Column("removing"),
    Column("copied_bytes", is_number=True),
    Column("total_bytes", is_number=True),
)


@click.group("reassign", cls=Noun)
def command() -> None:
    """Move partitions between brokers.

    plan writes a file of Kafka's form, which execute and kafka-reassign-partitions read. To plan for a whole cluster,
    see kafkastore cluster add-brokers, remove-brokers and rebalance.
    """


@command.command(epilog="kafkastore reassign plan -r 3 orders | kafkastore reassign execute -")
@cluster_options
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True, type=TOPIC)
@click.option("--brokers", metavar="ID,ID,...", help="Those that may have replicas.  [default: all in service]")
@click.option("-r", "--replication-factor", type=click.IntRange(1, 32767), help="How many.  [default: as they have]")
def plan(
    cluster: ClusterSettings, topics: tuple[str, ...], brokers: str | None, replication_factor: int | None
) -> None:
    """Plan where the replicas of topics are to be, with the fewest moves; move nothing.

    The plan goes to stdout, what it costs to stderr.
    """
    from kafkastore.admin.plan_file import plan_text
    from kafkastore.admin.topic_moves import plan_topics

    view = _view(cluster)
    for topic in topics:
        if not any(name == topic for name, _ in view.partitions):
            raise click.UsageError(f"there is no topic {topic}")
    assignment = {key: one.target for key, one in view.partitions.items()}
    allowed = _allowed(view, brokers)
    made = plan_topics(assignment, topics, view.sizes(), allowed, replication_factor)
    if made.targets:
        click.echo(plan_text(made.targets))
    click.echo(f"{len(made.targets)} partition(s) move; {made.moved_bytes:,} bytes are copied", err=True)


@command.command()
@cluster_options
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--throttle", metavar="BYTES", default="0", help="A second, on each broker and in each direction.")
@click.option("--dry-run", is_flag=True, help="Check the file, say what would move, and do nothing.")
@progress_option
def execute(cluster: ClusterSettings, file: str, throttle: str, dry_run: bool, shows_progress: bool) -> None:
    """Do the moves of a FILE, or of - for stdin, and wait for their end.

    Ctrl-C ends the command and not the moves: run it again to go on, or cancel.
    """
    from kafkastore.cli import cluster_moves

    options = cluster_moves.MoveOptions(
        cluster.bootstrap_servers,
        cluster.properties,
        reassignment_json_file=STDIN if file == "-" else file,
        throttle=throttle,
        dry_run=dry_run,
        shows_progress=shows_progress,
    )
    cluster_moves.run("reassign", options)


@command.command()
@cluster_options
@click.argument("topics", metavar="[TOPIC]...", nargs=-1, type=TOPIC)
@output_options
def status(cluster: ClusterSettings, topics: tuple[str, ...], output: Output) -> None:
    """Show what moves, and how far it is."""
    view = _view(cluster)
    sizes = view.sizes()
    rows = []
    for (topic, number), one in sorted(view.partitions.items()):
        if not one.is_moving or (topics and topic not in topics):
            continue
        size = sizes[topic, number]
        copied = sum(
            size if node in one.isr else min(view.held.get(node, {}).get((topic, number), 0), size)
            for node in one.adding
        )
        rows.append((topic, number, one.replicas, one.target, one.adding, one.removing, copied, size * len(one.adding)))
    output.rows(MOVING, rows, nothing="nothing moves")


@command.command()
@cluster_options
@click.argument("topics", metavar="[TOPIC]...", nargs=-1, type=TOPIC)
def cancel(cluster: ClusterSettings, topics: tuple[str, ...]) -> None:
    """End moves under way: all, or those of topics; what moves is again where it was."""
    from kafkastore.cli import cluster_moves

    if not topics:
        options = cluster_moves.MoveOptions(cluster.bootstrap_servers, cluster.properties)
        cluster_moves.run("cancel", options)
        return
    _cancel_of(cluster, topics)


def _cancel_of(cluster: ClusterSettings, topics: tuple[str, ...]) -> None:
    import asyncio

    from kafkastore.admin.throttles import clear_throttles
    from kafkastore.cli.outcome import fail_if_refused

    async def cancelled(client: ClusterClient) -> tuple[list[Key], dict[Key, str]]:
        async with client.within():
            view = await client.view()
            keys = sorted(key for key, one in view.partitions.items() if one.is_moving and key[0] in topics)
            refused = await client.reassign(dict.fromkeys(keys)) if keys else {}
            others = [key for key, one in view.partitions.items() if one.is_moving and key not in keys]
            if not refused and not others:  # the rates are of all moves
                await clear_throttles(client, view, topics)
            return keys, refused

    keys, refused = asyncio.run(cancelled(_client(cluster)))
    for topic, number in keys:
        if (topic, number) not in refused:
            sys.stdout.write(f"{topic}:{number}: cancelled\n")
    if not keys:
        click.echo("nothing of them moves", err=True)
    fail_if_refused({f"{topic}:{number}": why for (topic, number), why in refused.items()})


def _client(cluster: ClusterSettings) -> ClusterClient:
    from kafkastore.admin.cluster_client import ClusterClient

    return ClusterClient(cluster.bootstrap_servers, cluster.properties)


def _view(cluster: ClusterSettings) -> ClusterView:
    import asyncio

    async def viewed(client: ClusterClient) -> ClusterView:
        async with client.within():
            return await client.view()

    return asyncio.run(viewed(_client(cluster)))


def _allowed(view: ClusterView, brokers: str | None) -> dict[int, str | None]:
    """The brokers that may have replicas, with their racks. Raises click.UsageError."""
    in_service = view.in_service()
    if brokers is None:
        return in_service
    found = {}
    for word in brokers.split(","):
        node = int(word) if word.strip().isdecimal() else -1
        if node not in in_service:
            known = ", ".join(map(str, sorted(in_service)))
            raise click.UsageError(f"--brokers: {word} is no broker that is alive and in service; there are {known}")
        found[node] = in_service[node]
    return found
