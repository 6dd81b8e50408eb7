"""Reads the last records of each partition from both clusters, and looks whether they are the same, each at the offset
that the marks say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from kafkastore._core import Consumer
from kafkastore.admin.admin_client import AdminError
from kafkastore.migration.lane import consumer_keys, said

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.migration.clusters import Cluster
    from kafkastore.migration.marks import Marks
    from kafkastore.migration.plan import Plan

    Partition = tuple[str, int]
    Content = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]

LIMIT_S: Final = 60.0
"""Without a further record."""
POLL_MS: Final = 200
AT_ONCE: Final = 50
"""Partitions."""


def differences(
    plan: Plan,
    clusters: tuple[Cluster, Cluster],
    marks: Mapping[Partition, Marks],
    ends: tuple[Mapping[Partition, int], Mapping[Partition, int]],
    count: int,
) -> tuple[int, list[str]]:
    """How many records were compared, and a sentence for each partition that differs. ``ends``: to where each is read,
    in the source and in the target. Raises AdminError."""
    compacted = {one.name for one in plan.topics if "compact" in one.configs.get("cleanup.policy", "")}
    keys = sorted(key for key, found in marks.items() if found.records)
    compared, said_of = 0, []
    for at in range(0, len(keys), AT_ONCE):
        some = keys[at : at + AT_ONCE]
        tails = {key: marks[key].tail(count) for key in some}
        starts = {key: tail for key, tail in tails.items() if tail is not None}
        theirs = _read(plan, clusters[0], {key: one.source for key, one in starts.items()}, ends[0])
        ours = _read(plan, clusters[1], {key: one.target for key, one in starts.items()}, ends[1])
        for key in some:
            compared += len(theirs[key])
            sentence = _difference(theirs[key], ours[key], marks[key], is_compacted=key[0] in compacted)
            said_of += [f"{key[0]}-{key[1]}: {sentence}"] if sentence else []
    return compared, said_of


def _difference(
    theirs: Mapping[int, Content], ours: Mapping[int, Content], marks: Marks, *, is_compacted: bool
) -> str | None:
    left = dict(ours)
    for offset, record in theirs.items():
        target = marks.translated(offset)
        found = left.pop(target, None) if target is not None else None
        if found is None:
            if not is_compacted:
                return f"the record at offset {offset} is not at {target} of the target"
        elif found[:3] != record[:3] or (record[3] >= 0 and found[3] != record[3]):
            return f"the record at offset {offset} is another one at {target} of the target"
    if left and not is_compacted:
        return f"the target has a record at {min(left)} that the source has not"
    return None


def _read(
    plan: Plan, cluster: Cluster, starts: Mapping[Partition, int], ends: Mapping[Partition, int]
) -> dict[Partition, dict[int, Content]]:
    found: dict[Partition, dict[int, Content]] = {key: {} for key in starts}
    consumer = Consumer(consumer_keys(cluster, plan.group) | {"auto.offset.reset": "earliest"})
    consumer.assign(dict(starts))
    deadline = time.monotonic() + LIMIT_S
    try:
        with said(cluster.bootstrap_servers):
            while not _is_read(consumer, starts, ends):
                batches = consumer.poll(POLL_MS, 5_000)
                if batches:
                    deadline = time.monotonic() + LIMIT_S
                elif time.monotonic() > deadline:
                    raise AdminError(f"{cluster.bootstrap_servers} hands over no more records; compare again")
                for batch in batches:
                    for one in batch.records():
                        if one.offset < ends[batch.topic, batch.partition]:
                            content = (one.key, one.value, one.headers, one.timestamp_ms)
                            found[batch.topic, batch.partition][one.offset] = content
    finally:
        consumer.close()
    return found


def _is_read(consumer: Any, keys: Iterable[Partition], ends: Mapping[Partition, int]) -> bool:
    positions = consumer.positions()
    return all(positions.get(key, -1) >= ends[key] for key in keys)
