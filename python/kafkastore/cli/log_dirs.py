"""``kafkastore log-dirs``: what log directories of brokers hold, and moves of replicas between those of a broker."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.completion import TOPIC
from kafkastore.cli.nouns import Noun
from kafkastore.cli.option_types import SIZE
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, say
from kafkastore.cli.progress import Bar, Reading, progress_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.log_dirs import LogDir, Replica, StoredReplica
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output

    Found = dict[int, list[LogDir]]

POLL_S = 0.3
RATE_KEY = "replica.alter.log.dirs.io.max.bytes.per.second"
SIZES = (Column("partitions", is_number=True), Column("bytes", is_number=True))
DIRECTORIES = (
    Column("broker", is_number=True),
    Column("directory"),
    Column("state"),
    *SIZES,
    Column("total_bytes", is_number=True),
    Column("usable_bytes", is_number=True),
)
BROKERS = (Column("broker", is_number=True), Column("directories", is_number=True), *SIZES)
TOPICS = (Column("topic"), *SIZES, Column("largest_broker", is_number=True))
PARTITIONS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("broker", is_number=True),
    Column("directory"),
    Column("bytes", is_number=True),
    Column("lag", is_number=True),
    Column("moving_here"),
)


@click.group("log-dirs", cls=Noun)
def command() -> None:
    """Log directories of brokers, and moves between them."""


@command.command("list")
@cluster_options
@click.argument("topics", metavar="[TOPIC]...", nargs=-1, type=TOPIC)
@click.option("--broker", "brokers", metavar="ID", type=int, multiple=True, help="May be given again.")
@click.option(
    "--by",
    type=click.Choice(("directory", "broker", "topic", "partition")),
    default="directory",
    show_default=True,
    help="What a row is.",
)
@output_options
def list_log_dirs(
    cluster: ClusterSettings, topics: tuple[str, ...], brokers: tuple[int, ...], by: str, output: Output
) -> None:
    """Show what is where, and how large it is: all, or the replicas of topics."""
    from kafkastore.admin.log_dirs import describe_log_dirs

    found = cluster.ask(lambda client: describe_log_dirs(client, brokers or None))
    columns, rows = SHOWN[by]
    output.rows(columns, rows(found, set(topics)), nothing="no replicas")


def _replicas(directory: LogDir, topics: set[str]) -> list[tuple[tuple[str, int], StoredReplica]]:
    return [(key, one) for key, one in sorted(directory.replicas.items()) if not topics or key[0] in topics]


def _by_directory(found: Found, topics: set[str]) -> Iterable[Sequence[Any]]:
    for node, directories in sorted(found.items()):
        for one in sorted(directories, key=lambda one: one.path):
            held = _replicas(one, topics)
            state = "cordoned" if one.is_cordoned else "ok"
            state = state if one.error is None else one.error.name
            size = sum(replica.size_bytes for _, replica in held)
            yield node, one.path, state, len(held), size, one.total_bytes, one.usable_bytes


def _by_broker(found: Found, topics: set[str]) -> Iterable[Sequence[Any]]:
    for node, directories in sorted(found.items()):
        held = [replica for one in directories for _, replica in _replicas(one, topics)]
        yield node, len(directories), len(held), sum(one.size_bytes for one in held)


def _by_topic(found: Found, topics: set[str]) -> Iterable[Sequence[Any]]:
    """Of all replicas together; and the broker that has the most bytes of the topic."""
    partitions: dict[str, set[int]] = defaultdict(set)
    on: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for node, directories in found.items():
        for directory in directories:
            for (topic, number), one in _replicas(directory, topics):
                partitions[topic].add(number)
                on[topic][node] += one.size_bytes
    for topic in sorted(on):
        largest = max(sorted(on[topic]), key=lambda node: on[topic][node])
        yield topic, len(partitions[topic]), sum(on[topic].values()), largest


def _by_partition(found: Found, topics: set[str]) -> Iterable[Sequence[Any]]:
    return sorted(
        (topic, number, node, directory.path, one.size_bytes, one.offset_lag, one.is_future)
        for node, directories in found.items()
        for directory in directories
        for (topic, number), one in _replicas(directory, topics)
    )


SHOWN: dict[str, tuple[tuple[Column, ...], Callable[[Found, set[str]], Iterable[Sequence[Any]]]]] = {
    "directory": (DIRECTORIES, _by_directory),
    "broker": (BROKERS, _by_broker),
    "topic": (TOPICS, _by_topic),
    "partition": (PARTITIONS, _by_partition),
}


@command.command()
@cluster_options
@click.argument("partitions", metavar="TOPIC[:N,...]...", nargs=-1, required=True, type=TOPIC)
@click.option("--broker", metavar="ID", type=int, required=True, help="Whose replicas.")
@click.option("--to", "directory", metavar="DIR", required=True, help="As the broker's log.dirs has it.")
@click.option("--throttle", metavar="SIZE", type=SIZE, help="A second; taken away when the command has ended well.")
@click.option("--no-wait", is_flag=True, help="Begin, and do not wait for the end.")
@click.option("--dry-run", is_flag=True, help="Only say what would move.")
@progress_option
def move(
    cluster: ClusterSettings,
    partitions: tuple[str, ...],
    broker: int,
    directory: str,
    throttle: int | None,
    no_wait: bool,
    dry_run: bool,
    shows_progress: bool,
) -> None:
    """Move replicas of a broker to another of its directories.

    Ctrl-C ends the command and not the moves. To end a move, move the replica back to where it is.
    """
    from kafkastore.cli.partitions import topic_partitions

    wanted = [topic_partitions(one) for one in partitions]

    async def moved(client: AdminClient) -> dict[str, str]:
        sizes = await _moving(client, wanted, broker, directory)
        if dry_run or not sizes:
            for one, size in sorted(sizes.items()):
                say(f"{_name(one)}: would move to {directory}, {size:,} bytes")
            return {}
        if throttle is not None:
            await _throttle(client, broker, str(throttle))
        refused = await _begin(client, sizes, directory)
        going = {one: size for one, size in sizes.items() if _name(one) not in refused}
        if not no_wait:
            await _wait(client, going, directory, is_shown=shows_progress)
            if throttle is not None:
                await _throttle(client, broker, None)
        for one, size in sorted(going.items()):
            say(f"{_name(one)}: {'moves' if no_wait else 'moved'} to {directory}, {size:,} bytes")
        return refused

    fail_if_refused(cluster.ask(moved))


def _name(replica: Replica) -> str:
    return f"{replica.topic}:{replica.partition}"


async def _moving(client: AdminClient, wanted: Sequence[Any], broker: int, directory: str) -> dict[Replica, int]:
    """The replicas that are to move, with their bytes. Raises click.UsageError."""
    from kafkastore.admin.log_dirs import Replica, describe_log_dirs

    directories = (await describe_log_dirs(client, [broker]))[broker]
    paths = sorted(one.path for one in directories)
    if directory not in paths:
        raise click.UsageError(f"--to: broker {broker} has no log directory {directory}; it has {', '.join(paths)}")
    current = {
        key: (one.path, replica.size_bytes)
        for one in directories
        for key, replica in one.replicas.items()
        if not replica.is_future
    }
    found: dict[Replica, int] = {}
    for topic, numbers in wanted:
        held = [number for name, number in current if name == topic and (numbers is None or number in numbers)]
        missing = sorted(set(numbers or ()) - set(held))
        if missing or not held:
            what = f"{topic}:{','.join(map(str, missing))}" if missing else topic
            raise click.UsageError(f"broker {broker} has no replica of {what}")
        for number in held:
            path, size = current[topic, number]
            if path != directory:
                found[Replica(broker, topic, number)] = size
            else:
                say(f"{topic}:{number}: is there", err=True)
    return found


async def _begin(client: AdminClient, sizes: dict[Replica, int], directory: str) -> dict[str, str]:
    from kafkastore.admin.log_dirs import alter_replica_log_dirs

    refused = await alter_replica_log_dirs(client, dict.fromkeys(sizes, directory))
    return {_name(one): error.client_message for one, error in refused.items()}


async def _throttle(client: AdminClient, broker: int, rate: str | None) -> None:
    from kafkastore.admin.configs import BROKER, DELETE, SET, ConfigChange, ConfigResource, alter_configs

    change = ConfigChange(RATE_KEY, rate, DELETE if rate is None else SET)
    for error in (await alter_configs(client, {ConfigResource(BROKER, str(broker)): [change]})).values():
        raise error


async def _wait(client: AdminClient, going: dict[Replica, int], directory: str, *, is_shown: bool) -> None:
    """Waits until the replicas are there. Raises AdminError when a move was ended by somebody else."""
    from kafkastore.admin.admin_client import AdminError
    from kafkastore.admin.log_dirs import describe_log_dirs

    total = sum(going.values())
    with Bar(is_shown=is_shown) as bar:
        left = dict(going)
        while left:
            node = next(iter(left)).broker
            directories = (await describe_log_dirs(client, [node], [one.key for one in left]))[node]
            copied = 0
            for one in list(left):
                at = {path.path: path.replicas[one.key] for path in directories if one.key in path.replicas}
                here = at.get(directory)
                if here is not None and not here.is_future:
                    del left[one]
                elif here is None and at:
                    raise AdminError(f"{_name(one)} does not move any more: somebody ended that")
                elif here is not None:
                    copied += here.size_bytes
            done = min(total - sum(left.values()) + copied, total)
            bar.show(Reading(done, total, f"{done:,} of {total:,} bytes, {len(left)} replica(s) left"))
            if left:
                await asyncio.sleep(POLL_S)
