"""``kafkastore.load``: rows become segments in the leaders' log directories, and the brokers adopt them as an append.

For backfills: the machine that calls it has the log directories of the partitions' leaders, and the brokers' user id.
Other topics take a producer.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkastore._core import LoadBuilder, LoadBuildError
from kafkastore.loading import staging
from kafkastore.loading.cluster import Adopted, LoadClient, LoadError, Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BATCH_BYTES = 1_000_000
"""Bytes of a batch, unless the topic takes less."""
COMPRESSED_MARGIN = 64
"""The part of a batch by which a codec may enlarge records that cannot be compressed."""


@dataclass(frozen=True)
class LoadResult:
    """What a load has brought into the topic."""

    partitions: dict[int, Adopted]
    """Offsets and records of each partition that got any."""
    records: int
    bytes: int
    """Of batches that were written now; a load that was begun before has more."""


def load(
    topic: str,
    rows: Any,
    *,
    bootstrap_servers: str | Sequence[str] = "localhost:9092",
    compression: str | None = None,
    compression_level: int | None = None,
    load_id: str | None = None,
    timeout_s: float = 300.0,
) -> LoadResult:
    """Appends ``rows`` to ``topic`` as segments that are built here. Returns when all in-sync replicas have them.

    ``rows``: anything with ``__arrow_c_stream__`` (a pyarrow Table or RecordBatchReader, a Polars or DuckDB frame), or
    several such in a row. Columns: ``value``, and as there are ``key`` (binary or text), ``timestamp`` (milliseconds,
    or any timestamp; the present without), ``headers`` (list of (key, value)), ``partition`` (Kafka's partitioner
    without).

    ``load_id``: a name for the load, unique in the cluster (it is a transactional id). A load that ended early is
    completed by another call with the same name and the same rows in the same order: nothing is appended twice. Without
    a name, a load that fails leaves what it had appended.

    ``compression``: none, gzip, snappy, lz4 or zstd; without it the topic's ``compression.type``, or none.

    Raises ValueError for a wrong argument or row (nothing is appended then), LoadError when the brokers refuse, and
    LoadBuildError when the segments cannot be written.
    """
    if compression is not None and compression not in CODECS:
        raise ValueError(f"compression is {compression!r}; give one of {', '.join(CODECS)}")
    if load_id == "":
        raise ValueError(f"load_id is {load_id!r}; give a text, or leave it out")
    one = _Load(topic, rows, compression, compression_level, load_id)
    client = LoadClient(bootstrap_servers, timeout_s)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(one.run(client))
    with ThreadPoolExecutor(1, thread_name_prefix="kafkastore-load") as pool:  # a notebook, say, runs a loop of its own
        return pool.submit(lambda: asyncio.run(one.run(client))).result()


def streams_of(rows: Any) -> Iterator[Any]:
    """The Arrow streams of the rows."""
    if hasattr(rows, "__arrow_c_stream__"):
        yield rows
        return
    if isinstance(rows, str | bytes) or not hasattr(rows, "__iter__"):
        raise ValueError(f"rows is of type {type(rows).__name__}; give Arrow data, as pyarrow.table(...)")
    several: Iterable[Any] = rows
    for part in several:
        if not hasattr(part, "__arrow_c_stream__"):
            raise ValueError(f"rows has a {type(part).__name__}; give Arrow data, as pyarrow.table(...)")
        yield part


class _Load:
    """One load from start to end."""

    def __init__(self, topic: str, rows: Any, compression: str | None, level: int | None, load_id: str | None) -> None:
        self._topic = topic
        self._rows = rows
        self._compression = compression
        self._level = level
        self._load_id = load_id

    async def run(self, client: LoadClient) -> LoadResult:
        async with client.within():
            topic = await client.topic(self._topic)
            for partition, leader in enumerate(topic.leaders):
                if leader.log_dir is None:
                    raise LoadError(
                        f"the log directory of {topic.name}-{partition} is on broker {leader.node_id} at "
                        f"{leader.host}, not on this machine; load there, or use a producer"
                    )
            producer = await client.producer(self._load_id)
            known = [0] * len(topic.leaders)
            if producer[1] > 0:  # the load was begun before
                for partition in range(len(known)):
                    known[partition] = await client.records_in(topic, partition, producer)
            try:
                built = await asyncio.to_thread(self._build, topic, producer, known)
                adopted = await self._adopt(client, topic, producer, known, built)
            finally:
                self._remove(topic, producer)
            return LoadResult(adopted, sum(count for count, _ in built), sum(size for _, size in built))

    def _build(self, topic: Topic, producer: tuple[int, int], known: list[int]) -> list[tuple[int, int]]:
        targets = []
        for partition, leader in enumerate(topic.leaders):
            assert leader.log_dir is not None
            staging.remove_earlier(leader.log_dir, topic.name, partition, *producer)
            targets.append((str(leader.log_dir / staging.dir_name(topic.name, partition, *producer)), known[partition]))
        codec = self._codec(topic)
        batch_bytes = min(BATCH_BYTES, topic.max_message_bytes)
        if codec != "none":
            batch_bytes -= batch_bytes // COMPRESSED_MARGIN
        builder = LoadBuilder(
            topic.name,
            targets,
            producer_id=producer[0],
            producer_epoch=producer[1],
            compression=codec,
            level=self._level,
            batch_bytes=batch_bytes,
            max_message_bytes=topic.max_message_bytes,
            segment_bytes=topic.segment_bytes,
            needs_keys=topic.is_compacted,
            now_ms=int(time.time() * 1000),
        )
        for stream in streams_of(self._rows):
            builder.append(stream)
        return builder.finish()

    def _codec(self, topic: Topic) -> str:
        wanted = {"producer": None, "uncompressed": "none"}.get(topic.compression_type, topic.compression_type)
        if wanted is not None and self._compression not in (None, wanted):
            raise ValueError(
                f"compression is {self._compression}, and compression.type of topic {topic.name} is "
                f"{topic.compression_type}; leave compression out"
            )
        return wanted or self._compression or "none"

    async def _adopt(
        self,
        client: LoadClient,
        topic: Topic,
        producer: tuple[int, int],
        known: list[int],
        built: list[tuple[int, int]],
    ) -> dict[int, Adopted]:
        for partition, (count, _) in enumerate(built):
            if count < known[partition]:
                raise LoadError(
                    f"{topic.name}-{partition} has {known[partition]} records of load {self._load_id}, and the rows "
                    f"give it {count}: call it with the same rows in the same order, or with another load_id"
                )
        wanted = [partition for partition, (count, _) in enumerate(built) if count > 0]
        is_new = producer[1] == 0
        adoptions = [
            # a log that has all of the load says where, whatever sequence is named
            client.adopt(topic, partition, producer, known[partition] % count, count, is_new=is_new)
            for partition in wanted
            if (count := built[partition][0])
        ]
        ended = await asyncio.gather(*adoptions, return_exceptions=True)
        adopted = {}
        failures = []
        for partition, outcome in zip(wanted, ended, strict=True):
            if isinstance(outcome, LoadError):
                failures.append(outcome.client_message)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                adopted[partition] = outcome
        if failures:
            done = f"; {len(adopted)} of {len(wanted)} partitions have it" if adopted else ""
            raise LoadError(f"{'; '.join(failures[:3])}{done}")
        return adopted

    def _remove(self, topic: Topic, producer: tuple[int, int]) -> None:
        for partition, leader in enumerate(topic.leaders):
            if leader.log_dir is not None:
                staging.remove(leader.log_dir / staging.dir_name(topic.name, partition, *producer))


__all__ = ["LoadBuildError", "LoadError", "LoadResult", "load"]
