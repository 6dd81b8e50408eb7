"""``kafkastore transactions``: what is open, what hangs, and ending it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.completion import TOPIC, TRANSACTIONAL_ID
from kafkastore.cli.nouns import Noun
from kafkastore.cli.outcome import fail_if_refused
from kafkastore.cli.output import Column, output_options, say
from kafkastore.cli.times import duration_ms, duration_text, now_ms
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from kafkastore.admin.admin_client import AdminClient, KafkaError, Partition
    from kafkastore.admin.transactions import OpenTransaction, ProducerState
    from kafkastore.cli.cluster_options import ClusterSettings
    from kafkastore.cli.output import Output


@click.group("transactions", cls=Noun)
def command() -> None:
    """Transactions: list, describe, find hanging ones, abort."""


LISTED = (Column("transactional_id"), Column("state"), Column("producer_id", is_number=True),
          Column("coordinator", is_number=True))  # fmt: skip


@command.command("list")
@cluster_options
@click.option("--state", "states", metavar="STATE", multiple=True, help="Ongoing, PrepareCommit, ...; repeatable.")
@click.option("--older-than", metavar="DURATION", help="Those that are open for longer: 90s, 15m.")
@click.option("--pattern", metavar="REGEX", help="Those whose whole id a regular expression matches.")
@output_options
def list_transactions(
    cluster: ClusterSettings, states: tuple[str, ...], older_than: str | None, pattern: str | None, output: Output
) -> None:
    """List transactional ids with their states."""
    from kafkastore.admin import transactions

    duration = transactions.ANY_DURATION if older_than is None else duration_ms(older_than)
    listed = cluster.ask(
        lambda client: transactions.list_transactions(client, states=states, min_duration_ms=duration, pattern=pattern)
    )
    rows = [(one.transactional_id, one.state, one.producer_id, one.coordinator) for one in sorted(listed)]
    output.rows(LISTED, rows, nothing="no transactional ids")


DESCRIBED = (
    Column("transactional_id"), Column("state"), Column("producer_id", is_number=True),
    Column("epoch", is_number=True), Column("coordinator", is_number=True), Column("timeout_ms", is_number=True),
    Column("open_ms", is_number=True), Column("partitions"),
)  # fmt: skip


@command.command()
@cluster_options
@click.argument("names", metavar="ID...", nargs=-1, required=True, type=TRANSACTIONAL_ID)
@output_options
def describe(cluster: ClusterSettings, names: tuple[str, ...], output: Output) -> None:
    """Show transactional ids: state, duration, partitions."""
    from kafkastore.admin import transactions
    from kafkastore.admin.admin_client import KafkaError

    found = cluster.ask(lambda client: transactions.describe_transactions(client, dict.fromkeys(names)))
    now = now_ms()
    rows = []
    for name, one in sorted(found.items()):
        if isinstance(one, KafkaError):
            continue
        is_open = one.start_ms is not None and bool(one.partitions)
        opened = now - (one.start_ms or 0) if is_open else None
        where = [f"{topic}-{number}" for topic, number in sorted(one.partitions)]
        rows.append(
            (name, one.state, one.producer_id, one.producer_epoch, one.coordinator, one.timeout_ms, opened, where)
        )
    output.rows(DESCRIBED, rows)
    fail_if_refused({name: one for name, one in found.items() if isinstance(one, KafkaError)})


PRODUCERS = (
    Column("topic"), Column("partition", is_number=True), Column("producer_id", is_number=True),
    Column("epoch", is_number=True), Column("last_sequence", is_number=True),
    Column("last_timestamp_ms", is_number=True), Column("start_offset", is_number=True),
)  # fmt: skip
TOPICS = click.argument("topics", metavar="TOPIC[:N,...]...", nargs=-1, required=True, type=TOPIC)


@command.command()
@cluster_options
@TOPICS
@output_options
def producers(cluster: ClusterSettings, topics: tuple[str, ...], output: Output) -> None:
    """Show the producers that partitions know.

    START OFFSET is where the transaction begins that a producer has open there.
    """
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.transactions import describe_producers

    async def ask(client: AdminClient) -> dict[Partition, list[ProducerState] | KafkaError]:
        return await describe_producers(client, await _partitions(client, topics))

    found = cluster.ask(ask)
    rows: list[tuple[Any, ...]] = []
    refused = {}
    for (topic, number), states in sorted(found.items(), key=lambda one: one[0]):
        if isinstance(states, KafkaError):
            refused[f"{topic}-{number}"] = states
            continue
        for one in sorted(states, key=lambda one: one.producer_id):
            state = (one.producer_id, one.producer_epoch, one.last_sequence, one.last_timestamp, one.start_offset)
            rows.append((topic, number, *state))
    output.rows(PRODUCERS, rows, nothing="" if refused else "no producers")
    fail_if_refused(refused)


async def _partitions(client: AdminClient, topics: tuple[str, ...]) -> list[Partition]:
    """Those named; without a name all."""
    from kafkastore.admin.topics import all_topics
    from kafkastore.cli.partitions import partitions_of, topic_partitions

    if topics:
        return await partitions_of(client, map(topic_partitions, topics))
    return [(name, one.number) for name, topic in (await all_topics(client)).items() for one in topic.partitions]


HANGING = (
    Column("topic"), Column("partition", is_number=True), Column("start_offset", is_number=True),
    Column("producer_id", is_number=True), Column("epoch", is_number=True), Column("idle", is_number=True),
)  # fmt: skip


@command.command()
@cluster_options
@click.argument("topics", metavar="[TOPIC[:N,...]]...", nargs=-1, type=TOPIC)
@click.option("--older-than", metavar="DURATION", default="15m", show_default=True, help="Without a record since.")
@output_options
def hanging(cluster: ClusterSettings, topics: tuple[str, ...], older_than: str, output: Output) -> None:
    """Find transactions that nobody will end.

    They are open in a partition, and no coordinator knows of them. Consumers of committed records get no further than
    such a transaction. 15 minutes is the longest that a broker lets a transaction be open (transaction.max.timeout.ms)
    unless it is configured otherwise.
    """
    from kafkastore.admin.transactions import hanging_transactions, open_transactions

    least_ms, now = duration_ms(older_than), now_ms()

    async def ask(client: AdminClient) -> list[OpenTransaction]:
        partitions = await _partitions(client, topics)
        return await hanging_transactions(
            client, await open_transactions(client, partitions, older_than_ms=least_ms, now_ms=now)
        )

    rows: list[tuple[Any, ...]] = []
    for (topic, number), one in sorted(cluster.ask(ask), key=lambda found: found.partition):
        idle_ms = max(now - one.last_timestamp, 0)
        idle = duration_text(idle_ms / 1000) if output.is_table else idle_ms
        rows.append((topic, number, one.start_offset, one.producer_id, one.producer_epoch, idle))
    columns = HANGING if output.is_table else (*HANGING[:-1], Column("idle_ms", is_number=True))
    output.rows(columns, rows, nothing="no transaction hangs")


@command.command()
@cluster_options
@click.argument("partition", metavar="TOPIC:N", type=TOPIC)
@click.argument("start_offset", metavar="OFFSET", type=click.IntRange(0))
@click.option("--execute", is_flag=True, help="Abort it; without it, it is only shown.")
def abort(cluster: ClusterSettings, partition: str, start_offset: int, execute: bool) -> None:
    """Abort a transaction in a partition.

    The one that begins at an offset, past its coordinator. Meant for hanging ones: see kafkastore transactions
    hanging. Says what it would do; --execute does it.
    """
    from kafkastore.admin import transactions
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.cli.partitions import topic_partitions

    topic, numbers = topic_partitions(partition)
    if numbers is None or len(numbers) != 1:
        raise ConfigError(f"{partition} is no partition; write it as topic:0")
    key = (topic, numbers[0])

    async def ask(client: AdminClient) -> tuple[ProducerState, bool]:
        found = (await transactions.describe_producers(client, [key]))[key]
        if isinstance(found, KafkaError):
            raise ConfigError(f"{partition}: {found}")
        one = next((one for one in found if one.start_offset == start_offset), None)
        if one is None:
            raise ConfigError(f"no transaction that begins at {start_offset} is open in {partition}")
        is_hanging = bool(await transactions.hanging_transactions(client, [transactions.OpenTransaction(key, one)]))
        if execute:
            await transactions.abort_transaction(
                client, key, one.producer_id, one.producer_epoch, one.coordinator_epoch
            )
        return one, is_hanging

    one, is_hanging = cluster.ask(ask)
    what = f"the transaction of producer {one.producer_id} (epoch {one.producer_epoch}) from {start_offset} on"
    say(f"{partition}: {what}: {'aborted' if execute else 'would be aborted; --execute aborts it'}")
    if not is_hanging:
        is_was = "was" if execute else "is"
        say(f"{partition}: its coordinator {is_was} still to end it: it {is_was} not hanging", err=True)


@command.command()
@cluster_options
@click.argument("names", metavar="ID...", nargs=-1, required=True, type=TRANSACTIONAL_ID)
@click.option("--execute", is_flag=True, help="End them; without it they are only shown.")
def terminate(cluster: ClusterSettings, names: tuple[str, ...], execute: bool) -> None:
    """End open transactions, and fence their producers.

    Through their coordinators. Says what it would do; --execute does it.
    """
    from kafkastore.admin import transactions
    from kafkastore.admin.admin_client import KafkaError

    refused: dict[str, KafkaError] = {}
    states: dict[str, str] = {}

    async def ask(client: AdminClient) -> None:
        for name, found in (await transactions.describe_transactions(client, dict.fromkeys(names))).items():
            if isinstance(found, KafkaError):
                refused[name] = found
                continue
            states[name] = found.state
            try:
                if execute:
                    await transactions.force_terminate(client, name)
            except KafkaError as error:
                refused[name] = error

    cluster.ask(ask)
    for name, state in states.items():
        if name not in refused:
            say(f"{name}: {state}: {'ended' if execute else 'would be ended; --execute ends it'}")
    fail_if_refused(refused)
