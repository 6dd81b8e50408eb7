"""A driver of Spark that keeps everything it is shown: plans, progress, pages, errors.

What it is asked for: ``options`` by login (those of source and sink), ``refused`` (options that no broker lets in),
``source`` and ``target`` (topics), ``path`` (log directories), ``folder``, and ``conf`` of the session. It writes
``shown.txt`` into the folder, and the event log below ``events``.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAGES = ("SQL/", "StreamingQuery/", "environment/", "jobs/", "stages/")
ANSWERS = ("sql?details=true&length=1000", "environment", "jobs", "stages?details=true", "allexecutors")
MODES = ("extended", "cost", "formatted")


class Shown:
    """Texts, each behind where it was seen."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")

    def add(self, where: str, text: object) -> None:
        self._file.write(f"\n===== {where}\n{text}")
        self._file.flush()


def plans(spark: SparkSession, frame: DataFrame) -> str:
    """Every form in which Spark shows the plan of a frame."""
    execution: Any = frame._jdf.queryExecution()
    java: Any = spark._jvm
    mode = java.org.apache.spark.sql.execution.ExplainMode
    texts = [execution.explainString(mode.fromString(name)) for name in MODES]
    trees = [execution.logical(), execution.analyzed(), execution.executedPlan()]
    return "\n".join([*texts, execution.toString(), *(f"{tree.treeString()}\n{tree.prettyJson()}" for tree in trees)])


def page(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        return str(answer.read().decode())


def error_of(error: BaseException) -> str:
    """The error's text and those of its causes in Java, with their frames."""
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    texts = [str(error), repr(error)]
    while java is not None:
        texts += [java.toString(), *(frame.toString() for frame in java.getStackTrace())]
        java = java.getCause()
    return "\n".join(texts)


def run(spark: SparkSession, asked: dict[str, Any], shown: Shown) -> None:
    """Reads, writes and streams by each login, and tries the refused ones."""
    rows = spark.range(0, 10, 1, 2).selectExpr("cast(id as string) as value")
    once = {"deliveryGuarantee": "exactly-once", "transactionalIdPrefix": "etl"}
    for login, given in asked["options"].items():
        frame = spark.read.format("kafkastore").options(**given, subscribe=asked["source"], path=asked["path"]).load()
        assert frame.distinct().count() > 0
        shown.add(f"plans of a frame by {login}", plans(spark, frame.filter("offset > 1")))
        rows.write.format("kafkastore").options(**given, **once, topic=asked["target"]).save()
        stream = spark.readStream.format("kafkastore").options(**given, subscribe=asked["source"]).load()
        analyzed: Any = stream._jdf.queryExecution()
        shown.add(f"plans of a stream by {login}", analyzed.toString())
        writer = stream.select("value").writeStream.format("kafkastore").options(**given, topic=asked["target"])
        query = writer.option("checkpointLocation", f"{asked['folder']}/checkpoint-{login}").start()
        query.processAllAvailable()
        java: Any = query._jsq
        shown.add(f"a query by {login}", f"{query.lastProgress} {query.status} {java.explainInternal(True)}")
        query.stop()
    for login, given in asked["refused"].items():
        for action in (count, save, stream_nothing):
            try:
                action(spark, given, asked)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
                shown.add(f"an error by {login}", error_of(error))
            else:
                raise AssertionError(f"{login} was let in")
    see_pages(spark, shown)


def count(spark: SparkSession, given: dict[str, str], asked: dict[str, Any]) -> None:
    spark.read.format("kafkastore").options(**given, subscribe=asked["source"]).load().count()


def save(spark: SparkSession, given: dict[str, str], asked: dict[str, Any]) -> None:
    rows = spark.range(1).selectExpr("cast(id as string) as value")
    rows.write.format("kafkastore").options(**given, topic=asked["target"]).save()


def stream_nothing(spark: SparkSession, given: dict[str, str], asked: dict[str, Any]) -> None:
    stream = spark.readStream.format("kafkastore").options(**given, subscribe=asked["source"]).load()
    query = stream.writeStream.format("noop").start()
    query.processAllAvailable()


def see_pages(spark: SparkSession, shown: Shown) -> None:
    at = str(spark.sparkContext.uiWebUrl)
    for name in ANSWERS:
        address = f"{at}/api/v1/applications/{spark.sparkContext.applicationId}/{name}"
        shown.add(f"the answer to {name}", page(address))
    for name in PAGES:
        shown.add(f"the page {name}", page(f"{at}/{name}"))
    executions = json.loads(page(f"{at}/api/v1/applications/{spark.sparkContext.applicationId}/sql?length=1000"))
    for number in range(len(executions)):
        shown.add(f"the page of execution {number}", page(f"{at}/SQL/execution/?id={number}"))


def main() -> None:
    asked = json.loads(sys.argv[1])
    folder = Path(asked["folder"])
    (folder / "events").mkdir()
    conf = {
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": str(folder / "events"),
        "spark.sql.planChangeLog.level": "info",
        **asked["conf"],
    }
    spark = start_session("local[2]", conf)
    spark.sparkContext.setLogLevel("INFO")
    run(spark, asked, Shown(folder / "shown.txt"))
    spark.stop()


if __name__ == "__main__":
    main()
