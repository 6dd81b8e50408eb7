"""What a broker shows of transactions: states, offsets, open transactions of a log. Looks only, changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cluster.raw_producer import Ask, Request, name_of

Partitions = Mapping[str, Iterable[int]]
"""The numbers of partitions by topic."""

UNFINISHED = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
NOT_SETTLED = "unstable"
UNSTABLE_OFFSET_COMMIT = 88
LATEST = -1


class NotReadyError(OSError):
    """The broker cannot tell now: it loads the partition, or does not lead it any more."""


def state(ask: Ask, transactional_id: str) -> str:
    """The state of a transaction; the error's name for an id that is not known here."""
    answer = ask(Request("describe_transactions", 0, {"transactional_ids": [transactional_id]}))
    (found,) = answer.transaction_states
    return str(found.transaction_state) if not found.error_code else name_of(found.error_code)


def listed(ask: Ask, *states: str) -> dict[str, str]:
    """The state of each transactional id of this coordinator; with ``states``, of those in one of them."""
    answer = ask(Request("list_transactions", 1, {"state_filters": list(states), "duration_filter": -1}))
    if answer.error_code:
        raise NotReadyError(name_of(answer.error_code))
    return {str(one.transactional_id): str(one.transaction_state) for one in answer.transaction_states}


def unfinished(ask: Ask) -> dict[str, str]:
    """The transactions of this coordinator that are open or being ended."""
    return listed(ask, *UNFINISHED)


def log_ends(ask: Ask, partitions: Partitions, *, is_committed: bool) -> dict[tuple[str, int], int]:
    """The high watermark of the partitions, or their last stable offset."""
    topics = [
        {"name": name, "partitions": [{"partition_index": number, "timestamp": LATEST} for number in numbers]}
        for name, numbers in partitions.items()
    ]
    answer = ask(Request("list_offsets", 7, {"replica_id": -1, "isolation_level": int(is_committed), "topics": topics}))
    check([one for topic in answer.topics for one in topic.partitions])
    return {(str(topic.name), one.partition_index): one.offset for topic in answer.topics for one in topic.partitions}


def open_transactions(ask: Ask, partitions: Partitions) -> list[tuple[str, int, int]]:
    """(topic, partition, producer id) of each open transaction in the logs that this broker leads: what ``kafka-
    transactions find-hanging`` looks for."""
    topics = [{"name": name, "partition_indexes": list(numbers)} for name, numbers in partitions.items()]
    answer = ask(Request("describe_producers", 0, {"topics": topics}))
    check([one for topic in answer.topics for one in topic.partitions])
    return [
        (str(topic.name), partition.partition_index, producer.producer_id)
        for topic in answer.topics
        for partition in topic.partitions
        for producer in partition.active_producers
        if producer.current_txn_start_offset >= 0
    ]


def check(partitions: Sequence[Any]) -> None:
    for one in partitions:
        if one.error_code:
            raise NotReadyError(f"partition {one.partition_index}: {name_of(one.error_code)}")


def committed_offset(ask: Ask, group: str, topic: str) -> int | str:
    """The group's offset of partition 0, -1 for none; ``unstable`` while an open transaction has one."""
    asked = {"group_id": group, "topics": [{"name": topic, "partition_indexes": [0]}]}
    answer = ask(Request("offset_fetch", 8, {"groups": [asked], "require_stable": True}))
    (found,) = answer.groups
    error = found.error_code or found.topics[0].partitions[0].error_code
    if error == UNSTABLE_OFFSET_COMMIT:
        return NOT_SETTLED
    return int(found.topics[0].partitions[0].committed_offset) if not error else name_of(error)
