"""``kafka-transactions``: what is known of transactions and producers; hanging transactions found and aborted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from kafkastore.cli.kafka.flags import int32, int64
from kafkastore.cli.kafka.run import KAFKA_VERSION, ask, say
from kafkastore.cli.kafka.subcommands import Subcommands
from kafkastore.errors import ConfigError, ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Awaitable, Callable, Sequence

    from kafkastore.admin.admin_client import AdminClient, Partition

MINUTE_MS: Final = 60_000
NONE: Final = "None"


def _flags() -> Subcommands:
    parser = Subcommands(
        "kafka-transactions.sh", description="Shows transactions and their producers; finds and aborts hanging ones."
    )
    parser.add_argument("-v", "--version", action="store_true", help="Show Kafka's version that this tool is like.")
    parser.add_argument("--command-config", metavar="FILE", help="A client.properties.")
    parser.add_argument("--bootstrap-server", metavar="host:port", help="Brokers to begin with.")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    listed = commands.add_parser("list", help="List transactions.")
    listed.add_argument("--duration-filter", type=int64, help="Those that run for longer, in ms; -1: all.")
    listed.add_argument("--transactional-id-pattern", help="Those whose id a regular expression matches.")
    described = commands.add_parser("describe", help="Describe the transaction of a transactional id.")
    described.add_argument("--transactional-id", required=True)
    producers = commands.add_parser("describe-producers", help="Describe the producers of a partition.")
    producers.add_argument("--broker-id", type=int32, help="The broker whose replica is asked; the leader's without.")
    producers.add_argument("--topic", required=True)
    producers.add_argument("--partition", type=int32, required=True)
    abort = commands.add_parser("abort", help="Abort a hanging transaction.")
    abort.add_argument("--topic", required=True)
    abort.add_argument("--partition", type=int32, required=True)
    abort.add_argument("--start-offset", type=int64, help="Where it begins: enough for brokers of Kafka 3.0 and later.")
    abort.add_argument("--producer-id", type=int64, help="With the two epochs, for older brokers.")
    abort.add_argument("--producer-epoch", type=int32)
    abort.add_argument("--coordinator-epoch", type=int32)
    hanging = commands.add_parser("find-hanging", help="Find hanging transactions.")
    hanging.add_argument("--broker-id", type=int32, help="The broker to search.")
    hanging.add_argument("--max-transaction-timeout", type=int32, default=15, help="In minutes: older ones alone. [15]")
    hanging.add_argument("--topic", help="The topic to search.")
    hanging.add_argument("--partition", type=int32, help="The partition to search.")
    force = commands.add_parser(FORCE, help="Abort what a transactional id has open, and fence its producer.")
    force.add_argument("--transactionalId", dest="transactional_id", required=True)
    return parser


FORCE: Final = "forceTerminateTransaction"
FLAGS: Final = _flags()


def main(arguments: list[str]) -> int:
    given = FLAGS.read(arguments)
    if given is None:  # after --help: as Kafka's
        return 1
    if given.version:
        say(KAFKA_VERSION)
        return 0
    if given.bootstrap_server is None:
        FLAGS.error("argument --bootstrap-server is required")
    if given.command is None:
        FLAGS.error("too few arguments")
    try:
        ask(given.bootstrap_server, given.command_config, lambda client: _WORK[given.command](client, given))
    except KafkastoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _failed(what: str, error: KafkastoreError) -> ConfigError:
    return ConfigError(f"{what}: {error}. Enable debug logging for additional detail.")


def print_table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in (heads, *cells)) for column in range(len(heads))]
    for row in (heads, *cells):
        say("".join(f"{cell.ljust(width)}\t" for cell, width in zip(row, widths, strict=True)))


async def _list(client: AdminClient, given: Namespace) -> None:
    from kafkastore.admin.transactions import ANY_DURATION, list_transactions

    duration = ANY_DURATION if given.duration_filter is None else given.duration_filter
    try:
        listed = await list_transactions(
            client, min_duration_ms=duration, pattern=given.transactional_id_pattern or None
        )
    except KafkastoreError as error:
        raise _failed("Failed to list transactions", error) from None
    rows = [(one.transactional_id, one.coordinator, one.producer_id, one.state) for one in listed]
    print_table(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), rows)


async def _describe(client: AdminClient, given: Namespace) -> None:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.transactions import describe_transactions
    from kafkastore.cli.times import now_ms

    name = given.transactional_id
    found = (await describe_transactions(client, [name]))[name]
    if isinstance(found, KafkaError):
        raise _failed(f"Failed to describe transaction state of transactional-id `{name}`", found)
    heads = (
        "CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs",
        "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions",
    )  # fmt: skip
    started = NONE if found.start_ms is None else found.start_ms
    duration = NONE if found.start_ms is None else now_ms() - found.start_ms
    partitions = ",".join(f"{topic}-{number}" for topic, number in found.partitions)
    row = (found.coordinator, name, found.producer_id, found.producer_epoch, found.state, found.timeout_ms)
    print_table(heads, [(*row, started, duration, partitions)])


async def _describe_producers(client: AdminClient, given: Namespace) -> None:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.transactions import describe_producers

    key = (given.topic, given.partition)
    broker = given.broker_id
    where = "leader" if broker is None else f"broker {broker}"
    what = f"Failed to describe producers for partition {given.topic}-{given.partition} on {where}"
    try:
        producers = (await describe_producers(client, [key], broker))[key]
    except client.error as error:
        raise _failed(what, error) from None
    if isinstance(producers, KafkaError):
        raise _failed(what, producers)
    heads = (
        "ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
        "CurrentTransactionStartOffset",
    )  # fmt: skip
    print_table(heads, [(*one[:5], NONE if one.start_offset is None else one.start_offset) for one in producers])


async def _abort(client: AdminClient, given: Namespace) -> None:
    from kafkastore.admin.transactions import abort_transaction

    key = (given.topic, given.partition)
    if given.start_offset is not None:
        producer, epoch, coordinator_epoch = await _opened_at(client, key, given.start_offset)
    elif given.producer_id is None:
        raise ConfigError(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
            "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    else:
        producer, epoch, coordinator_epoch = given.producer_id, given.producer_epoch, given.coordinator_epoch
        for name, value in (("--producer-epoch", epoch), ("--coordinator-epoch", coordinator_epoch)):
            if value is None:
                raise ConfigError(f"Missing required argument {name}")
    try:
        await abort_transaction(client, key, producer, epoch, coordinator_epoch)
    except client.error as error:
        spec = (
            f"AbortTransactionSpec(topicPartition={given.topic}-{given.partition}, producerId={producer}, "
            f"producerEpoch={epoch}, coordinatorEpoch={max(coordinator_epoch, 0)})"
        )
        raise _failed(f"Failed to abort transaction {spec}", _refusal(error, spec)) from None


def _refusal(error: KafkastoreError, spec: str) -> KafkastoreError:
    """In the words of Kafka's client."""
    what = {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "failed due to cluster authorization error",
        ErrorCode.INVALID_PRODUCER_EPOCH: "failed due an invalid producer epoch",
    }.get(error.code)
    return error if what is None else ConfigError(f"WriteTxnMarkers request with {spec} {what}")


async def _opened_at(client: AdminClient, key: Partition, start_offset: int) -> tuple[int, int, int]:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.transactions import describe_producers

    topic, number = key
    producers: Any = (await describe_producers(client, [key]))[key]
    if isinstance(producers, KafkaError):
        raise _failed(f"Failed to validate producer state for partition {topic}-{number}", producers)
    for one in producers:
        if one.start_offset == start_offset:
            return one.producer_id, one.producer_epoch, one.coordinator_epoch
    raise ConfigError(
        f"Could not find any open transactions starting at offset {start_offset} on partition {topic}-{number}"
    )


async def _find_hanging(client: AdminClient, given: Namespace) -> None:
    from kafkastore.admin.transactions import hanging_transactions, open_transactions
    from kafkastore.cli.times import now_ms

    if given.topic is None and given.broker_id is None:
        raise ConfigError(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
        )
    if given.partition is not None and given.topic is None:
        raise ConfigError("The --partition argument requires --topic to be provided")
    partitions = await _searched(client, given)
    now = now_ms()
    older_than_ms = given.max_transaction_timeout * MINUTE_MS
    broker = given.broker_id
    try:
        candidates = await open_transactions(client, partitions, older_than_ms=older_than_ms, now_ms=now, broker=broker)
    except client.error as error:
        on = "Optional.empty" if broker is None else f"Optional[{broker}]"
        raise _failed(f"Failed to describe producers for {len(partitions)} partitions on broker {on}", error) from None
    heads = (
        "Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp",
        "Duration(min)",
    )  # fmt: skip
    rows = []
    for (topic, number), one in await hanging_transactions(client, candidates):
        state = (one.producer_id, one.producer_epoch, one.coordinator_epoch, one.start_offset, one.last_timestamp)
        rows.append((topic, number, *state, (now - one.last_timestamp) // MINUTE_MS))
    print_table(heads, rows)


async def _searched(client: AdminClient, given: Namespace) -> list[Partition]:
    from kafkastore.admin.admin_client import KafkaError
    from kafkastore.admin.topics import all_topics, topics_in_metadata

    if given.partition is not None:
        return [(given.topic, given.partition)]
    if given.topic is None:
        topics: Any = await all_topics(client)
    else:
        topics = await topics_in_metadata(client, [given.topic])
        refused = topics[given.topic]
        if isinstance(refused, KafkaError):
            raise _failed("Failed to describe 1 topics", refused)
    return [
        (name, one.number)
        for name, topic in topics.items()
        for one in topic.partitions
        if given.broker_id in (None, *one.replicas)
    ]


async def _force_terminate(client: AdminClient, given: Namespace) -> None:
    from kafkastore.admin.transactions import force_terminate

    name = given.transactional_id
    try:
        await force_terminate(client, name)
    except client.error as error:
        raise _failed(f"Failed to force terminate transactionalId `{name}`", error) from None


_WORK: Final[dict[str, Callable[[AdminClient, Namespace], Awaitable[None]]]] = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    "find-hanging": _find_hanging,
    FORCE: _force_terminate,
}
