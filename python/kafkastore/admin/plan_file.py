"""Reassignment files: ``{"version":1,"partitions":[{"topic":…,"partition":…,"replicas":[…],"log_dirs":["any",…]},…]}``.

A file is read whole and strictly: if it has one fault it is refused with a sentence that names the item, and none of
its moves begins.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kafkastore.admin.admin_client import AdminError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore.admin.cluster_client import ClusterView

    Key = tuple[str, int]

SHOWN_CHARACTERS = 80


def read_plan(name: str, text: str) -> dict[Key, tuple[int, ...]]:
    """The target replicas of each partition. ``name`` is the name of the file, for errors. Raises AdminError."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it nests too deeply" if isinstance(error, RecursionError) else error
        raise AdminError(f"{name} is not JSON ({reason}); see the form in kafkastore cluster --help") from None
    if not isinstance(content, dict):
        raise AdminError(f'{name}: {_shown(content)} is no object; write {{"version":1,"partitions":[…]}}')
    if content.get("version") != 1 or isinstance(content["version"], bool):
        raise AdminError(f"{name}: version is {_shown(content.get('version'))}; only version 1 is known")
    partitions = content.get("partitions")
    if not isinstance(partitions, list) or not partitions:
        raise AdminError(f"{name}: partitions is {_shown(partitions)}; give a list of at least one partition")
    found: dict[Key, tuple[int, ...]] = {}
    for entry in partitions:
        key, replicas = _entry(name, entry)
        if key in found:
            raise AdminError(f"{name}: partition {key[0]}-{key[1]} stands there twice; leave one out")
        found[key] = replicas
    return found


def _entry(name: str, entry: Any) -> tuple[Key, tuple[int, ...]]:
    topic, number = (entry.get("topic"), entry.get("partition")) if isinstance(entry, dict) else (None, None)
    if not isinstance(topic, str) or not topic or not isinstance(number, int) or not _is_number(number):
        raise AdminError(f'{name}: {_shown(entry)} names no topic and partition; give "topic":NAME,"partition":NUMBER')
    what = f"{name}: partition {topic}-{number}"
    replicas, log_dirs = entry.get("replicas"), entry.get("log_dirs")
    if not isinstance(replicas, list) or not replicas or not all(map(_is_number, replicas)):
        raise AdminError(f"{what} has replicas {_shown(replicas)}; give a list of at least one broker id")
    twice = {replica for replica in replicas if replicas.count(replica) > 1}
    if twice:
        raise AdminError(f"{what} has replica {min(twice)} twice; name each broker once")
    if log_dirs is not None and (not isinstance(log_dirs, list) or len(log_dirs) != len(replicas)):
        raise AdminError(
            f"{what} has {len(replicas)} replicas and log_dirs {_shown(log_dirs)}; give one for each, or none"
        )
    if log_dirs and any(one != "any" for one in log_dirs):
        raise AdminError(f'{what} has log_dirs {_shown(log_dirs)}; only "any" is possible here, the broker chooses')
    return (topic, number), tuple(replicas)


def check_plan(name: str, plan: Mapping[Key, Sequence[int]], view: ClusterView) -> None:
    """Raises AdminError when the cluster cannot carry out the plan."""
    topics = {topic for topic, _ in view.partitions}
    for key, replicas in plan.items():
        what = f"{name}: partition {key[0]}-{key[1]}"
        if key not in view.partitions:
            there = f"topic {key[0]} has no such partition" if key[0] in topics else f"there is no topic {key[0]}"
            raise AdminError(f"{what} does not exist: {there}")
        missing = [replica for replica in replicas if replica not in view.brokers]
        if missing:
            alive = ", ".join(map(str, sorted(view.brokers)))
            raise AdminError(f"{what} is to go to broker {missing[0]}, which is not alive; alive are {alive}")
        current = view.partitions[key]
        removed = [replica for replica in replicas if replica in view.removed and replica not in current.replicas]
        if removed:
            raise AdminError(
                f"{what} is to go to broker {removed[0]}, which was removed from the cluster; bring it back with "
                "kafkastore cluster add-brokers"
            )
        if current.is_moving and tuple(replicas) != current.target:
            raise AdminError(
                f"{what} moves already, to {list(current.target)}; wait for that, or end it with kafkastore cluster "
                "cancel"
            )


def plan_text(plan: Mapping[Key, Sequence[int]], log_dirs: Mapping[tuple[Key, int], str] | None = None) -> str:
    """The plan as a reassignment file on one line, as kafka-reassign-partitions.sh prints it; ``log_dirs`` by partition
    and broker."""
    known = log_dirs or {}
    partitions = [
        {
            "topic": key[0],
            "partition": key[1],
            "replicas": list(replicas),
            "log_dirs": [known.get((key, node), "any") for node in replicas],
        }
        for key, replicas in sorted(plan.items())
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
