"""Staging the rows of a bulk load in Spark's JVM: the jar's tasks build segments in Rust (``java/``, ``rust/jni``).

The rows stay in the executors' JVMs, where a task in Python would get each of them through a socket. Runs where the
session has the jar (:func:`kafkastore.spark.configure`). Decides nothing about a load, and asks no broker.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from kafkastore.loading import steps
from kafkastore.loading.cluster import LoadError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafkastore.loading.cluster import LoadTopic

TIMESTAMP = "timestamp"


def bulk_load_of(frame: DataFrame) -> Any | None:
    """The jar's class that stages the data frame; None when the session has no jar, or the frame a column that tasks
    in Python take and the jar does not (a timestamp as a number or without a zone)."""
    types = dict(frame.dtypes)
    if types.get(TIMESTAMP, TIMESTAMP) != TIMESTAMP:
        return None
    jvm = getattr(frame.sparkSession, "_jvm", None)
    if jvm is None:  # a session of Spark Connect
        return None
    found = jvm.io.kafkastore.spark.BulkLoad
    return found if hasattr(found, "stage") else None


def stage(
    bulk_load: Any,
    frame: DataFrame,
    topic: LoadTopic,
    plan: steps.LoadPlan,
    load_id: str,
    driver: tuple[int, int],
    options: dict[str, str],
) -> list[dict[str, Any]]:
    """``producer`` and ``built`` of each task in order, as in ``StagedSegments`` (``loading/steps.py``). ``options``:
    of a Kafka client, prefixed with ``kafka.``. Raises ValueError, LoadError, and Spark's errors of a failed task."""
    request = {
        "options": options,
        "topic": topic.name,
        "clusterId": topic.cluster_id,
        "leaders": [{"node": one.node_id, "host": one.host, "dir": str(one.told_dir or "")} for one in topic.leaders],
        "loadId": load_id,
        "driverId": driver[0],
        "driverEpoch": driver[1],
        "compression": steps.codec_of(topic, plan),
        "level": plan.level,
        "batchBytes": steps.batch_bytes_of(topic, plan),
        "maxMessageBytes": topic.max_message_bytes,
        "segmentBytes": topic.segment_bytes,
        "needsKeys": topic.is_compacted,
        "nowMs": int(time.time() * 1000),
    }
    java: Any = frame._jdf  # noqa: SLF001 - the frame in the JVM has no public name
    answer = json.loads(bulk_load.stage(java.queryExecution().toRdd(), java.schema(), json.dumps(request)))
    if "error" in answer:
        raise (ValueError if answer["isMistake"] else LoadError)(answer["error"])
    staged: list[dict[str, Any]] = answer["staged"]
    return staged
