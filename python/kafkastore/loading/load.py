"""``kafkastore.load``: rows become segments in the leaders' log directories, and the brokers adopt them as an append.

For backfills: the machine that calls it has the log directories of the partitions' leaders, and the brokers' user id.
Other topics take a producer.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kafkastore._core import LoadBuildError
from kafkastore.loading import steps
from kafkastore.loading.cluster import LoadClient, LoadedOffsets, LoadError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator, Sequence

    from kafkastore.interbroker.command_config import CommandConfig

T = TypeVar("T")


@dataclass(frozen=True)
class LoadResult:
    """What a load has brought into the topic."""

    partitions: dict[int, LoadedOffsets]
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
    command_config: CommandConfig = None,
) -> LoadResult:
    """Appends ``rows`` to ``topic`` as segments that are built here. Returns when all in-sync replicas have them.

    ``rows``: anything with ``__arrow_c_stream__`` (a pyarrow Table or RecordBatchReader, a Polars or DuckDB frame), or
    several such in a row. Columns: ``value``, and as there are ``key`` (binary or text), ``timestamp`` (milliseconds,
    or any timestamp; the present without), ``headers`` (list of (key, value)), ``partition`` (Kafka's partitioner
    without).

    ``load_id``: a name for the load, unique in the cluster (it is a transactional id). A load that ended early is
    completed by another call with the same name and the same rows in the same order: nothing is appended twice. Without
    a name, a load that fails leaves what it had appended.

    ``command_config``: the path of a client.properties with ``security.protocol``, ``sasl.*`` and ``ssl.*``, or these
    keys as a mapping, for brokers that ask who their clients are.

    ``compression``: none, gzip, snappy, lz4 or zstd; without it the topic's ``compression.type``, or none.

    Raises ValueError for a wrong argument or row, ConfigError for a ``command_config`` that cannot be used (nothing is
    appended then), LoadError when the brokers refuse, and LoadBuildError when the segments cannot be written.
    """
    plan = steps.LoadPlan(topic, compression, compression_level, load_id)
    return run(_load(LoadClient(bootstrap_servers, timeout_s, command_config), plan, rows))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs the coroutine to its end, also in a thread that has a loop of its own, as a notebook's."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="kafkastore-load") as pool:
        return pool.submit(lambda: asyncio.run(work)).result()


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


async def _load(client: LoadClient, plan: steps.LoadPlan, rows: Any) -> LoadResult:
    async with client.within():
        topic = await client.topic(plan.topic)
        steps.check_is_here(topic)
        staged = await steps.stage(client, topic, plan, streams_of(rows))
        try:
            adopted = await steps.adopt(client, topic, plan, staged)
        finally:
            steps.remove(topic, staged.producer)
        return LoadResult(adopted, staged.records, staged.bytes)


__all__ = ["LoadBuildError", "LoadError", "LoadResult", "load"]
