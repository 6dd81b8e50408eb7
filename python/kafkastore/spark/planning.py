"""Plans a read: from the options, the topics and partitions, their ranges of offsets, and the share of each task.

A plan is fixed here, on the driver: closed ranges of offsets that do not move while tasks run. Planning reads indexes
and checkpoints, or asks the broker where ``kafka.bootstrap.servers`` is given, and never reads a record's bytes.

    1. topics        named, matched or assigned
    2. bounds        times become offsets; a start that no record reaches is an error, or becomes the latest
    3. filters       pushed filters narrow the ranges of offsets
    4. shares        the ranges cut into about equally large parts, neighbours together, in order
"""

from __future__ import annotations

import json
import logging
import os
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kafkastore import _core
from kafkastore.scanning.topics import INTERNAL
from kafkastore.spark import links
from kafkastore.spark.filters import MAX, MIN, Range, Wanted
from kafkastore.spark.options import EARLIEST, LATEST, Bound, ReadOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SMALL_SHARE_BYTES = 8 << 20
"""A share smaller than this is not cut for more cores: starting a task costs Spark more than reading the share."""
PIECES_PER_SHARE = 8
"""Shares are put together from pieces, so that their sizes differ by no more than a piece."""

Places = dict[int, tuple[str, int]]
Watermarks = dict[int, tuple[int, int, int]]

_LOG = logging.getLogger("kafkastore.spark")


@dataclass(frozen=True)
class Share:
    """What one task reads. ``splits`` are encoded ``Split`` objects, in order; a share pickles to little more than
    these."""

    splits: tuple[str, ...]
    size_bytes: int
    check_crcs: bool
    fail_on_data_loss: bool
    lease: links.Lease | None = None

    def encode(self) -> str:
        """The share as JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def decode(text: str) -> Share:
        """The share that :meth:`encode` encoded. Raises ValueError for any other text."""
        try:
            fields = json.loads(text)
            lease = links.Lease(**fields.pop("lease")) if fields["lease"] else None
            return Share(
                splits=tuple(fields.pop("splits")), lease=lease, **{k: v for k, v in fields.items() if k != "lease"}
            )
        except (ValueError, TypeError, KeyError):
            raise ValueError(
                f"this is no share of a scan: {text[:80]!r}; give the rows of segments() as they are"
            ) from None


def plan(options: ReadOptions, wanted: Wanted | None = None, cores: int | None = None) -> list[Share]:
    """The shares of a read; an empty list when there is nothing to read. ``cores`` is how many tasks run at a time, by
    default the cores of this machine. Raises ValueError and FileNotFoundError for mistakes, DataLossError and ScanError
    as ``plan_scan`` does."""
    wanted = wanted or Wanted()
    topics = _topics(options)
    lease = links.take(options.link_dir, options.log_dirs) if options.link_dir else None
    try:
        plans = [
            plan for topic, partitions in topics.items() for plan in _plans(options, wanted, topic, partitions, lease)
        ]
        shares = _cut(plans, _share_count(options, plans, cores))
    except BaseException:
        if lease:
            links.release(lease)
        raise
    if lease and not shares:
        links.release(lease)
        lease = None
    return [
        Share(
            splits=tuple(split.encode() for split in splits),
            size_bytes=sum(split.size_bytes for split in splits),
            check_crcs=options.check_crcs,
            fail_on_data_loss=options.fail_on_data_loss,
            lease=links.Lease(lease, number, len(shares)) if lease else None,
        )
        for number, splits in enumerate(shares)
    ]


def _topics(options: ReadOptions) -> Mapping[str, tuple[int, ...] | None]:
    """topic -> the partitions to read of it, None for all."""
    if options.assigned is not None:
        return options.assigned
    if options.topics is not None:
        return dict.fromkeys(options.topics)
    pattern = re.compile(options.pattern or "")
    names = {found.topic for found in _core.list_partitions(options.log_dirs)} - INTERNAL
    matched = sorted(name for name in names if pattern.fullmatch(name))
    if not matched:
        _LOG.warning("subscribePattern: no topic in %s matches %s", ", ".join(options.log_dirs), options.pattern)
    return dict.fromkeys(matched)


def _plans(
    options: ReadOptions, wanted: Wanted, topic: str, partitions: tuple[int, ...] | None, lease: str | None
) -> list[_core.PartitionPlan]:
    """The ranges of one topic, without empty ranges."""
    watermarks = _watermarks(options, topic, partitions)
    found = _found(options, topic, partitions)
    chosen = [partition for partition in found if wanted.has(topic, partition)]
    for bound in (options.start, options.end):
        _check_places(bound, topic, found)

    def plan_scan(start: Places, end: Places, link_dir: str | None = None) -> list[_core.PartitionPlan]:
        return _core.plan_scan(
            options.log_dirs,
            topic,
            partitions=chosen,
            start=start,
            end=end,
            isolation_level=options.isolation_level,
            watermarks=watermarks,
            fail_on_data_loss=options.fail_on_data_loss,
            keep_open=False,
            link_dir=link_dir,
        )

    if not chosen:
        return []
    earliest, latest = {-1: ("offset", EARLIEST)}, {-1: ("offset", LATEST)}
    start = {partition: options.start.of(topic, partition) for partition in chosen}
    end = {partition: options.end.of(topic, partition) for partition in chosen}
    if options.start.kind == "timestamp":
        reached = plan_scan(start, latest)
        _check_reached(options, reached)
        start = {plan.partition: ("offset", plan.start_offset) for plan in reached}
    if options.end.kind == "timestamp":
        end = {plan.partition: ("offset", plan.end_offset) for plan in plan_scan(earliest, end)}
    if wanted.offsets != Range() or wanted.timestamps_ms != Range():
        base = plan_scan(start, end)
        low = wanted.timestamps_ms.low
        by_time = {} if low == MIN else _starts(plan_scan({-1: ("timestamp", max(low, 0))}, latest))
        start = {
            p.partition: ("offset", max(p.start_offset, wanted.offsets.low, by_time.get(p.partition, 0))) for p in base
        }
        end = {p.partition: ("offset", min(p.end_offset, wanted.offsets.high)) for p in base}
    chosen = [partition for partition in chosen if not _is_empty(start[partition][1], end[partition][1])]
    if not chosen or wanted.timestamps_ms.low >= wanted.timestamps_ms.high or wanted.keys == frozenset():
        return []
    start, end = ({partition: places[partition] for partition in chosen} for places in (start, end))
    plans = plan_scan(start, end, lease)
    for plan in plans:
        for lost_from, lost_to in plan.lost:
            _LOG.warning("%s", loss_sentence(topic, plan.partition, lost_from, lost_to))
    return [plan for plan in plans if plan.start_offset < plan.end_offset]


def loss_sentence(topic: str, partition: int, start: int, end: int) -> str:
    """The warning about offsets that are gone when ``failOnDataLoss`` is false."""
    return (
        f"{topic}-{partition}: offsets {start} to {end} are gone, by retention or with their topic; some data may have "
        "been"
        ' lost (set the option "failOnDataLoss" to "true" to fail instead)'
    )


def _watermarks(options: ReadOptions, topic: str, partitions: tuple[int, ...] | None) -> Watermarks | None:
    if options.bootstrap_servers is None:
        return None
    from kafkastore.scanning.broker_offsets import fetch_broker_offsets

    offsets = fetch_broker_offsets(options.bootstrap_servers, topic, partitions)
    return {partition: tuple(found) for partition, found in offsets.items()}  # type: ignore[misc]


def _found(options: ReadOptions, topic: str, partitions: tuple[int, ...] | None) -> list[int]:
    """The partitions of a topic on disk that are to be read. Raises FileNotFoundError of one sentence."""
    found = sorted({files.partition for files in _core.list_partitions(options.log_dirs, topic)})
    where = ", ".join(options.log_dirs)
    if not found:
        raise FileNotFoundError(
            f"path: there is no topic {topic} in {where}; name a topic or log directory that is there"
        )
    missing = sorted(set(partitions or ()) - set(found))
    if missing:
        raise FileNotFoundError(
            f"assign: {where} has partitions {found} of {topic}, not {missing}; assign those that are there"
        )
    return list(partitions or found)


def _check_places(bound: Bound, topic: str, partitions: Sequence[int]) -> None:
    """Raises ValueError unless the bound's JSON names exactly the partitions that are read, as in Spark."""
    if bound.everywhere is not None:
        return
    named = set(bound.places.get(topic, ()))
    for difference, what, fix in (
        (
            set(partitions) - named,
            "lacks",
            "add it" + ("" if bound.kind == "timestamp" else ", -2 being the earliest, -1 the latest"),
        ),
        (named - set(partitions), "has", "it is not read; leave it out"),
    ):
        if difference:
            partition = min(difference)
            raise ValueError(
                f"{bound.option}: JSON must name exactly the partitions read, and {what} {topic}-{partition}; {fix}"
            )


def _check_reached(options: ReadOptions, plans: Sequence[_core.PartitionPlan]) -> None:
    """Raises ValueError for a start by time that no record reaches, unless the strategy is "latest", as in Spark."""
    if options.start_at_latest_when_no_time_matches:
        return
    for plan in plans:
        if plan.start_offset >= plan.end_limit:
            time_ms = options.start.of(plan.topic, plan.partition)[1]
            raise ValueError(
                f"{options.start.option}: {plan.topic}-{plan.partition} has no record at {time_ms} or later; choose an "
                "earlier"
                ' time or set startingOffsetsByTimestampStrategy to "latest"'
            )


def _starts(plans: Sequence[_core.PartitionPlan]) -> dict[int, int]:
    return {plan.partition: plan.start_offset for plan in plans}


def _is_empty(start: int, end: int) -> bool:
    """Whether the range is known to be empty; the earliest and the latest are negative, and not offsets yet."""
    return start >= 0 and end >= 0 and start >= end


def _share_count(options: ReadOptions, plans: Sequence[_core.PartitionPlan], cores: int | None) -> int:
    """How many shares to cut: few and large, a multiple of the cores if there are more; at least ``minPartitions``."""
    total = sum(plan.size_bytes for plan in plans)
    cores = cores or len(os.sched_getaffinity(0))
    by_size = -(-total // options.split_bytes)
    by_core = min(cores, -(-total // SMALL_SHARE_BYTES))
    count = max(by_size, by_core, 1)
    if count > cores:
        count = -(-count // cores) * cores
    return max(count, options.min_shares or 1)


def _cut(plans: Sequence[_core.PartitionPlan], count: int) -> list[list[_core.Split]]:
    """At most about ``count`` lists of neighbouring splits, none empty, of about the same size."""
    total = sum(plan.size_bytes for plan in plans)
    piece = max(total // (count * PIECES_PER_SHARE), 1) if count > 1 else MAX
    pieces = [split for plan in plans for split in plan.splits(piece)]
    total = sum(split.size_bytes for split in pieces) or 1
    shares: list[list[_core.Split]] = [[] for _ in range(count)]
    before = 0
    for split in pieces:
        middle = before + split.size_bytes // 2
        shares[min(middle * count // total, count - 1)].append(split)
        before += split.size_bytes
    return [share for share in shares if share]
