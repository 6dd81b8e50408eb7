"""Which brokers have which partitions of a topic: the content of ``/brokers/topics/T`` (spec R2.3).

``adding`` and ``removing`` are what a reassignment under way adds to and takes from a partition's replicas (R2.5)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.metadata.nodes import parse_topic_id, topic_id_text

if TYPE_CHECKING:
    from collections.abc import Sequence


class Assigned(NamedTuple):
    """One partition's replicas, the preferred leader first."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


def encode_assigned(topic_id: bytes, partitions: Sequence[Assigned]) -> bytes:
    content = {
        "version": 3,
        "topic_id": topic_id_text(topic_id),
        "partitions": {str(number): one.replicas for number, one in enumerate(partitions)},
        "adding_replicas": {str(number): one.adding for number, one in enumerate(partitions) if one.adding},
        "removing_replicas": {str(number): one.removing for number, one in enumerate(partitions) if one.removing},
    }
    return json.dumps(content, separators=(",", ":")).encode()


def decode_assigned(data: bytes) -> tuple[bytes, list[Assigned]]:
    """The topic's id and its partitions."""
    content = json.loads(data)
    adding = content.get("adding_replicas") or {}
    removing = content.get("removing_replicas") or {}
    replicas = content["partitions"]
    partitions = [
        Assigned(tuple(replicas[str(number)]), tuple(adding.get(str(number), ())), tuple(removing.get(str(number), ())))
        for number in range(len(replicas))
    ]
    return parse_topic_id(content["topic_id"]), partitions
