"""The driver of a streaming query that writes exactly once, a process of its own that tests kill.

python -m spark.sink_job '{"master": ..., "bootstrap": ..., "topic": ..., "input": ..., "checkpoint": ..., ...}'

It reads the files of the input, one for each batch, and ends when all are written. With `troubles` the first attempt of
a task of the first partition is slow, that of a task of the second fails in between, and values are large, so that
records of such attempts are on the broker.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pyspark import TaskContext
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

from spark.session import start_session

WIDTH = 16_000
"""Of a value: a hundred of them, which Spark gives to the function at a time, fill several batches."""
TROUBLE_AFTER = 150
calls: dict[int, int] = {}
"""By attempt."""


def trouble(line: str) -> str:
    """The line, made wide; see the module."""
    task = TaskContext.get()
    assert task is not None
    attempt = task.taskAttemptId()
    calls[attempt] = calls.get(attempt, 0) + 1
    has_trouble = task.attemptNumber() == 0 and calls[attempt] > TROUBLE_AFTER
    if has_trouble and task.partitionId() == 0:
        time.sleep(0.1)
    if has_trouble and task.partitionId() == 1:
        time.sleep(1)  # what was written before is on its way
        raise ValueError("a planned failure")
    return line.ljust(WIDTH)


def main() -> None:
    request = json.loads(sys.argv[1])
    spark = start_session(request.get("master", "local[2]"), request.get("conf"))
    frame = spark.readStream.option("maxFilesPerTrigger", 1).text(request["input"]).repartition(3)
    if request.get("troubles"):
        frame = frame.select(F.udf(trouble, "string")("value").alias("value"))
    writer: Any = frame.writeStream.format("kafkastore").options(**request.get("options", {}))
    writer = writer.option("kafka.bootstrap.servers", request["bootstrap"]).option("topic", request["topic"])
    writer = writer.option("deliveryGuarantee", "exactly-once").option("checkpointLocation", request["checkpoint"])
    query = writer.trigger(availableNow=True).start()
    sys.stdout.write("started\n")
    sys.stdout.flush()
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
