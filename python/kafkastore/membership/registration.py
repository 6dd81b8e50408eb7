"""Who this broker is in its cluster: the cluster id, the broker's node, the addresses that it advertises.

The cluster id is generated at the first start and kept in ``/cluster/id`` of the store and in every log directory's
``meta.properties``; a log directory that has one already (Apache Kafka's, or a copied one) hands it on to a new store.
``/brokers/ids/N`` is ephemeral: it is deleted when the session of its broker ends; while it exists, another broker has
the id.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.config.properties import parse_properties
from kafkastore.errors import StartupError
from kafkastore.metadata.kafka_metadata_log import DIRECTORY, metadata_places
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import (
    decode_cluster_id,
    encode_cluster_id,
    new_id,
    topic_id_text,
)
from kafkastore.metadata.store import Create, NodeExistsError, NoNodeError, ancestors
from kafkastore.plain_files import open_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkastore.config import BrokerConfig
    from kafkastore.metadata.store import MetadataStore, Node, WatchEvent

_PERSISTENT = (
    "/admin/delete_topics",
    "/brokers/ids",
    "/brokers/topics",
    "/cluster",
    "/config/brokers",
    "/config/changes",
    "/config/topics",
    "/kafkastore/log_dirs",
    "/log_dir_event_notification",
)
"""The nodes that must be there before anything is written below them."""

TAKEOVER_POLL_S = 0.5

TAKEOVER_LIMIT_S = 20
"""How long a start waits for the ephemeral node of a process that hangs: a little over the session timeout."""


async def agree_on_cluster_id(store: MetadataStore, config: BrokerConfig, make_id: Callable[[], bytes] = new_id) -> str:
    """The cluster id of the store, of the log directories, or a new one; written to the store if it has none. Raises
    StartupError when they differ."""
    await _make_permanent_nodes(store)
    on_disk = {directory: found for directory in config.log_dirs if (found := _cluster_id_of(directory)) is not None}
    stored = None
    if await store.exists("/cluster/id") is not None:
        try:
            stored = decode_cluster_id((await store.get("/cluster/id")).data)
        except InvalidNodeError as error:
            raise StartupError(
                f"/cluster/id of the metadata store is invalid, so nobody can say whose cluster this is: {error}; "
                "write"
                ' {"version":"1","id":"…"} there, with the cluster.id of a log directory\'s meta.properties'
            ) from None
    cluster_id = stored or next(iter(on_disk.values()), None) or topic_id_text(make_id())
    for directory, found in on_disk.items():
        if found != cluster_id:
            raise StartupError(
                f"log.dirs={directory} belongs to cluster {found}, but"
                f" {f'the metadata in {config.metadata_path}' if stored else 'another log directory'} belongs to "
                f"cluster {cluster_id}; give the directories of one cluster"
            )
    if stored is None:
        if _is_kafkas(config) and not config.is_member:
            from kafkastore.membership.kafkas_settings import take_over

            await take_over(store, config)
        try:
            await store.create("/cluster/id", encode_cluster_id(cluster_id))
        except NodeExistsError:  # another broker of a new cluster was faster: its id holds
            return await agree_on_cluster_id(store, config, make_id)
    return cluster_id


async def _make_permanent_nodes(store: MetadataStore) -> None:
    """Creates the missing nodes in one write, since each write is synced."""
    missing: dict[str, None] = {}
    for path in _PERSISTENT:
        missing |= dict.fromkeys([one for one in ancestors(path) if await store.exists(one) is None])
    try:
        await store.multi([Create(path) for path in missing])
    except NodeExistsError:  # another broker of a new cluster was faster with one of them
        for path in _PERSISTENT:
            await store.ensure_path(path)


def _is_kafkas(config: BrokerConfig) -> bool:
    """Whether Kafka has kept its metadata in one of the directories."""
    return any(os.path.isdir(os.path.join(place, DIRECTORY)) for place in metadata_places(config))


def _cluster_id_of(directory: str) -> str | None:
    try:
        with open(os.path.join(directory, "meta.properties"), encoding="utf-8", opener=open_plain) as file:
            return parse_properties(file.read()).get("cluster.id")
    except (OSError, UnicodeDecodeError):  # absent, or unreadable: the engine names the directory and the reason
        return None


async def take(
    store: MetadataStore, path: str, data: bytes, refusal: str, watch: Callable[[WatchEvent], None] | None = None
) -> Node:
    """Creates an ephemeral node and returns it, with ``watch`` on it; while another session has it, waits for that
    session to expire. A node of this session is of an attempt whose answer was lost, or that was made when the session
    had changed: it is in force. Raises StartupError."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + TAKEOVER_LIMIT_S
    while True:
        gone = asyncio.Event()
        try:
            owner = (await store.get(path, _setter(gone))).ephemeral_owner
        except NoNodeError:
            try:
                await store.create(path, data, is_ephemeral=True)
            except NodeExistsError:
                continue
            owner = store.session_id  # looked at below, with the watch
        if owner == store.session_id:
            with suppress(NoNodeError):
                node = await store.get(path, watch)
                if node.ephemeral_owner == store.session_id:  # else the session has ended meanwhile
                    return node
            continue
        if loop.time() >= deadline:
            raise StartupError(f"{refusal}; stop it, or give this one its own node.id and kafkastore.metadata.path")
        await store.poll()
        with suppress(TimeoutError):
            async with asyncio.timeout(TAKEOVER_POLL_S):
                await gone.wait()


def _setter(event: asyncio.Event) -> Callable[[object], None]:
    return lambda _: event.set()


def advertised(config: BrokerConfig, ports: Sequence[int] | None) -> tuple[tuple[str, str, int], ...]:
    """(listener name, host, port) as clients see them; port 0 becomes the port that was bound."""
    bound = {}
    if ports is not None:
        bound = {listener.name: port for listener, port in zip(config.listeners, ports, strict=True)}
    return tuple(
        (listener.name, listener.host, listener.port or bound.get(listener.name, 0))
        for listener in config.advertised_listeners
    )
