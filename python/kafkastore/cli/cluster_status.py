"""``kafkastore cluster status``: the state of a cluster at one moment, as text."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from kafkastore.admin.admin_client import AdminError
from kafkastore.admin.cluster_client import ClusterClient
from kafkastore.admin.mover import Mover

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.admin.cluster_client import ClusterView
    from kafkastore.cli.cluster_options import ClusterSettings

    Key = tuple[str, int]

MIN_ISR = "min.insync.replicas"
SHOWN_PARTITIONS = 20
"""How many partitions of each kind are listed; further ones are only counted."""


def run(cluster: ClusterSettings) -> None:
    text, is_partial = asyncio.run(_status(cluster))
    sys.stdout.write(text)
    if is_partial:
        raise AdminError(
            "the user may not describe the cluster, so topics that it may not describe are not counted; give it "
            "Describe on the cluster and on all topics"
        )


async def _status(cluster: ClusterSettings) -> tuple[str, bool]:
    """What is printed, and whether the user may not see all."""
    client = ClusterClient(cluster.bootstrap_servers, cluster.properties)
    try:
        view = await client.view(is_controller_needed=False)
        topics = sorted({topic for topic, _ in view.partitions})
        minimum = {name: int(value) for name, value in (await client.topic_configs(topics, MIN_ISR)).items()}
        lines = [*_brokers(view), *_health(view, minimum), *_moves(client, view)]
        return "\n".join(lines) + "\n", view.is_partial
    finally:
        await client.aclose()


def _brokers(view: ClusterView) -> Iterable[str]:
    yield f"{'broker':>6}  {'address':<24}{'rack':<10}{'replicas':>9}{'leads':>7}{'bytes':>16}"
    for node, broker in sorted(view.brokers.items()):
        replicas = sum(node in one.replicas for one in view.partitions.values())
        leads = sum(node == one.leader for one in view.partitions.values())
        held = f"{sum(view.held[node].values()):,}" if node in view.held else "no answer"
        mark = "  controller" if node == view.controller else ""
        mark += "  out of service" if node in view.removed else ""
        address = f"{broker.host}:{broker.port}"
        yield f"{node:>6}  {address:<24}{broker.rack or '-':<10}{replicas:>9}{leads:>7}{held:>16}{mark}"
    gone = {node for one in view.partitions.values() for node in one.replicas} - view.brokers.keys()
    for node in sorted(gone):
        replicas = sum(node in one.replicas for one in view.partitions.values())
        mark = f"{'':23}  out of service" if node in view.removed else ""
        yield f"{node:>6}  {'not alive':<24}{'-':<10}{replicas:>9}{mark}"


def _health(view: ClusterView, minimum: Mapping[str, int]) -> Iterable[str]:
    parts = view.partitions
    yield f"partitions: {len(parts)}"
    yield from _listed("under-replicated", [key for key, one in parts.items() if len(one.isr) < len(one.target)])
    under = [key for key, one in parts.items() if len(one.isr) < min(minimum.get(key[0], 1), len(one.replicas))]
    yield from _listed("under min.insync.replicas", under)
    yield from _listed("offline", [key for key, one in parts.items() if one.leader < 0])


def _listed(kind: str, keys: list[Key]) -> Iterable[str]:
    yield f"{kind}: {len(keys)}"
    for topic, number in sorted(keys)[:SHOWN_PARTITIONS]:
        yield f"  {topic}-{number}"
    if len(keys) > SHOWN_PARTITIONS:
        yield f"  and {len(keys) - SHOWN_PARTITIONS} more"


def _moves(client: ClusterClient, view: ClusterView) -> Iterable[str]:
    if view.silence is not None:
        yield f"moving: not known. {view.silence}"
        return
    moving = sorted((key, one) for key, one in view.partitions.items() if one.is_moving)
    progress = Mover(client, view, {}).progress(view)
    left = progress.total_bytes - progress.moved_bytes
    yield f"moving: {len(moving)}" + (f", {left:,} of {progress.total_bytes:,} bytes left" if moving else "")
    for (topic, number), one in moving[:SHOWN_PARTITIONS]:
        yield f"  {topic}-{number} to {list(one.target)}, adding {list(one.adding)}, removing {list(one.removing)}"
    if len(moving) > SHOWN_PARTITIONS:
        yield f"  and {len(moving) - SHOWN_PARTITIONS} more"
