"""Who is the controller: the first to create ``/controller``, under an epoch that no other controller has (spec R2.4).

The ephemeral node and the next epoch are written in one ``multi``, so whoever holds the node in its session knows its epoch
even when the answer to that ``multi`` was lost.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.controller.state_writer import EPOCH_PATH
from kafkastore.metadata.nodes import encode_controller
from kafkastore.metadata.store import (
    BadVersionError,
    Check,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    SetData,
    StoreError,
)

if TYPE_CHECKING:
    from kafkastore.controller.watched_store import WatchedStore
    from kafkastore.metadata.store import MetadataStore, Operation

CONTROLLER_PATH = "/controller"


class Seat(NamedTuple):
    """``holder`` is the controller's node id, -1 when there was none at the time; the rest is set if it is this session."""

    holder: int
    is_mine: bool = False
    epoch: int = 0
    version: int = 0  # of /controller_epoch


async def look(watched: WatchedStore) -> Seat:
    """Who holds the seat. The event ``controller`` tells when that changes."""
    if await watched.exists(CONTROLLER_PATH, "controller") is None:
        return Seat(-1)
    try:
        node = await watched.store.get(CONTROLLER_PATH)
        holder = int(json.loads(node.data)["brokerid"])
        if node.ephemeral_owner != watched.store.session_id:
            return Seat(holder)
        epoch = await watched.store.get(EPOCH_PATH)
    except NoNodeError:  # gone meanwhile, which the watch tells
        return Seat(-1)
    return Seat(holder, True, int(epoch.data), epoch.version)


async def run(store: MetadataStore, node_id: int, now_ms: int) -> None:
    """Takes the seat if nobody has it; :func:`look` says whether it was taken."""
    next_epoch: Operation = Create(EPOCH_PATH, b"1")
    with suppress(NoNodeError):
        before = await store.get(EPOCH_PATH)
        next_epoch = SetData(EPOCH_PATH, str(int(before.data) + 1).encode(), before.version)
    with suppress(NodeExistsError, BadVersionError):  # somebody was faster
        seat = Create(CONTROLLER_PATH, encode_controller(node_id, now_ms), is_ephemeral=True)
        await store.multi([seat, next_epoch])


async def depose(store: MetadataStore, node_id: int) -> None:
    """Takes the seat from ``node_id``, whose process is gone; not from whoever has been elected meanwhile."""
    with suppress(NoNodeError, BadVersionError):
        epoch = await store.get(EPOCH_PATH)  # first: an election between the reads has another version
        holder = int(json.loads((await store.get(CONTROLLER_PATH)).data)["brokerid"])
        if holder == node_id:
            await store.multi([Check(EPOCH_PATH, epoch.version), Delete(CONTROLLER_PATH)])


async def leave(store: MetadataStore, version: int) -> None:
    """Gives the seat up, if it is still held in the term of ``version``; the others need not wait for the session's end."""
    with suppress(StoreError):
        await store.multi([Check(EPOCH_PATH, version), Delete(CONTROLLER_PATH)])
