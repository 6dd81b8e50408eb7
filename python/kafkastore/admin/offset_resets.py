"""Where a group is to go on reading: the offsets of each way to set them anew. Nothing is set here.

An offset outside of a partition becomes the nearest one inside; where no record is as young as the time that is asked
for, the end of the partition is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkastore.admin.admin_client import KafkaError
from kafkastore.admin.group_offsets import committed_offsets
from kafkastore.admin.offsets import EARLIEST, LATEST, UNKNOWN_OFFSET, offsets_at
from kafkastore.admin.routing import leaders
from kafkastore.errors import ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from kafkastore.admin.admin_client import AdminClient, Partition
    from kafkastore.admin.group_offsets import CommittedOffset


class NothingCommittedError(KafkastoreError):
    """There is nothing to shift."""


class Reset(NamedTuple):
    """``asked``: offsets that were outside of their partition, as they were asked for. ``ends``: partitions without a
    record that is young enough."""

    offsets: Mapping[Partition, int]
    asked: Mapping[Partition, int] = {}
    ends: Collection[Partition] = ()


if TYPE_CHECKING:
    Way = Callable[[AdminClient, str, Collection[Partition]], Awaitable[Reset]]
    """Of a group and its partitions."""


async def to_earliest(client: AdminClient, _: str, partitions: Collection[Partition]) -> Reset:
    return Reset(await offsets_at(client, partitions, EARLIEST))


async def to_latest(client: AdminClient, _: str, partitions: Collection[Partition]) -> Reset:
    return Reset(await offsets_at(client, partitions, LATEST))


async def to_current(client: AdminClient, group: str, partitions: Collection[Partition]) -> Reset:
    """What is committed; where nothing is, the end."""
    committed = await committed_by(client, group)
    known = {key: committed[key].offset for key in partitions if key in committed}
    ends = await offsets_at(client, [key for key in partitions if key not in known], LATEST)
    return Reset({**known, **ends})


def to_offset(offset: int) -> Way:
    async def way(client: AdminClient, _: str, partitions: Collection[Partition]) -> Reset:
        return await inside(client, dict.fromkeys(partitions, offset))

    return way


def shift_by(records: int) -> Way:
    async def way(client: AdminClient, group: str, partitions: Collection[Partition]) -> Reset:
        committed = await committed_by(client, group)
        for topic, number in partitions:
            if (topic, number) not in committed:
                raise NothingCommittedError(
                    f"Cannot shift offset for partition {topic}-{number} since there is no current committed offset"
                )
        return await inside(client, {key: committed[key].offset + records for key in partitions})

    return way


def to_time(time_ms: int) -> Way:
    async def way(client: AdminClient, _: str, partitions: Collection[Partition]) -> Reset:
        found = await offsets_at(client, partitions, time_ms)
        late = [key for key, offset in found.items() if offset == UNKNOWN_OFFSET]
        return Reset({**found, **await offsets_at(client, late, LATEST)}, ends=late)

    return way


async def inside(client: AdminClient, asked: Mapping[Partition, int]) -> Reset:
    """The offsets, those that are outside of their partition moved to its nearest end."""
    starts = await offsets_at(client, asked, EARLIEST)
    ends = await offsets_at(client, asked, LATEST)
    found = {key: max(starts[key], min(ends[key], offset)) for key, offset in asked.items()}
    return Reset(found, asked={key: offset for key, offset in asked.items() if offset != found[key]})


async def committed_by(client: AdminClient, group: str) -> dict[Partition, CommittedOffset]:
    """What one group has committed. Raises KafkaError."""
    found = (await committed_offsets(client, [group]))[group]
    if isinstance(found, KafkaError):
        raise found
    return found


async def check_partitions(client: AdminClient, partitions: Collection[Partition]) -> None:
    """Raises KafkaError when one of the partitions does not exist or has no leader now."""
    led = await leaders(client, list(partitions))
    for code, what in (
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "do not exist"),
        (ErrorCode.LEADER_NOT_AVAILABLE, "have no leader"),
    ):
        wrong = [
            f"{topic}-{number}"
            for (topic, number), one in led.items()
            if isinstance(one, KafkaError) and one.code == code
        ]
        if wrong:
            raise KafkaError(code, f'The partitions "{",".join(wrong)}" {what}')
    for one in led.values():
        if isinstance(one, KafkaError):
            raise one
