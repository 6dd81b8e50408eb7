"""The driver of a bulk load from Spark, a process of its own that tests kill.

python -m spark.load_job '{"master": ..., "bootstrap": ..., "topic": ..., "input": ..., "load_id": ..., "conf": ...}'

The rows come through a shuffle, so that a task gets them in another order each time. Prints the records of the load.
"""

from __future__ import annotations

import json
import sys

import kafkastore.spark
from spark.session import start_session


def main() -> None:
    request = json.loads(sys.argv[1])
    spark = start_session(request.get("master", "local[2,4]"), request.get("conf"))
    rows = spark.read.parquet(request["input"]).repartition(3)
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
