"""A driver of the pipeline, a process of its own that `pipeline_kills` kills: one of the works, at an even pace.

python -m spark.pipeline_job '{"work": "stream", "master": ..., "bootstrap": ..., "path": ..., "folder": ..., ...}'

export  the topic `flights` to Parquet files, as `kafkastore spark export` does
stream  the same by a stream into Spark's own Parquet sink
sink    a stream of the topic into the topic `copy`, exactly once
load    the rows of the Parquet files in `input`, after a shuffle, into the topic `copy`

Ends when all that was there at its start is written.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import kafkastore.spark
from kafkastore.spark.pipeline.export import Export, export_topics
from spark.session import start_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

PACE = {"subscribe": "flights", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "400"}


def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        time.sleep(0.05)
        yield batch


def export(spark: SparkSession, request: dict[str, str]) -> None:
    export_topics(
        spark,
        Export(
            options={"path": request["path"], "subscribe": "flights", "kafka.bootstrap.servers": request["bootstrap"]},
            output=f"{request['folder']}/lake",
            checkpoint=f"{request['folder']}/lake.checkpoint",
            batch_bytes=200_000,
            file_bytes=1 << 20,
        ),
    )


def stream(spark: SparkSession, request: dict[str, str]) -> None:
    reader: Any = spark.readStream.format("kafkastore").options(**PACE, path=request["path"])
    frame = reader.option("kafka.bootstrap.servers", request["bootstrap"]).load()
    writer = frame.writeStream.format("parquet").option("checkpointLocation", f"{request['folder']}/checkpoint")
    writer.trigger(availableNow=True).start(f"{request['folder']}/out").awaitTermination()


def sink(spark: SparkSession, request: dict[str, str]) -> None:
    reader: Any = spark.readStream.format("kafkastore").options(**PACE, path=request["path"], includeHeaders="true")
    frame = reader.option("kafka.bootstrap.servers", request["bootstrap"]).load().drop("topic")
    writer = frame.writeStream.format("kafkastore").option("kafka.bootstrap.servers", request["bootstrap"])
    writer = (
        writer.option("topic", "copy").option("deliveryGuarantee", "exactly-once").option("includeTimestamps", "true")
    )
    writer = writer.option("checkpointLocation", f"{request['folder']}/checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()


def load(spark: SparkSession, request: dict[str, str]) -> None:
    rows = spark.read.parquet(request["input"]).repartition(6)
    kafkastore.spark.load(
        "copy",
        rows.mapInArrow(slowly, rows.schema),
        bootstrap_servers=request["bootstrap"],
        load_id=request["load_id"],
        tasks=6,
        timeout_s=60,
    )


WORKS = {"export": export, "stream": stream, "sink": sink, "load": load}


def main() -> None:
    request = json.loads(sys.argv[1])
    spark = start_session(request["master"], request["conf"])
    sys.stdout.write("started\n")
    sys.stdout.flush()
    WORKS[request["work"]](spark, request)
    spark.stop()


if __name__ == "__main__":
    main()
