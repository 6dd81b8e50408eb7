"""The steps of a load: stage (a producer id, the segments) and adopt. One process does both, or Spark's tasks stage.

Nothing is in a log before ``adopt``; what is staged and never adopted is removed by ``remove``, by the next attempt of
the same load, or by the broker after a day.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kafkastore._core import LoadBuilder, make_staging_dir, sweep_staged
from kafkastore.loading import staging
from kafkastore.loading.cluster import LoadClient, LoadedOffsets, LoadError, LoadTopic
from kafkastore.loading.codecs import CODECS
from kafkastore.system import processors

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")
BATCH_BYTES = 1_000_000
"""Bytes of a batch, unless the topic takes less."""
COMPRESSED_MARGIN = 64
"""The part of a batch by which a codec may enlarge records that cannot be compressed."""


@dataclass(frozen=True)
class LoadPlan:
    """The arguments of a load. Raises ValueError for one that is wrong."""

    topic: str
    compression: str | None
    level: int | None
    load_id: str | None

    def __post_init__(self) -> None:
        if self.compression is not None and self.compression not in CODECS:
            raise ValueError(f"compression is {self.compression!r}; give one of {', '.join(CODECS)}")
        if self.load_id == "":
            raise ValueError(f"load_id is {self.load_id!r}; give a text, or leave it out")


class DirectoryOwner(NamedTuple):
    """Whose a directory is that one of several tasks fills."""

    load_id: str
    driver_epoch: int
    """Of the driver that started the task; later drivers have greater ones."""


class StagedSegments(NamedTuple):
    """Segments that wait in the log directories of the leaders."""

    producer: tuple[int, int]
    """Producer id and epoch."""
    known: list[int]
    """By partition: the records of the load that the log had before."""
    built: list[tuple[int, int]]
    """By partition: the records of the load, and the bytes of the batches that are staged."""

    @property
    def records(self) -> int:
        return sum(count for count, _ in self.built)

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.built)


def check_is_here(topic: LoadTopic) -> None:
    """Raises LoadError when a leader's log directory is not on this machine."""
    for partition, leader in enumerate(topic.leaders):
        if leader.log_dir is None:
            raise LoadError(
                f"the log directory of {topic.name}-{partition} is on broker {leader.node_id} at "
                f"{leader.host}, not on this machine; load there, or use a producer"
            )


async def stage(
    client: LoadClient, topic: LoadTopic, plan: LoadPlan, streams: Iterable[Any], mark: DirectoryOwner | None = None
) -> StagedSegments:
    """Builds the segments of all rows. With a ``mark``, which one of several tasks has, it is in the directories, the
    producer id is a new one, not that of the plan's ``load_id``, and one thread builds. Raises as
    :func:`kafkastore.load`, and leaves nothing then."""
    producer = await client.producer(plan.load_id if mark is None else None)
    known = [0] * len(topic.leaders)
    if producer[1] > 0:  # the load was begun before
        for partition in range(len(known)):
            known[partition] = await client.records_in(topic, partition, producer)
    try:
        return StagedSegments(
            producer, known, await asyncio.to_thread(_build, topic, plan, producer, known, streams, mark)
        )
    except BaseException:
        remove(topic, producer)
        raise


def _build(
    topic: LoadTopic,
    plan: LoadPlan,
    producer: tuple[int, int],
    known: list[int],
    streams: Iterable[Any],
    mark: DirectoryOwner | None,
) -> list[tuple[int, int]]:
    targets = []
    for partition, leader in enumerate(topic.leaders):
        assert leader.log_dir is not None
        staging.remove_earlier(leader.log_dir, topic.name, partition, *producer)
        directory = leader.log_dir / staging.dir_name(topic.name, partition, *producer)
        if mark is not None:
            make_staging_dir(str(directory), *mark)
        targets.append((str(directory), known[partition]))
    builder = LoadBuilder(
        topic.name,
        targets,
        producer_id=producer[0],
        producer_epoch=producer[1],
        compression=codec_of(topic, plan),
        level=plan.level,
        batch_bytes=batch_bytes_of(topic, plan),
        max_message_bytes=topic.max_message_bytes,
        segment_bytes=topic.segment_bytes,
        needs_keys=topic.is_compacted,
        now_ms=int(time.time() * 1000),
        threads=processors() if mark is None else 1,
    )
    for stream in streams:
        builder.append(stream)
    return builder.finish()


def codec_of(topic: LoadTopic, plan: LoadPlan) -> str:
    """The codec of the batches. Raises ValueError when the plan and the topic name different ones."""
    wanted = {"producer": None, "uncompressed": "none"}.get(topic.compression_type, topic.compression_type)
    if wanted is not None and plan.compression not in (None, wanted):
        raise ValueError(
            f"compression is {plan.compression}, and compression.type of topic {topic.name} is "
            f"{topic.compression_type}; leave compression out"
        )
    return wanted or plan.compression or "none"


def batch_bytes_of(topic: LoadTopic, plan: LoadPlan) -> int:
    """Bytes of a batch before compression, which the topic takes also when its records cannot be compressed."""
    most = min(BATCH_BYTES, topic.max_message_bytes)
    return most if codec_of(topic, plan) == "none" else most - most // COMPRESSED_MARGIN


async def adopt(
    client: LoadClient, topic: LoadTopic, plan: LoadPlan, staged: StagedSegments
) -> dict[int, LoadedOffsets]:
    """Has the leaders append what is staged, all partitions at a time. Raises LoadError."""
    for partition, (count, _) in enumerate(staged.built):
        if count < staged.known[partition]:
            raise LoadError(
                f"{topic.name}-{partition} has {staged.known[partition]} records of load {plan.load_id}, and the rows "
                f"give it {count}: call it with the same rows in the same order, or with another load_id"
            )
    wanted = [partition for partition, (count, _) in enumerate(staged.built) if count > 0]
    is_new = staged.producer[1] == 0
    adoptions = [
        # a log that has all of the load says where, whatever sequence is named
        client.adopt(topic, partition, staged.producer, staged.known[partition] % count, count, is_new=is_new)
        for partition in wanted
        if (count := staged.built[partition][0])
    ]
    return outcomes(wanted, await asyncio.gather(*adoptions, return_exceptions=True))


def outcomes(wanted: list[int], ended: list[T | BaseException]) -> dict[int, T]:
    """The outcome of each partition. Raises one LoadError for those that failed."""
    done: dict[int, T] = {}
    failures = []
    for partition, outcome in zip(wanted, ended, strict=True):
        if isinstance(outcome, LoadError):
            failures.append(outcome.client_message)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            done[partition] = outcome
    if failures:
        rest = f"; {len(done)} of {len(wanted)} partitions have it" if done else ""
        raise LoadError(f"{'; '.join(failures[:3])}{rest}")
    return done


def remove(topic: LoadTopic, producer: tuple[int, int]) -> None:
    """Removes what is staged under the producer id and epoch and was not adopted."""
    for partition, leader in enumerate(topic.leaders):
        if leader.log_dir is not None:
            staging.remove(leader.log_dir / staging.dir_name(topic.name, partition, *producer))


def sweep(topic: LoadTopic, load_id: str, before: int) -> None:
    """Removes what tasks of drivers with an epoch below ``before`` have staged for the load, where this machine sees
    it."""
    sweep_staged([str(leader.log_dir) for leader in topic.leaders if leader.log_dir is not None], load_id, before)
