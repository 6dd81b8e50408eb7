"""``kafkastore.spark.load``: Spark's tasks build segments, and the driver has the brokers adopt them.

    kafkastore.spark.load("orders", frame, bootstrap_servers="localhost:9092", load_id="backfill-2026-01")

Each task is a load of its own that only stages: in the executor's JVM where the session has the jar (bulk_load_jvm),
else in Python (kafkastore.loading).
Nothing is in a log before all tasks have ended, so a task that dies, or runs twice, brings no record twice, whatever
order its rows come in. Then the driver makes the decision (kafkastore.loading.decision) and asks the leaders: for one
partition, one task's segments after the other's.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafkastore.interbroker.command_config import properties_of, spark_options
from kafkastore.loading import decision, steps
from kafkastore.loading.cluster import FencedError, LoadClient, LoadedOffsets, LoadError, LoadTopic
from kafkastore.loading.decision import Parts, StagedPartition
from kafkastore.loading.load import LoadResult, run
from kafkastore.spark import bulk_load_jvm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kafkastore.interbroker.command_config import CommandConfig

RESULT = "task int, staged string"
MAX_PARTITIONS_AT_A_TIME = 16
Producer = tuple[int, int]
"""Producer id and epoch."""


def load(
    topic: str,
    frame: DataFrame,
    *,
    bootstrap_servers: str | Sequence[str] = "localhost:9092",
    compression: str | None = None,
    compression_level: int | None = None,
    load_id: str | None = None,
    tasks: int | None = None,
    timeout_s: float = 300.0,
    command_config: CommandConfig = None,
) -> LoadResult:
    """Appends the rows of a Spark data frame to ``topic`` as segments that Spark's tasks build. Arguments, columns and
    errors are those of :func:`kafkastore.load`; each executor sees the leaders' log directories and has the brokers'
    user id.

    ``tasks``: the data frame is coalesced to so many partitions, by default one for each core, since each task leaves
    at least one segment in every partition of the topic that its rows go to.

    ``load_id``: a load that was ended by a crash of the driver is completed by another call with the same one, whether
    or not the rows come in the same order again. Nothing is appended twice, and nothing in part unless the brokers
    refuse one partition and not another.

    ``command_config``: read on the driver, which hands its keys to the executors; files that these name are there, too.

    Raises ValueError, ConfigError and LoadError, and Spark's error for a task that failed of another cause. Without the
    jar Spark's error stands for each error of a task, and has ours as its last line."""
    plan = steps.LoadPlan(topic, compression, compression_level, load_id)
    if tasks is not None and tasks < 1:
        raise ValueError(f"tasks is {tasks}; give at least 1")
    if load_id is None:
        load_id = f"kafkastore-load-{uuid.uuid4()}"

    properties = properties_of(command_config)

    def client() -> LoadClient:
        return LoadClient(bootstrap_servers, timeout_s, properties)

    topic_now, driver, parts = run(_begin(client(), plan, load_id))
    if parts is not None:
        return run(_adopt(client(), topic, load_id, driver, parts, 0, is_new=False))
    few = frame.coalesce(tasks or frame.sparkSession.sparkContext.defaultParallelism)
    bulk_load = bulk_load_jvm.bulk_load_of(few)
    try:
        if bulk_load is not None:
            options = {**_kafka_options(bootstrap_servers, timeout_s), **spark_options(properties)}
            staged = bulk_load_jvm.stage(bulk_load, few, topic_now, plan, load_id, driver, options)
        else:
            rows = few.mapInArrow(_stage_rows(plan, load_id, driver, client), RESULT).collect()
            staged = [json.loads(row.staged) for row in sorted(rows, key=lambda row: int(row.task))]
    except BaseException:
        with suppress(LoadError):  # fences tasks that still run
            run(_begin(client(), plan, load_id))
        raise
    parts, size = _parts(staged)
    run(_decide(client(), topic, load_id, driver, parts))
    return run(_adopt(client(), topic, load_id, driver, parts, size, is_new=True))


def _kafka_options(servers: str | Sequence[str], timeout_s: float) -> dict[str, str]:
    listed = [servers] if isinstance(servers, str) else servers
    return {"kafka.bootstrap.servers": ",".join(listed), "kafka.max.block.ms": str(int(timeout_s * 1000))}


async def _begin(client: LoadClient, plan: steps.LoadPlan, load_id: str) -> tuple[LoadTopic, Producer, Parts | None]:
    """The topic, the driver's producer, and the decision of an earlier driver. Without one, removes what its tasks have
    left."""
    async with client.within():
        topic = await client.topic(plan.topic)
        steps.codec_of(topic, plan)
        driver, parts = await decision.begin(client, load_id, plan.topic)
        if parts is None:
            steps.sweep(topic, load_id, before=driver[1])
        return topic, driver, parts


def _stage_rows(
    plan: steps.LoadPlan, load_id: str, driver: Producer, client: Callable[[], LoadClient]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that a task runs over its rows; it yields one row, of :data:`RESULT`."""

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        task = context.partitionId()
        streams = (pa.Table.from_batches([batch]) for batch in batches)
        staged = asyncio.run(_stage(client(), plan, load_id, driver, streams))
        yield pa.RecordBatch.from_pydict(
            {"task": pa.array([task], pa.int32()), "staged": pa.array([json.dumps(staged._asdict())])}
        )

    return stage


async def _stage(
    client: LoadClient, plan: steps.LoadPlan, load_id: str, driver: Producer, streams: Iterable[Any]
) -> steps.StagedSegments:
    """Each attempt of a task is an idempotent producer of its own, so that none can touch what another has staged."""
    async with client.within():
        topic = await client.topic(plan.topic)
        steps.check_is_here(topic)
        steps.sweep(topic, load_id, before=driver[1])
        staged = await steps.stage(client, topic, plan, streams, steps.DirectoryOwner(load_id, driver[1]))
        try:
            await decision.check(client, load_id, driver)
        except BaseException:
            steps.remove(topic, staged.producer)
            raise
        return staged


def _parts(staged: Iterable[dict[str, Any]]) -> tuple[Parts, int]:
    """The parts of each partition in the order of tasks, and the bytes of all batches."""
    parts: Parts = {}
    size = 0
    for of_task in staged:
        producer_id, epoch = of_task["producer"]
        for partition, (records, of_part) in enumerate(of_task["built"]):
            size += of_part
            if records:
                parts.setdefault(partition, []).append(StagedPartition((producer_id, epoch), records))
    return parts, size


async def _decide(client: LoadClient, name: str, load_id: str, driver: Producer, parts: Parts) -> None:
    async with client.within():
        try:
            if parts:
                await decision.make(client, load_id, name, driver, parts)
        except FencedError:
            topic = await client.topic(name)
            for producer in _producers(parts):
                steps.remove(topic, producer)
            raise


def _producers(parts: Parts) -> frozenset[Producer]:
    return frozenset(part.producer for of_partition in parts.values() for part in of_partition)


async def _adopt(
    client: LoadClient, name: str, load_id: str, driver: Producer, parts: Parts, size: int, *, is_new: bool
) -> LoadResult:
    async with client.within():
        topic = await client.topic(name)
        few = asyncio.Semaphore(MAX_PARTITIONS_AT_A_TIME)
        adoptions = [
            _adopt_partition(client, topic, partition, of_partition, few, is_new=is_new)
            for partition, of_partition in parts.items()
        ]
        try:
            adopted = steps.outcomes(list(parts), await asyncio.gather(*adoptions, return_exceptions=True))
        except LoadError as error:
            raise LoadError(f"{error.client_message}; call again with load_id={load_id!r} to complete it") from None
        steps.sweep(topic, load_id, before=driver[1] + 1)
        records = sum(part.records for of_partition in parts.values() for part in of_partition)
        return LoadResult(adopted, records, size)


async def _adopt_partition(
    client: LoadClient,
    topic: LoadTopic,
    partition: int,
    parts: list[StagedPartition],
    few: asyncio.Semaphore,
    *,
    is_new: bool,
) -> LoadedOffsets:
    """Where the first and the last of the partition's records are; producers may have written between them."""
    done: list[LoadedOffsets] = []
    async with few:
        for part in parts:
            # a log that has the part already says where, whatever sequence is named
            adopted = await client.adopt(topic, partition, part.producer, 0, part.records, is_new=is_new)
            done.append(adopted)
    return LoadedOffsets(
        min(one.base_offset for one in done), max(one.last_offset for one in done), sum(one.records for one in done)
    )


__all__ = ["LoadError", "LoadResult", "load"]
