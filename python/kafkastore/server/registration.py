"""Who this broker is in its cluster: the cluster id, the broker's node, the controller's.

The cluster id is generated at the first start and kept in ``/cluster/id`` of the store and in every log directory's
``meta.properties``; a log directory that has one already (Apache Kafka's, or a copied one) hands it on to a new store.
``/brokers/ids/N`` and ``/controller`` are ephemeral: they go with the process, and a live holder is another broker.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.config.properties import parse_properties
from kafkastore.controller import campaign
from kafkastore.errors import StartupError
from kafkastore.metadata.image import BrokerImage
from kafkastore.metadata.nodes import (
    decode_cluster_id,
    encode_broker,
    encode_cluster_id,
    encode_controller,
    new_id,
    topic_id_text,
)
from kafkastore.metadata.nonsense import NonsenseError
from kafkastore.metadata.store import Create, NodeExistsError, SetData

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.store import MetadataStore
    from kafkastore.server.context import BrokerServices

_PERSISTENT = (
    "/admin/delete_topics",
    "/brokers/ids",
    "/brokers/topics",
    "/cluster",
    "/config/brokers",
    "/config/changes",
    "/config/topics",
    "/log_dir_event_notification",
)
"""The nodes that must be there before anything is written below them."""

TAKEOVER_POLL_S = 0.5

TAKEOVER_LIMIT_S = 20
"""How long a start waits for the ephemeral node of a process that hangs: a little over the session timeout."""


async def agree_on_cluster_id(store: MetadataStore, config: BrokerConfig) -> str:
    """The cluster id of the store, of the log directories, or a new one; written to the store if it has none. Raises
    StartupError when they differ."""
    for path in _PERSISTENT:
        await store.ensure_path(path)
    on_disk = {directory: found for directory in config.log_dirs if (found := _cluster_id_of(directory)) is not None}
    stored = None
    if await store.exists("/cluster/id") is not None:
        try:
            stored = decode_cluster_id((await store.get("/cluster/id")).data)
        except NonsenseError as error:
            raise StartupError(
                f"/cluster/id of the metadata store is nonsense, so nobody can say whose cluster this is: {error}; write"
                ' {"version":"1","id":"…"} there, with the cluster.id of a log directory\'s meta.properties'
            ) from None
    cluster_id = stored or next(iter(on_disk.values()), None) or topic_id_text(new_id())
    for directory, found in on_disk.items():
        if found != cluster_id:
            raise StartupError(
                f"log.dirs={directory} belongs to cluster {found}, but"
                f" {f'the metadata in {config.metadata_path}' if stored else 'another log directory'} belongs to cluster"
                f" {cluster_id}; give the directories of one cluster"
            )
    if stored is None:
        try:
            await store.create("/cluster/id", encode_cluster_id(cluster_id))
        except NodeExistsError:  # another broker of a new cluster was faster: its id holds
            return await agree_on_cluster_id(store, config)
    return cluster_id


def _cluster_id_of(directory: str) -> str | None:
    try:
        with open(os.path.join(directory, "meta.properties"), encoding="utf-8") as file:
            return parse_properties(file.read()).get("cluster.id")
    except (OSError, UnicodeDecodeError):  # absent, or unreadable: the engine names the directory and the reason
        return None


async def register(broker: BrokerServices, ports: Sequence[int] | None = None) -> None:
    """Puts this broker and, there being one broker, itself as the controller into the store and the image."""
    me = BrokerImage(broker.node_id, broker.config.rack, advertised(broker.config, ports))
    protocols = {listener.name: listener.protocol for listener in broker.config.listeners}
    data = encode_broker(me, protocols, broker.now_ms())
    path = f"/brokers/ids/{broker.node_id}"
    if ports is not None:  # registered before, now with the ports that the system chose
        await broker.store.set(path, data)
    else:
        await take(broker, path, data, f"node.id={broker.node_id} is in use by another running broker of this cluster")
        await _become_controller(broker)
    broker.image.brokers[broker.node_id] = me


async def _become_controller(broker: BrokerServices) -> None:
    epoch = 1
    store = broker.store
    if await store.exists("/controller_epoch") is not None:
        epoch = await campaign.next_epoch(store, await store.get("/controller_epoch"))
        await store.multi([SetData("/controller_epoch", str(epoch).encode())])
    else:
        await store.multi([Create("/controller_epoch", str(epoch).encode())])
    data = encode_controller(broker.node_id, broker.now_ms())
    await take(broker, "/controller", data, "another running broker is the controller of this metadata store")
    broker.image.controller_id = broker.node_id
    broker.image.controller_epoch = epoch


async def take(broker: BrokerServices, path: str, data: bytes, refusal: str) -> None:
    """Creates an ephemeral node; waits for the session of a process that hangs to expire."""
    deadline = broker.loop.time() + TAKEOVER_LIMIT_S
    while True:
        gone = asyncio.Event()
        if await broker.store.exists(path, _setter(gone)) is None:
            try:
                await broker.store.create(path, data, is_ephemeral=True)
            except NodeExistsError:
                continue
            return
        if broker.loop.time() >= deadline:
            raise StartupError(f"{refusal}; stop it, or give this one its own node.id and kafkastore.metadata.path")
        await broker.store.poll()
        with suppress(TimeoutError):
            await asyncio.wait_for(gone.wait(), TAKEOVER_POLL_S)


def _setter(event: asyncio.Event) -> Callable[[object], None]:
    return lambda _: event.set()


def advertised(config: BrokerConfig, ports: Sequence[int] | None) -> tuple[tuple[str, str, int], ...]:
    """(listener name, host, port) as clients are told; port 0 becomes the port that was bound."""
    bound = {}
    if ports is not None:
        bound = {listener.name: port for listener, port in zip(config.listeners, ports, strict=True)}
    return tuple(
        (listener.name, listener.host, listener.port or bound.get(listener.name, 0))
        for listener in config.advertised_listeners
    )
