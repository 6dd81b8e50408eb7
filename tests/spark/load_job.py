"""The driver of a bulk load from Spark, a process of its own that tests kill.

python -m spark.load_job '{"bootstrap": ..., "topic": ..., "input": ..., "load_id": ..., "marks": ...}'

The rows come through a shuffle, so that a task gets them in another order each time. With `marks`, a folder, the first
attempt of each task dies when it has staged all its rows. Prints the records of the load.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import TaskContext

import kafkastore.spark
from spark.session import start_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa


def dying_once(marks: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        context = TaskContext.get()
        assert context is not None
        mark = Path(marks) / str(context.partitionId())
        if not mark.exists():
            mark.touch()
            os._exit(1)

    return rows


def main() -> None:
    request = json.loads(sys.argv[1])
    spark = start_session("local[2,4]")
    rows = spark.read.parquet(request["input"]).repartition(3)
    if "marks" in request:
        rows = rows.mapInArrow(dying_once(request["marks"]), rows.schema)
    result = kafkastore.spark.load(
        request["topic"],
        rows,
        bootstrap_servers=request["bootstrap"],
        load_id=request["load_id"],
        tasks=3,
        timeout_s=60,
    )
    sys.stdout.write(f"{result.records}\n")
    spark.stop()


if __name__ == "__main__":
    main()
