"""Transactions: what coordinators know of them, what producers have open in partitions, and ending them.

A transaction hangs when it is open in a partition and no coordinator knows of it any more: nobody will end it, and no
consumer of committed records gets past it (KIP-664).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.admin_client import TRANSACTION_KEY, WORK_MS, KafkaError, check, refusals
from kafkastore.admin.routing import ask_coordinators, ask_every_broker, ask_leaders, by_topic
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition

DURATION_SINCE: Final = 1
PATTERN_SINCE: Final = 2
"""Versions of ListTransactions."""
ANY_DURATION: Final = -1
NO_OFFSET: Final = -1
AT_ONCE: Final = 500
"""The most partitions in one DescribeProducers request."""


class ListedTransaction(NamedTuple):
    """``coordinator``: a broker."""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


class TransactionDescription(NamedTuple):
    """``start_ms`` is None while no transaction is open."""

    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_ms: int | None
    partitions: tuple[Partition, ...]
    error_code: int = ErrorCode.NONE


class ProducerState(NamedTuple):
    """A producer as a partition knows it. ``start_offset``: of the transaction that it has open there, None without
    one. ``coordinator_epoch`` is -1 while no transaction of its has ended there."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    last_sequence: int
    last_timestamp: int
    start_offset: int | None


class OpenTransaction(NamedTuple):
    partition: Partition
    producer: ProducerState


async def list_transactions(
    client: AdminClient,
    *,
    states: Collection[str] = (),
    producer_ids: Collection[int] = (),
    min_duration_ms: int = ANY_DURATION,
    pattern: str | None = None,
) -> list[ListedTransaction]:
    """The transactions that the user may describe, by coordinator and id. ``pattern``: a regular expression of RE2 that
    the whole id must match. Raises UnsupportedApiError where a broker cannot choose so."""
    lowest = PATTERN_SINCE if pattern else DURATION_SINCE if min_duration_ms >= 0 else 0

    def fields(version: int) -> dict[str, Any]:
        duration = {"duration_filter": min_duration_ms} if version >= DURATION_SINCE else {}
        matched = {"transactional_id_pattern": pattern} if version >= PATTERN_SINCE else {}
        return {
            "state_filters": tuple(states),
            "producer_id_filters": tuple(producer_ids),
            **duration,
            **matched,
        }

    async def attempt() -> list[ListedTransaction]:
        found = []
        for node, answer in (await ask_every_broker(client, "ListTransactions", fields, lowest=lowest)).items():
            check(answer)
            found += [
                ListedTransaction(row.transactional_id, node, row.producer_id, row.transaction_state)
                for row in answer.transaction_states
            ]
        return sorted(found, key=lambda one: (one.coordinator, one.transactional_id))

    return await client.until_done(attempt)


async def describe_transactions(
    client: AdminClient, names: Iterable[str]
) -> dict[str, TransactionDescription | KafkaError]:
    """What the coordinator of each transactional id knows of it."""

    async def ask(node: int, asked: list[str]) -> Mapping[str, Any]:
        answer = await client.ask_broker(node, "DescribeTransactions", {"transactional_ids": tuple(asked)})
        return {row.transactional_id: _described(node, row) for row in answer.transaction_states}

    return await ask_coordinators(client, TRANSACTION_KEY, names, ask)


def _described(node: int, row: Any) -> TransactionDescription:
    return TransactionDescription(
        row.transactional_id,
        node,
        row.producer_id,
        row.producer_epoch,
        row.transaction_state,
        row.transaction_timeout_ms,
        row.transaction_start_time_ms if row.transaction_start_time_ms >= 0 else None,
        tuple((topic.topic, number) for topic in row.topics for number in topic.partitions),
        row.error_code,
    )


async def describe_producers(
    client: AdminClient, partitions: Collection[Partition], broker: int | None = None
) -> dict[Partition, list[ProducerState] | KafkaError]:
    """The producers that each partition knows: its leader's, or those of the replica on one broker."""
    found: dict[Partition, list[ProducerState] | KafkaError] = {}
    keys = list(partitions)

    async def ask(node: int, asked: list[Partition]) -> Mapping[Partition, Any]:
        topics = [{"name": topic, "partition_indexes": tuple(numbers)} for topic, numbers in by_topic(asked).items()]
        answer = await client.ask_broker(node, "DescribeProducers", {"topics": topics})
        return {(topic.name, row.partition_index): row for topic in answer.topics for row in topic.partitions}

    for start in range(0, len(keys), AT_ONCE):
        some = keys[start : start + AT_ONCE]
        if broker is None:
            rows: Mapping[Partition, Any] = await ask_leaders(client, some, ask)
        else:
            rows = await ask(broker, some)
            rows = {**rows, **refusals(rows.items())}
        found |= {key: row if isinstance(row, KafkaError) else _producers(row) for key, row in rows.items()}
    return found


def _producers(row: Any) -> list[ProducerState]:
    return [
        ProducerState(
            one.producer_id,
            one.producer_epoch,
            one.coordinator_epoch,
            one.last_sequence,
            one.last_timestamp,
            None if one.current_txn_start_offset == NO_OFFSET else one.current_txn_start_offset,
        )
        for one in row.active_producers
    ]


async def open_transactions(
    client: AdminClient,
    partitions: Collection[Partition],
    *,
    older_than_ms: int,
    now_ms: int,
    broker: int | None = None,
) -> list[OpenTransaction]:
    """The transactions that are open in these partitions and whose last record is older. Raises KafkaError."""
    found = []
    for key, producers in (await describe_producers(client, partitions, broker)).items():
        if isinstance(producers, KafkaError):
            raise producers
        found += [
            OpenTransaction(key, one)
            for one in producers
            if one.start_offset is not None and now_ms - one.last_timestamp > older_than_ms
        ]
    return found


async def hanging_transactions(client: AdminClient, candidates: Collection[OpenTransaction]) -> list[OpenTransaction]:
    """Those of the open transactions that no coordinator will end. Raises KafkaError."""
    if not candidates:
        return []
    listed = await list_transactions(client, producer_ids=sorted({one.producer.producer_id for one in candidates}))
    names = {one.producer_id: one.transactional_id for one in listed}
    described = await describe_transactions(client, set(names.values()))
    for refusal in described.values():
        if isinstance(refusal, KafkaError) and refusal.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise refusal
    found = []
    for one in candidates:
        description = described.get(names.get(one.producer.producer_id, ""))
        is_known = isinstance(description, TransactionDescription) and one.partition in description.partitions
        if not is_known:
            found.append(one)
    return found


async def abort_transaction(
    client: AdminClient, partition: Partition, producer_id: int, producer_epoch: int, coordinator_epoch: int
) -> None:
    """Writes the marker that aborts what a producer has open in a partition, past its coordinator. Raises
    KafkaError."""
    topic, number = partition
    marker = {
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
        "transaction_result": False,
        "topics": [{"name": topic, "partition_indexes": (number,)}],
        "coordinator_epoch": max(coordinator_epoch, 0),  # -1, of a producer's first transaction, would be refused
    }

    async def ask(node: int, _: list[Partition]) -> Mapping[Partition, Any]:
        answer = await client.ask_broker(node, "WriteTxnMarkers", {"markers": [marker]}, timeout_ms=WORK_MS)
        return {
            (of_topic.name, row.partition_index): row
            for one in answer.markers
            for of_topic in one.topics
            for row in of_topic.partitions
        }

    answer = (await ask_leaders(client, [partition], ask))[partition]
    if isinstance(answer, KafkaError):
        raise answer


async def force_terminate(client: AdminClient, transactional_id: str) -> None:
    """Ends the transaction that a transactional id has open and fences its producer, through the coordinator (KIP-939).
    Raises KafkaError."""

    async def ask(node: int, asked: list[str]) -> Mapping[str, Any]:
        fields = {"transactional_id": asked[0], "transaction_timeout_ms": WORK_MS}
        return {asked[0]: await client.ask_broker(node, "InitProducerId", fields)}

    answer = (await ask_coordinators(client, TRANSACTION_KEY, [transactional_id], ask))[transactional_id]
    if isinstance(answer, KafkaError):
        raise answer
