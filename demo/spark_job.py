"""Spark's part of the demo, a process of its own: `spark_job.py BOOTSTRAP LOG_DIRS TEXT_FILE`.

Aggregates the flights twice from the segment files, first with a cold JVM, and once from a text file with the same
values, which shows the rate of Spark's JSON parser alone. Prints JSON lines: `{"started": seconds}`,
`{"done": share of the tasks}` while the first query runs,
`{"rows": [[carrier, flights, arrivals, minutes], ...], "first": seconds}` after it, and last
`{"again": seconds, "text": seconds}`; or `{"failed": sentence}`. Spark's log goes to stderr.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's usual name

from demo.produce import TOPIC
from kafkastore._core import ScanError
from kafkastore.spark import scan_segments, schema, segments

POLL_S = 0.1
SHARES = 4
"""Tasks of a query: enough for a bar that moves, few enough to start quickly."""
CONF = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",  # two cores and few seconds
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}
Row = tuple[str, int, int, int]


def say(**news: object) -> None:
    sys.stdout.write(json.dumps(news) + "\n")
    sys.stdout.flush()


def start(folder: Path) -> SparkSession:
    """A Spark session on loopback with its files below `folder`."""
    os.environ |= {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    builder: Any = SparkSession.builder.master("local[2]").appName("kafkastore-demo")
    places = {"spark.local.dir": str(folder / "spark"), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    for name, value in {**CONF, **places}.items():
        builder = builder.config(name, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def delays(values: DataFrame) -> list[Row]:
    """(carrier, flights, arrivals, minutes late at arrival) of a column `value` with flights as JSON."""
    flight = F.from_json(F.col("value").cast("string"), "carrier string, arr_delay int", {"mode": "FAILFAST"})
    minutes = F.col("flight.arr_delay")
    rows = (
        values.select(flight.alias("flight"))
        .groupBy("flight.carrier")
        .agg(F.count("*"), F.count(minutes), F.sum(minutes))
        .collect()
    )
    return sorted((row[0], row[1], row[2], row[3]) for row in rows)


def watch(spark: SparkSession, ended: threading.Event) -> None:
    """Reports which share of the running stage's tasks is done, until `ended` is set."""
    tracker = spark.sparkContext.statusTracker()
    while not ended.wait(POLL_S):
        for stage in tracker.getActiveStageIds():
            found = tracker.getStageInfo(stage)
            if found is not None and found.numTasks:
                say(done=found.numCompletedTasks / found.numTasks)


def sentence(message: str) -> str:
    """One sentence from an error message that may hold tracebacks of Python and Java: the first error of a Python
    traceback, else the message's first line."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    raised = [line.split(": ", 1)[1] for line in lines if re.match(r"\w*(Error|Exception): ", line)]
    return (raised or lines or ["Spark did not say why"])[0]


def run(bootstrap: str, log_dirs: str, text_file: Path) -> None:
    started = time.perf_counter()
    spark = start(text_file.parent)
    say(started=time.perf_counter() - started)
    options = {"minPartitions": str(SHARES), "kafka.bootstrap.servers": bootstrap}
    flights = segments(spark, log_dirs, TOPIC, **options).mapInArrow(scan_segments(["value"]), schema(["value"]))

    def timed(values: DataFrame) -> tuple[list[Row], float]:
        begun = time.perf_counter()
        return delays(values), time.perf_counter() - begun

    ended = threading.Event()
    watcher = threading.Thread(target=watch, args=(spark, ended))
    watcher.start()
    try:
        rows, first = timed(flights)
    finally:
        ended.set()
        watcher.join()
    say(rows=rows, first=first)
    same, again = timed(flights)
    of_text, text = timed(spark.read.text(str(text_file)))
    if not rows == same == of_text:
        raise RuntimeError("it answered differently the second time, or from the text file")
    say(again=again, text=text)
    spark.stop()


if __name__ == "__main__":
    try:
        run(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    except (PySparkException, Py4JError, ScanError, OSError, RuntimeError, ValueError) as error:
        say(failed=sentence(str(error)))
        raise SystemExit(1) from error
