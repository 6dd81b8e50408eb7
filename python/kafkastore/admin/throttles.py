"""Holds moves to a rate: the configuration that KIP-73 names, set when a move is asked for and taken away when it is
done.

As Apache Kafka's kafka-reassign-partitions does: the rate on every broker that is alive, on both sides, and in each
topic the replicas that are copied from and to. What others have set there is replaced. A broker keeps its rate when it
restarts; one that was away, and only a broker itself takes its configuration, gets it when it is back.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.admin.cluster_client import KNOWN_LIMIT_S, KNOWN_POLL_S, AdminError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.admin.cluster_client import ClusterClient, View

    Key = tuple[str, int]

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


async def set_throttles(client: ClusterClient, view: View, added: Mapping[Key, Iterable[int]], rate: int) -> None:
    """``added`` are the brokers that get a replica of each partition. What is asked for next is held to the rate from
    its first byte: every broker knows of it when this returns, but for those that do not say so within
    :data:`KNOWN_LIMIT_S`. Raises AdminError."""
    await set_rates(client, view.brokers, rate)
    wanted = {}
    for topic in sorted({topic for topic, _ in added}):
        of_topic = {number: set(nodes) for (name, number), nodes in sorted(added.items()) if name == topic}
        copied_from = [
            f"{number}:{node}"
            for number, nodes in of_topic.items()
            for node in view.partitions[topic, number].replicas
            if node not in nodes
        ]
        copied_to = [f"{number}:{node}" for number, nodes in of_topic.items() for node in sorted(nodes)]
        wanted[topic] = ",".join(copied_to)
        await client.alter_configs({LEADERS: ",".join(copied_from), FOLLOWERS: wanted[topic]}, topic=topic)
    await asyncio.gather(*(_wait_until_known(client, node, wanted) for node in view.brokers))


async def _wait_until_known(client: ClusterClient, node: int, followers: Mapping[str, str]) -> None:
    with suppress(TimeoutError, AdminError):
        async with asyncio.timeout(KNOWN_LIMIT_S):
            known: Mapping[str, str] = {}
            while known != followers:
                await asyncio.sleep(KNOWN_POLL_S)
                known = await client.topic_configs(sorted(followers), FOLLOWERS, node)


async def set_rates(client: ClusterClient, nodes: Iterable[int], rate: int) -> None:
    """Of brokers that are alive. Raises AdminError."""
    for node in nodes:
        await client.alter_configs(dict.fromkeys(RATES, str(rate)), broker=node)


async def clear_throttles(
    client: ClusterClient, view: View, topics: Iterable[str], throttled: Iterable[int] = ()
) -> list[int]:
    """Of these topics, as far as they are there, and of every broker. The brokers that do not answer, and of
    ``throttled``, those that have a rate, who is gone."""
    silent = [node for node in throttled if node not in view.brokers]
    for node in view.brokers:
        try:
            await client.alter_configs(dict.fromkeys(RATES), broker=node)
        except AdminError:
            silent.append(node)
    known = {topic for topic, _ in view.partitions}
    for topic in sorted(known.intersection(topics)):
        await client.alter_configs({LEADERS: None, FOLLOWERS: None}, topic=topic)
    return silent
