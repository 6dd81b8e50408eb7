"""The driver of a query on a cluster, a process of its own as a user's would be: a JSON request in, JSON answers out.

python -m spark.cluster_job '{"master": ..., "path": ..., "topic": ..., "link_dir": ...}'
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

from kafkastore.spark import scan_segments, schema, segments
from spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CONF = {"spark.cores.max": "2", "spark.executor.cores": "1"}


def digest(frame: DataFrame) -> list[Any]:
    """Count, sums over every column."""
    columns = [
        F.count("*"),
        F.sum("offset"),
        F.sum("partition"),
        F.sum(F.unix_millis("timestamp") % 1_000_003),
        F.sum(F.crc32(F.coalesce("key", F.lit(b"null")))),
        F.sum(F.crc32(F.coalesce("value", F.lit(b"null")))),
        F.sum(F.crc32(F.to_json("headers").cast("binary"))),
    ]
    row = frame.agg(*columns).first()
    assert row is not None
    return list(row)


def main() -> None:
    request = json.loads(sys.argv[1])
    spark = start_session(request["master"], CONF)
    try:
        options = {"path": request["path"], "subscribe": request["topic"], "minPartitions": "6"}
        source = spark.read.format("kafkastore").options(**options, includeHeaders="true")
        plan = segments(spark, request["path"], request["topic"], minPartitions=6)
        mapped = plan.mapInArrow(scan_segments(schema(include_headers=True).names), schema(include_headers=True))
        answers = {
            "source": digest(source.load()),
            "links": digest(source.option("linkDir", request["link_dir"]).load()),
            "mapped": digest(mapped),
            "pushed": len(source.load().filter("partition = 1 AND offset < 25").select("key").collect()),
            "executors": plan.rdd.map(lambda _: os.environ["SPARK_EXECUTOR_DIRS"]).distinct().count(),
        }
    finally:
        spark.stop()
    sys.stdout.write(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()
