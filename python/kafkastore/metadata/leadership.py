"""The leader of a partition and the replicas that may lead it: the content of ``/brokers/topics/T/partitions/P/state``.

Kafka's JSON with two keys more: ``elr`` (KIP-966), which is there only when a replica is eligible, and ``restarted``,
while a partition without a leader waits for the last replica that may have all committed records. The partition epoch
is the version of the node, so it is not in the JSON.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from kafkastore.metadata.image import NO_LEADER
from kafkastore.metadata.node_content import InvalidNodeError, decimal, ids, json_object, mapping, number

MAX_OFFSET = 2**63 - 1


class Leadership(NamedTuple):
    """Immutable; replaced whole."""

    leader: int  # NO_LEADER when the partition is offline
    leader_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()  # not in sync, but with everything that was committed
    is_recovering: bool = False  # after an unclean election, until the leader says that it has recovered (KIP-704)
    partition_epoch: int = 0
    controller_epoch: int = 0  # of the controller that wrote it
    restarted: tuple[tuple[int, int], ...] = ()
    """The replicas that left ISR and ELR by an unclean restart since the partition has no leader, each with its log
    end."""

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER


def encode_leadership(state: Leadership, controller_epoch: int) -> bytes:
    isr = ",".join(map(str, state.isr))
    text = (
        f'{{"controller_epoch":{controller_epoch},"leader":{state.leader},"version":1,'
        f'"leader_epoch":{state.leader_epoch},"isr":[{isr}]'
    )
    if state.is_recovering:
        text += ',"leader_recovery_state":1'
    if state.elr:
        text += f',"elr":[{",".join(map(str, state.elr))}]'
    if state.restarted:
        text += f',"restarted":{json.dumps(dict(state.restarted), separators=(",", ":"))}'
    return (text + "}").encode()


def decode_leadership(data: bytes, version: int) -> Leadership:
    """Raises InvalidNodeError."""
    content = json_object(data)
    isr = ids(content.get("isr"), "isr")
    elr = ids(content["elr"], "elr") if "elr" in content else ()
    if not isr and not elr:
        raise InvalidNodeError("isr is empty, and nobody is eligible")
    restarted = mapping(content, "restarted")
    return Leadership(
        number(content, "leader", NO_LEADER),
        number(content, "leader_epoch"),
        isr,
        elr,
        content.get("leader_recovery_state", 0) == 1,
        version,
        number(content, "controller_epoch"),
        tuple((decimal(node, "restarted"), number(restarted, node, 0, MAX_OFFSET)) for node in restarted),
    )
