"""The archive of Spark's classes (`peer/class_data.py`): a session starts in half the CPU time. One is for drivers,
executors and daemons, whose class path is the same.

Run as a module this is the training: ``python -m spark.class_data ARCHIVE``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pyspark

from peer import class_data

TESTS = Path(__file__).parents[1]
LIMIT_S = 300.0
ROWS = 1000


@cache
def options() -> str:
    """Options of a JVM with Spark's class path; empty where no archive can be made."""
    jars = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    return " ".join(class_data.mapping(class_data.trained("spark", jars, _train) / "spark.jsa"))


def _train(folder: Path) -> None:
    command = [sys.executable, "-m", "spark.class_data", str(folder / "spark.jsa")]
    subprocess.run(command, cwd=TESTS, capture_output=True, timeout=LIMIT_S, check=True)


def main() -> None:
    """A session that writes and reads Parquet, joins, aggregates, and streams from files."""
    from pyspark.sql import functions as f

    from spark.session import start_session

    spark = start_session("local[2]", archive=" ".join(class_data.dumping(Path(sys.argv[1]))))
    gateway: Any = spark.sparkContext._gateway
    with tempfile.TemporaryDirectory(prefix="kafkastore-class-data-") as scratch:
        rows = spark.range(ROWS).select("id", (f.col("id") % 7).alias("key"), f.col("id").cast("string").alias("value"))
        rows.write.mode("overwrite").partitionBy("key").parquet(f"{scratch}/rows")
        read = spark.read.parquet(f"{scratch}/rows").where("value > '5'")
        read.join(rows, "id").groupBy(rows["key"]).agg(f.max("id"), f.count("*")).orderBy("key").collect()
        stream = spark.readStream.schema(read.schema).parquet(f"{scratch}/rows").writeStream.format("noop")
        stream.option("checkpointLocation", f"{scratch}/checkpoint").trigger(
            availableNow=True
        ).start().awaitTermination()
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(LIMIT_S)  # it writes the archive


if __name__ == "__main__":
    main()
