"""Aggregates the flights from the segment files while the broker runs: Spark in a process of its own, DuckDB in this
one.

The broker is asked only how far may be read; no record comes from it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.flights import Delays
from demo.produce import TOPIC
from demo.progress import Progress

OLDEST_JAVA = 17
SPARK_LIMIT_S = 180
SQL = (
    "select decode(key), count(*), count(late), sum(late)"
    " from (select key, (decode(value) ->> 'arr_delay')::int as late from flights) group by all"
)


@dataclass
class Answer:
    """The delays that one reader found, and the seconds its query took."""

    delays: Delays
    seconds: float


@dataclass
class SparkAnswer(Answer):
    """`seconds`: of the second query, `first_seconds`: of the first, `text_seconds`: of a query over a text file."""

    start_seconds: float
    first_seconds: float
    text_seconds: float


def java_major(version: str) -> int | None:
    """The major version from the output of `java -version`: 17, or 8 for `1.8.0`; None when there is no version."""
    found = re.search(r'version "(?:1\.)?(\d+)', version)
    return int(found[1]) if found else None


def why_no_spark() -> str | None:
    """The reason that Spark cannot start, with the fix; None when it can."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    fix = f"install Java {OLDEST_JAVA} or newer, for instance the package openjdk-17-jdk-headless, and run it again"
    if java is None:
        return f"there is no java on the PATH; {fix}"
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=30).stderr
    except (OSError, subprocess.SubprocessError):
        return f"{java} does not run; correct JAVA_HOME, or {fix}"
    major = java_major(told)
    if major is None or major < OLDEST_JAVA:
        return f"{java} is version {major or 'unknown'}; {fix}"
    return None


def with_spark(bootstrap: str, log_dirs: str, records: list[tuple[bytes, bytes]]) -> SparkAnswer:
    """Starts Spark on two cores and aggregates the topic out of `log_dirs` (comma separated). SystemExit when it
    fails."""
    with tempfile.TemporaryDirectory(prefix="kafkastore-demo-spark-", ignore_cleanup_errors=True) as folder:
        text_file, log_file = Path(folder) / "flights.json", Path(folder) / "spark.log"
        with text_file.open("wb") as file:
            file.writelines(value + b"\n" for _, value in records)
        command = [sys.executable, "-m", "demo.spark_job", bootstrap, log_dirs, str(text_file)]
        with log_file.open("wb") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as process:
            limit = threading.Timer(SPARK_LIMIT_S, process.kill)
            limit.start()
            try:
                answer = follow(process.stdout or [], len(records))
                process.wait()
            finally:
                limit.cancel()
                process.terminate()
        if answer is None:
            lines = log_file.read_text(errors="replace").strip().splitlines()
            raise SystemExit(f"Spark ended early ({process.returncode}): {lines[-1] if lines else 'it said nothing'}")
    return answer


def follow(lines: Iterable[bytes], total: int) -> SparkAnswer | None:
    """Shows the job's reports as a progress bar and returns its answer; None when it ends without an answer."""
    told: dict[str, Any] = {}
    done = 0
    progress = Progress("spark", total)
    progress.say("Spark starts on two cores")
    for line in lines:
        news: dict[str, Any] = json.loads(line)
        told |= news
        if "failed" in news:
            raise SystemExit(f"Spark failed: {news['failed']}")
        if "started" in news:
            progress = Progress("spark", total)
        elif "done" in news:
            done = max(done, int(total * news["done"]))  # the last stage, of sums, begins at 0 again
            progress.update(done)
        elif "rows" in news:
            progress.finish(sum(flights for _, flights, _, _ in news["rows"]))
            progress.say("now with a warm JVM: the same again, and from a text file")
    if "again" not in told:
        return None
    return SparkAnswer(Delays.of_rows(told["rows"]), told["again"], told["started"], told["first"], told["text"])


def with_duckdb(bootstrap: str, log_dirs: str, total: int) -> Answer:
    """Aggregates the topic with one statement over `kafkastore.scan`. SystemExit when it fails."""
    import duckdb

    from kafkastore import ScanError, scan

    progress = Progress("duckdb", total)
    started = time.perf_counter()
    try:
        rows = aggregate(scan(log_dirs.split(","), TOPIC, columns=["key", "value"], bootstrap_servers=bootstrap))
    except (OSError, ValueError, ScanError, duckdb.Error) as error:
        raise SystemExit(f"DuckDB failed: {error}") from error
    answer = Answer(Delays.of_rows(rows), time.perf_counter() - started)
    progress.finish(answer.delays.total_flights)
    return answer


def aggregate(flights: object) -> list[tuple[str, int, int, int]]:
    """(carrier, flights, arrivals, minutes), by DuckDB, of any object that gives Arrow with the columns `key` and
    `value`."""
    import duckdb

    with duckdb.connect() as connection:
        rows = connection.register("flights", flights).execute(SQL).fetchall()
    return [(carrier, count, arrivals, int(minutes or 0)) for carrier, count, arrivals, minutes in rows]
