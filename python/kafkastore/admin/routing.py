"""Questions about several things at once, each of which one broker answers: the leader of a partition, the coordinator
of a group or of a transactional id. The brokers are asked at the same time, a request for each; what is refused with an
error that passes, and what a broker that is gone leaves unanswered, is asked again of the broker that is found then.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kafkastore.admin.admin_client import KafkaError, refusals
from kafkastore.admin.topics import topics_in_metadata
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from kafkastore.admin.admin_client import AdminClient, Partition
    from kafkastore.interbroker.cluster import Fields

K = TypeVar("K")


class Row(Protocol):
    """Of an answer: what it says of one thing."""

    error_code: int


async def ask_leaders(
    client: AdminClient,
    partitions: Iterable[Partition],
    ask: Callable[[int, list[Partition]], Awaitable[Mapping[Partition, Any]]],
) -> dict[Partition, Any]:
    """What the leader of each partition says of it, or a KafkaError. ``ask`` returns one broker's rows."""
    return await _routed(client, partitions, lambda asked: leaders(client, asked), ask)


async def ask_coordinators(
    client: AdminClient,
    kind: int,
    names: Iterable[str],
    ask: Callable[[int, list[str]], Awaitable[Mapping[str, Any]]],
) -> dict[str, Any]:
    """What the coordinator of each group, or transactional id, says of it, or a KafkaError."""
    return await _routed(client, names, lambda asked: client.coordinators(kind, asked), ask)


async def ask_every_broker(client: AdminClient, api: str, fields: Fields, *, lowest: int = 0) -> dict[int, Any]:
    """The answers of all brokers that are alive. Raises AdminError when no server answers, and KafkaError, one that
    passes when a broker does not answer: it may be gone, and its groups and transactions with the others soon."""
    nodes = sorted((await client.cluster()).brokers)
    try:
        return await client.of_every_broker(api, fields, nodes, lowest=lowest)
    except KafkaError:
        raise
    except client.error as error:
        raise KafkaError(ErrorCode.NETWORK_EXCEPTION, error.client_message) from None


async def leaders(client: AdminClient, partitions: Sequence[Partition]) -> dict[Partition, int | KafkaError]:
    """The broker that leads each partition, or why there is none."""
    described = await topics_in_metadata(client, sorted({topic for topic, _ in partitions}))
    found: dict[Partition, int | KafkaError] = {}
    for topic, number in partitions:
        of_topic = described.get(topic) or KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if isinstance(of_topic, KafkaError):
            found[topic, number] = of_topic
            continue
        leader = next((one.leader for one in of_topic.partitions if one.number == number), None)
        if leader is None:
            found[topic, number] = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            found[topic, number] = KafkaError(ErrorCode.LEADER_NOT_AVAILABLE) if leader < 0 else leader
    return found


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    """Partitions as requests have them: the numbers of each topic."""
    found: dict[str, list[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, []).append(number)
    return found


async def _routed(
    client: AdminClient,
    keys: Iterable[K],
    places: Callable[[list[K]], Awaitable[Mapping[K, int | KafkaError]]],
    ask: Callable[[int, list[K]], Awaitable[Mapping[K, Row]]],
) -> dict[K, Any]:
    found: dict[K, Any] = {}

    async def attempt(asked: list[K]) -> dict[K, KafkaError]:
        placed = await places(asked)
        refused = {key: place for key, place in placed.items() if isinstance(place, KafkaError)}
        by_node: dict[int, list[K]] = {}
        for key, place in placed.items():
            if not isinstance(place, KafkaError):
                by_node.setdefault(place, []).append(key)
        for rows in await asyncio.gather(*(_answered(client, ask, node, some) for node, some in by_node.items())):
            found.update(rows)
            refused |= refusals((key, row) for key, row in rows.items() if not isinstance(row, KafkaError))
            refused |= {key: row for key, row in rows.items() if isinstance(row, KafkaError)}
        return refused

    refused = await client.settled(keys, attempt)
    return {**found, **refused}


async def _answered(
    client: AdminClient, ask: Callable[[int, list[K]], Awaitable[Mapping[K, Any]]], node: int, keys: list[K]
) -> Mapping[K, Any]:
    try:
        return await ask(node, keys)
    except KafkaError:
        raise
    except client.error as error:  # the broker is gone: another one may have its place soon
        return {key: KafkaError(ErrorCode.NETWORK_EXCEPTION, error.client_message) for key in keys}
