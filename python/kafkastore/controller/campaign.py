"""The election of the controller: the first broker to create ``/controller``, under a unique epoch.

The ephemeral node and the next epoch are written in one ``multi``, so the broker whose session owns the node knows its
epoch even when the answer to that ``multi`` was lost.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

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
LEAVE_LIMIT_S: Final = 2.0

NOBODY, UNKNOWN = -1, -2
"""In place of a node id. UNKNOWN: there is a controller, but its node is invalid and does not name it."""


class ControllerSeat(NamedTuple):
    """The state of ``/controller``. ``holder`` is the controller's node id, NOBODY when there was no controller,
    UNKNOWN when the node is invalid; the other fields are set when this session owns the node."""

    holder: int
    is_mine: bool = False
    epoch: int = 0
    version: int = 0  # of /controller_epoch


async def look(watched: WatchedStore) -> ControllerSeat:
    """Reads which broker is the controller. The event ``controller`` fires when that changes. When this session owns
    ``/controller`` but the epoch node is absent or invalid, deletes ``/controller`` and returns NOBODY."""
    store = watched.store
    if await watched.exists(CONTROLLER_PATH, "controller") is None:
        return ControllerSeat(NOBODY)
    try:
        node = await store.get(CONTROLLER_PATH)
    except NoNodeError:  # the node was deleted meanwhile; its watch fires
        return ControllerSeat(NOBODY)
    try:
        holder = decode_controller(node.data)
    except InvalidNodeError as error:
        report(CONTROLLER_PATH, "nobody can say who the controller is", error)
        holder = UNKNOWN
    if node.ephemeral_owner != store.session_id:
        return ControllerSeat(holder)
    try:
        epoch = await store.get(EPOCH_PATH)
        return ControllerSeat(holder, True, decode_controller_epoch(epoch.data, epoch.version), epoch.version)
    except (NoNodeError, InvalidNodeError) as error:
        report(EPOCH_PATH, "there will be another controller", error)
    with suppress(NoNodeError):
        await store.delete(CONTROLLER_PATH)
    return ControllerSeat(NOBODY)


async def run(store: MetadataStore, stored: StoredTopics, node_id: int, now_ms: int) -> None:
    """Tries to become the controller when there is none; :func:`look` says whether it succeeded."""
    before: Node | None = None
    with suppress(NoNodeError):
        before = await store.get(EPOCH_PATH)
    epoch = str(await next_epoch(stored, before)).encode()
    change: Operation = Create(EPOCH_PATH, epoch) if before is None else SetData(EPOCH_PATH, epoch, before.version)
    with suppress(NodeExistsError, BadVersionError):  # another broker was faster
        seat = Create(CONTROLLER_PATH, encode_controller(node_id, now_ms), is_ephemeral=True)
        await store.multi([seat, change])


async def next_epoch(stored: StoredTopics, before: Node | None) -> int:
    """An epoch higher than that of any earlier controller: one more than ``/controller_epoch``. When that node is
    invalid, absent or was created anew, one more than the highest of the node's version and the controller epochs in
    the partition states."""
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
    """Writes this broker's node id into ``/controller`` again, which this session owns."""
    with suppress(NoNodeError):  # the node was deleted meanwhile; its watch fires
        await store.set(CONTROLLER_PATH, encode_controller(node_id, now_ms))


async def depose(store: MetadataStore, node_id: int) -> None:
    """Deletes ``/controller`` when it names ``node_id``, whose process is gone. A controller that was elected meanwhile
    stays."""
    with suppress(NoNodeError, BadVersionError, InvalidNodeError):
        epoch = await store.get(EPOCH_PATH)  # read first: an election between the two reads changes this version
        holder = decode_controller((await store.get(CONTROLLER_PATH)).data)
        if holder == node_id:
            await store.multi([Check(EPOCH_PATH, epoch.version), Delete(CONTROLLER_PATH)])


async def leave(store: MetadataStore, version: int) -> None:
    """Deletes ``/controller`` if ``/controller_epoch`` still has ``version``, so that the other brokers need not wait
    for the end of this session. Gives up after :data:`LEAVE_LIMIT_S`, when the store is away."""
    with suppress(StoreError, TimeoutError):
        async with asyncio.timeout(LEAVE_LIMIT_S):
            await store.multi([Check(EPOCH_PATH, version), Delete(CONTROLLER_PATH)])
