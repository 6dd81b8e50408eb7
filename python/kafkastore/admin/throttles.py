"""Limits moves to a rate: sets the configurations of KIP-73 before a move begins, and removes them when it is done.

Sets them as Apache Kafka's kafka-reassign-partitions.sh does: the leader's and the follower's rate on every broker that
is alive, and in each topic the replicas that are copied from and to. Other values of these configurations are replaced.
A broker keeps its rate when it restarts. A broker that was not alive gets its rate when it is back, because a broker's
configuration can only be changed by a request to the broker itself.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.admin.admin_client import AdminError
from kafkastore.admin.cluster_client import KNOWN_LIMIT_S, KNOWN_POLL_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.admin.cluster_client import ClusterClient, ClusterView

    Key = tuple[str, int]

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LEADERS, FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


async def set_throttles(
    client: ClusterClient, view: ClusterView, added: Mapping[Key, Iterable[int]], rate: int
) -> None:
    """Sets the rates and the throttled replicas; ``added`` are the brokers that get a replica of each partition. A move
    that begins afterwards is limited from its first byte: when this returns, every broker knows the configurations,
    except brokers that did not confirm them within :data:`KNOWN_LIMIT_S`. Raises AdminError."""
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
    """Sets the rates of brokers that are alive. Raises AdminError."""
    for node in nodes:
        await client.alter_configs(dict.fromkeys(RATES, str(rate)), broker=node)


async def clear_throttles(
    client: ClusterClient, view: ClusterView, topics: Iterable[str], throttled: Iterable[int] = ()
) -> list[int]:
    """Removes the throttled replicas of the topics that still exist, and the rates of every broker that is alive.
    Returns the brokers that do not answer, and the brokers of ``throttled``, which have a rate, that are not alive."""
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
