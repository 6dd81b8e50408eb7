"""The requests that people and tools write to a node: the content of ``/admin/reassign_partitions`` and
``/admin/preferred_replica_election``.

    {"version":1,"partitions":[{"topic":"T","partition":P,"replicas":[N,…]},…]}      the second without the replicas

Any user of the store may write these nodes by hand, so every entry is checked: an invalid entry is named in a sentence
and left out, and the others stand. The controller checks whether brokers and partitions exist.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kafkastore.topic_names import can_be_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Key = tuple[str, int]
    Entries = list[tuple[Key, dict[str, Any]]]

REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"

SHOWN_CHARACTERS = 80
"""How much of an invalid entry the sentence about it shows."""


def decode_reassignments(data: bytes) -> tuple[dict[Key, tuple[int, ...]], list[str]]:
    """The target replicas of each partition asked for, and what is wrong with the rest."""
    entries, faults = _entries(data)
    found: dict[Key, tuple[int, ...]] = {}
    for key, entry in entries:
        replicas = entry.get("replicas")
        if isinstance(replicas, list) and all(map(_is_number, replicas)):
            found[key] = tuple(replicas)
        else:
            faults.append(f"{key[0]}-{key[1]} has replicas {_shown(replicas)}, which is no list of broker ids")
    return found, faults


def decode_elections(data: bytes) -> tuple[list[Key], list[str]]:
    """The partitions asked for, and what is wrong with the rest."""
    entries, faults = _entries(data)
    return [key for key, _ in entries], faults


def encode_reassignments(requested: Mapping[Key, Iterable[int]]) -> bytes:
    partitions = [
        {"topic": topic, "partition": number, "replicas": list(replicas)}
        for (topic, number), replicas in requested.items()
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":")).encode()


def _entries(data: bytes) -> tuple[Entries, list[str]]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return [], [f"{_shown(data.decode(errors='replace'))} is not JSON"]
    if not isinstance(content, dict) or content.get("version") != 1:
        return [], [f"{_shown(content)} is no object of version 1"]
    partitions = content.get("partitions")
    if not isinstance(partitions, list):
        return [], [f"partitions is {_shown(partitions)}, which is no list"]
    found: Entries = []
    faults = []
    seen: set[Key] = set()
    for entry in partitions:
        key = _key(entry)
        if key is None:
            faults.append(f"{_shown(entry)} names no topic and partition")
        elif key in seen:
            faults.append(f"{key[0]}-{key[1]} stands there twice; its first entry counts")
        else:
            seen.add(key)
            found.append((key, entry))
    return found, faults


def _key(entry: object) -> Key | None:
    if not isinstance(entry, dict):
        return None
    topic, number = entry.get("topic"), entry.get("partition")
    is_right = can_be_topic(topic) and _is_number(number)
    return (topic, number) if is_right else None  # type: ignore[return-value]  # is_right says so


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
