"""The sinks that are compared: each writes the same rows to a topic of its own, and all of them must be there.

write       every row, at least once
write_once  the same in transactions (deliveryGuarantee exactly-once); Spark's own sink has none
"""

from __future__ import annotations

import itertools
import sys
import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's usual name
from topic import TOPIC_CONFIG, Load

from peer.broker_process import BrokerProcess
from peer.topics import admin_client, create_topic, end_offsets

USERS = 100_000
LIMIT_S = 60
SINKS = {"connector": "kafka", "kafkastore": "kafkastore"}
Seconds = dict[tuple[str, str], list[float]]


def rows(spark: SparkSession, load: Load, cores: int) -> DataFrame:
    """Keys of 100,000 users, and values of about the load's bytes, made as the rows are written."""
    padding = F.lit("x" * (load.value_bytes - 40))
    value = F.concat(F.lit('{"id":'), "id", F.lit(',"hash":'), F.xxhash64("id"), padding, F.lit("}"))
    key = F.concat(F.lit("user-"), F.lpad((F.col("id") % USERS).cast("string"), 6, "0"))
    return spark.range(0, load.records, 1, 2 * cores).select(key.alias("key"), value.alias("value"))


def measure_writes(spark: SparkSession, broker: BrokerProcess, load: Load, cores: int, rounds: int) -> Seconds:
    """Writes with every sink by turns, after a round that warms up. RuntimeError when records are missing."""
    frame = rows(spark, load, cores)
    seconds: Seconds = {}
    admin = admin_client(broker.bootstrap)
    numbers = itertools.count()
    options = {"kafka.bootstrap.servers": broker.bootstrap, "kafka.compression.type": load.codec}
    for number in range(rounds + 1):
        for query, name in (("write", "connector"), ("write", "kafkastore"), ("write_once", "kafkastore")):
            topic = create_topic(broker.bootstrap, f"written-{next(numbers)}", load.partitions, TOPIC_CONFIG)
            guarantee = {"deliveryGuarantee": "exactly-once"} if query == "write_once" else {}
            started = time.perf_counter()
            frame.write.format(SINKS[name]).options(**options, **guarantee, topic=topic).save()
            took = time.perf_counter() - started
            found = sum(high for _, high in end_offsets(broker.bootstrap, topic).values())
            if found < load.records:
                raise RuntimeError(f"{query}: {name} wrote {found} of {load.records} records")
            admin.delete_topics([topic])[topic].result(LIMIT_S)
            if number:
                seconds.setdefault((query, name), []).append(took)
            sys.stderr.write(f"{number} {query:<10} {name:<11} {took:7.3f} s\n")
    for one in seconds["write", "connector"]:  # the measure of both
        seconds.setdefault(("write_once", "connector"), []).append(one)
    return seconds
