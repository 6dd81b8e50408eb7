"""Who is the controller: the first to create ``/controller``, under an epoch that no other controller has (spec R2.4).

The ephemeral node and the next epoch are written in one ``multi``, so whoever holds the node in its session knows its
epoch even when the answer to that ``multi`` was lost.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.controller.state_writer import EPOCH_PATH
from kafkastore.metadata.node_content import InvalidNodeError, report
from kafkastore.metadata.nodes import decode_controller, decode_controller_epoch, encode_controller
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
    from kafkastore.metadata.store import MetadataStore, Node, Operation
    from kafkastore.metadata.stored_topics import StoredTopics

CONTROLLER_PATH = "/controller"


NOBODY, UNKNOWN = -1, -2
"""In place of a node id; the second when somebody is there and the node does not say who."""


class Seat(NamedTuple):
    """``holder`` is the controller's node id, NOBODY when there was none at the time; the rest is set if it is this
    session."""

    holder: int
    is_mine: bool = False
    epoch: int = 0
    version: int = 0  # of /controller_epoch


async def look(watched: WatchedStore) -> Seat:
    """Who holds the seat. The event ``controller`` tells when that changes. Its own seat without an epoch is given
    up."""
    store = watched.store
    if await watched.exists(CONTROLLER_PATH, "controller") is None:
        return Seat(NOBODY)
    try:
        node = await store.get(CONTROLLER_PATH)
    except NoNodeError:  # gone meanwhile, which the watch tells
        return Seat(NOBODY)
    try:
        holder = decode_controller(node.data)
    except InvalidNodeError as error:
        report(CONTROLLER_PATH, "nobody can say who the controller is", error)
        holder = UNKNOWN
    if node.ephemeral_owner != store.session_id:
        return Seat(holder)
    try:
        epoch = await store.get(EPOCH_PATH)
        return Seat(holder, True, decode_controller_epoch(epoch.data, epoch.version), epoch.version)
    except (NoNodeError, InvalidNodeError) as error:
        report(EPOCH_PATH, "there will be another controller", error)
    with suppress(NoNodeError):
        await store.delete(CONTROLLER_PATH)
    return Seat(NOBODY)


async def run(store: MetadataStore, stored: StoredTopics, node_id: int, now_ms: int) -> None:
    """Takes the seat if nobody has it; :func:`look` says whether it was taken."""
    before: Node | None = None
    with suppress(NoNodeError):
        before = await store.get(EPOCH_PATH)
    epoch = str(await next_epoch(stored, before)).encode()
    change: Operation = Create(EPOCH_PATH, epoch) if before is None else SetData(EPOCH_PATH, epoch, before.version)
    with suppress(NodeExistsError, BadVersionError):  # somebody was faster
        seat = Create(CONTROLLER_PATH, encode_controller(node_id, now_ms), is_ephemeral=True)
        await store.multi([seat, change])


async def next_epoch(stored: StoredTopics, before: Node | None) -> int:
    """Higher than that of any controller. What ``/controller_epoch`` says if it can be read; when it cannot, or was
    made anew, what the states of partitions and the number of its changes tell."""
    highest = 0
    if before is not None:
        highest = before.version
        try:
            highest = decode_controller_epoch(before.data, before.version)
        except InvalidNodeError as error:
            report(EPOCH_PATH, "the highest epoch is looked for in the states", error)
        else:
            if before.version > 0:
                return highest + 1
    return max(highest, await stored.highest_epoch()) + 1


async def sign(store: MetadataStore, node_id: int, now_ms: int) -> None:
    """Writes again who holds the seat, which this session does."""
    with suppress(NoNodeError):  # gone meanwhile, which the watch tells
        await store.set(CONTROLLER_PATH, encode_controller(node_id, now_ms))


async def depose(store: MetadataStore, node_id: int) -> None:
    """Takes the seat from ``node_id``, whose process is gone; not from whoever has been elected meanwhile."""
    with suppress(NoNodeError, BadVersionError, InvalidNodeError):
        epoch = await store.get(EPOCH_PATH)  # first: an election between the reads has another version
        holder = decode_controller((await store.get(CONTROLLER_PATH)).data)
        if holder == node_id:
            await store.multi([Check(EPOCH_PATH, epoch.version), Delete(CONTROLLER_PATH)])


async def leave(store: MetadataStore, version: int) -> None:
    """Gives the seat up, if it is still held in the term of ``version``; the others need not wait for the session's
    end."""
    with suppress(StoreError):
        await store.multi([Check(EPOCH_PATH, version), Delete(CONTROLLER_PATH)])
