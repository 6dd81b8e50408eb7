"""Reassignments and elections that are asked for by a node of the store, as Kafka's tools up to 2.x do.

``/admin/reassign_partitions``
    An entry that cannot be carried out is named in one line of the log and removed from the node. The other entries
    begin as if AlterPartitionReassignments had asked for them. An entry that is complete, cancelled or replaced is
    removed. The node is deleted with its last entry; then the next one may be written.
``/admin/preferred_replica_election``
    The elections that are possible are held at once, and the node is deleted.

A node says which reassignments begin, not which are under way: those go on from the topic's node (``reassignment.py``).
So an administrator who deletes or corrupts the node ends nothing, and a node that a crash left behind restarts nothing
that is under way or complete. The last request for a partition counts, by node or by API, as in Kafka since 2.4.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.controller import elections, reassignment
from kafkastore.errors import ErrorCode
from kafkastore.metadata.admin_nodes import (
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    decode_elections,
    decode_reassignments,
    encode_reassignments,
)
from kafkastore.metadata.store import BadVersionError, NoNodeError, SetData

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore.controller.context import ControllerContext
    from kafkastore.controller.term import Term
    from kafkastore.errors import KafkastoreError
    from kafkastore.metadata.store import Node

    Key = tuple[str, int]

logger = logging.getLogger("kafkastore.controller.admin_nodes")

SHOWN_FAULTS = 10
"""The most faults that one log line names for a node."""

_NOT_ELECTED = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "there is no such partition",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "its preferred replica is not in sync or not alive",
}


class ReassignNode:
    """The reassignments in ``/admin/reassign_partitions`` that this controller has begun: the node's version, and the
    target of each (topic, partition)."""

    def __init__(self, version: int, requested: dict[Key, tuple[int, ...]]) -> None:
        self.version = version
        self.asked = requested


# ---- reassignments
async def on_reassignments(term: Term) -> None:
    """Runs when the node was created, deleted or changed, and when this broker has become the controller."""
    term.context.reassign_node = None
    node = await _read(term, REASSIGN_PARTITIONS, "reassignments")
    if node is None:
        return
    requested, faults = decode_reassignments(node.data)
    await term.refresh_settings()
    new = {key: target for key, target in requested.items() if not _is_under_way(term.context, key, target)}
    outcomes, changes = await reassignment.judge(term, new, allows_factor_change=True)
    refused = {key: error for key, error in outcomes.items() if error is not None}
    faults += [f"{topic}-{number}: {error.client_message}" for (topic, number), error in refused.items()]
    _warn(REASSIGN_PARTITIONS, faults)
    await reassignment.begin(term, changes)
    kept = {key: target for key, target in requested.items() if key not in refused}
    term.context.reassign_node = ReassignNode(node.version, kept)
    await settle_reassignments(term, must_write=bool(faults))


async def settle_reassignments(term: Term, *, must_write: bool = False) -> None:
    """Removes from the node the reassignments that are no longer under way. To be called after each event that may have
    completed, cancelled or replaced a reassignment."""
    node = term.context.reassign_node
    if node is not None:
        left = dict(await term.those(node.asked.items(), lambda one: _is_under_way(term.context, *one)))
        if must_write or len(left) < len(node.asked) or not left:
            await _write(term, node, left)


async def alter_reassignments(
    term: Term, requested: Mapping[Key, Sequence[int] | None], *, allows_factor_change: bool
) -> dict[Key, KafkastoreError | None]:
    """Carries out AlterPartitionReassignments. Removes the partitions that the request changes from the node first, so
    that a new controller does not begin again a reassignment that this request ends. Returns for each (topic,
    partition) why it was refused, or None."""
    await term.refresh_settings()
    outcomes, changes = await reassignment.judge(term, requested, allows_factor_change=allows_factor_change)
    node = term.context.reassign_node
    changed = {(one.topic.name, one.number) for of_topic in changes.values() for one in of_topic}
    if node is not None and not changed.isdisjoint(node.asked):
        await _write(term, node, {key: target for key, target in node.asked.items() if key not in changed})
    await reassignment.begin(term, changes)
    return outcomes


def _is_under_way(context: ControllerContext, key: Key, target: Sequence[int]) -> bool:
    partition = context.partition(*key)
    if partition is None or partition.topic.is_deleting:
        return False
    return partition.assigned.is_moving and partition.assigned.target == tuple(target)


async def _write(term: Term, node: ReassignNode, requested: dict[Key, tuple[int, ...]]) -> None:
    """Writes ``requested`` into the node, or deletes the node when there is nothing. A node that another client of the
    store has changed is left as it is: its watch fires and :func:`on_reassignments` reads it again."""
    term.context.reassign_node = None
    with suppress(BadVersionError, NoNodeError):
        if requested:
            await term.writer.write([SetData(REASSIGN_PARTITIONS, encode_reassignments(requested), node.version)])
            term.context.reassign_node = ReassignNode(node.version + 1, requested)
        else:
            await term.writer.delete(REASSIGN_PARTITIONS, node.version)


# ---- preferred leaders
async def on_elections(term: Term) -> None:
    """Runs when the node was created or changed, and when this broker has become the controller."""
    node = await _read(term, PREFERRED_REPLICA_ELECTION, "elections")
    if node is None:
        return
    requested, faults = decode_elections(node.data)
    outcomes = await elections.elect_leaders(term, requested, is_unclean=False)
    faults += [
        f"{topic}-{number}: {_NOT_ELECTED[code]}"
        for (topic, number), code in outcomes.items()
        if code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    ]
    _warn(PREFERRED_REPLICA_ELECTION, faults)
    with suppress(BadVersionError, NoNodeError):
        await term.writer.delete(PREFERRED_REPLICA_ELECTION, node.version)


# ---- both
async def _read(term: Term, path: str, event: str) -> Node | None:
    if await term.watched.exists(path, event) is not None:
        with suppress(NoNodeError):  # the node was deleted since; its watch has fired
            return await term.store.get(path)
    return None


def _warn(path: str, faults: Sequence[str]) -> None:
    if faults:
        more = f"; and {len(faults) - SHOWN_FAULTS} more" if len(faults) > SHOWN_FAULTS else ""
        logger.warning("%s asks for what cannot be done: %s%s", path, "; ".join(faults[:SHOWN_FAULTS]), more)
