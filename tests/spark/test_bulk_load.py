"""``kafkastore.spark.load``: what Spark's tasks build and the brokers adopt is what producers would have written, each
row once, whatever is killed (docs/bulk-load.md)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

import kafkastore.spark
from clients.conftest import START_TIME_MS
from kafkastore.loading.load import LoadError
from kafkastore.spark import bulk_load, bulk_load_jvm
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, free_port, wait_until
from peer.topics import create_topic, read_topic
from proof.scope import played
from spark.driver import Driver
from spark.request_trap import RequestTrap, Trap

pytestmark = pytest.mark.timeout(600)

PARTITIONS = 3
ROWS = 20_000
LIMIT_S = 120
SMALL = {"segment.bytes": "1048576", "retention.ms": "-1"}


def staged(broker: BrokerProcess) -> list[Path]:
    return list(broker.log_dir.glob("*.load-*"))


@pytest.fixture(params=["jvm", "python"])
def tasks_in(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the tasks of a load build; in Python where the session has no jar."""
    place: str = request.param
    if place == "python":
        monkeypatch.setattr(bulk_load_jvm, "bulk_load_of", lambda _: None)
    return place


def frame_of(spark: SparkSession, rows: int = ROWS) -> DataFrame:
    """Rows with every column that a load takes, some with nulls; the value tells the row."""
    row = F.col("id")
    value = F.when(row % 50 != 7, F.concat(F.lit("row "), row.cast("string"), F.repeat(F.lit("."), 200)))
    time = F.when(row % 50 != 9, F.timestamp_millis(F.lit(START_TIME_MS) + row))
    header = F.struct(F.lit("row").alias("key"), row.cast("string").cast("binary").alias("value"))
    null_header = F.struct(F.lit("null").alias("key"), F.lit(None).cast("binary").alias("value"))
    return spark.range(0, rows, 1, 5).select(
        F.when(row % 50 != 8, F.concat(F.lit("key "), row % 997)).alias("key"),
        value.alias("value"),
        time.alias("timestamp"),
        F.when(row % 3 == 0, F.array(header, null_header)).alias("headers"),
        F.when((row % 7 == 0) | (row % 50 == 8), (row % PARTITIONS).cast("int")).alias("partition"),
    )


def records_in(broker: BrokerProcess, topic: str) -> Counter[tuple[object, ...]]:
    """Each record's partition and columns; a time that the writer chose is none."""
    found: Counter[tuple[object, ...]] = Counter()
    for one in read_topic(broker.bootstrap, topic):
        time = one.timestamp()[1] - START_TIME_MS
        headers = tuple(one.headers() or ())
        found[one.partition(), one.key(), one.value(), time if time < ROWS else None, headers] += 1
    return found


def test_rows_are_where_a_producer_puts_them(
    spark: SparkSession, kafkastore_broker: BrokerProcess, tasks_in: str
) -> None:
    """Beside Spark's rows written by the sink, whose records are those of Spark's connector."""
    broker = kafkastore_broker
    loaded = create_topic(broker.bootstrap, f"loaded-{tasks_in}", PARTITIONS, SMALL)
    written = create_topic(broker.bootstrap, f"written-{tasks_in}", PARTITIONS, SMALL)
    frame = frame_of(spark)
    result = kafkastore.spark.load(loaded, frame, bootstrap_servers=broker.bootstrap, compression="zstd", tasks=2)
    assert result.records == ROWS
    frame.write.format("kafkastore").options(
        **{"kafka.bootstrap.servers": broker.bootstrap, "topic": written, "includeTimestamps": "true"}
    ).save()
    found = records_in(broker, loaded)
    assert found == records_in(broker, written)
    assert len(found) == ROWS
    assert {number: one.records for number, one in result.partitions.items()} == {
        number: sum(count for (partition, *_), count in found.items() if partition == number)
        for number in range(PARTITIONS)
    }
    assert staged(broker) == []


def test_a_timestamp_in_milliseconds_is_taken(spark: SparkSession, kafkastore_broker: BrokerProcess) -> None:
    """Such a column has no type of Kafka's in Spark; tasks in Python take it."""
    broker = kafkastore_broker
    topic = create_topic(broker.bootstrap, "milliseconds", PARTITIONS, SMALL)
    frame = frame_of(spark).withColumn("timestamp", F.unix_millis("timestamp"))
    kafkastore.spark.load(topic, frame, bootstrap_servers=broker.bootstrap)
    times = {found[3] for found in records_in(broker, topic)}
    assert times - {None} == {row for row in range(ROWS) if row % 50 != 9}


def test_mistakes_are_one_sentence_and_append_nothing(
    spark: SparkSession, kafkastore_broker: BrokerProcess, tasks_in: str
) -> None:
    """A mistake that a task finds is Spark's error, with ours in it, where tasks are in Python."""
    broker = kafkastore_broker
    name = f"mistaken-{tasks_in}"
    topic = create_topic(broker.bootstrap, name, PARTITIONS, SMALL | {"compression.type": "lz4"})
    frame = frame_of(spark, 100)
    of_task = ValueError if tasks_in == "jvm" else PySparkException

    def load(frame: DataFrame = frame, topic: str = topic, **more: object) -> None:
        kafkastore.spark.load(topic, frame, bootstrap_servers=broker.bootstrap, **more)  # type: ignore[arg-type]

    with pytest.raises(ValueError, match=r"^compression is zstd, and compression.type of topic mistaken-"):
        load(compression="zstd")
    with pytest.raises(ValueError, match=r"^tasks is 0; give at least 1"):
        load(tasks=0)
    with pytest.raises(ValueError, match=r"^load_id is ''"):
        load(load_id="")
    with pytest.raises(LoadError, match=r"topic never-created does not exist; create it first"):
        load(topic="never-created")
    with pytest.raises(of_task, match=r"there is no column value: name one|'value' not found; name the column"):
        load(frame.select("key"))
    with pytest.raises(of_task, match=r"column more: a load takes key, value, timestamp, headers and partition"):
        load(frame.withColumn("more", F.lit(1)))
    with pytest.raises(of_task, match=r"(column )?partition .*(bigint|Int64).*(cast it to int|make it int32)"):
        load(frame.withColumn("partition", F.lit(1).cast("long")))
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
    try:
        with pytest.raises(of_task, match=r"column partition: topic mistaken-\w+ has no partition 9; it has 3"):
            load(frame.withColumn("partition", F.when(F.col("key") == "key 55", 9).otherwise(1)))
        with pytest.raises((PySparkException, Py4JJavaError), match=r"the query's own mistake"):
            load(frame.withColumn("value", F.raise_error(F.lit("the query's own mistake")).cast("string")))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert read_topic(broker.bootstrap, topic) == []
    wait_until(lambda: staged(broker) == [], LIMIT_S, "tasks that still ran to remove what they have staged")
    load(load_id=f"of {name}")
    other = create_topic(broker.bootstrap, f"other-{tasks_in}", PARTITIONS)
    with pytest.raises(LoadError, match=rf"^load_id of {name} was used for topic {name}; give topic {other} another"):
        load(topic=other, load_id=f"of {name}")


def test_a_task_of_a_driver_that_was_thought_dead_stages_nothing(
    spark: SparkSession, kafkastore_broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first driver's tasks end, another driver loads the same."""
    broker = kafkastore_broker
    topic = create_topic(broker.bootstrap, "overtaken", PARTITIONS, SMALL)
    frame = frame_of(spark, 1000)
    stage = bulk_load_jvm.stage
    seen: list[object] = []

    def late(*given: object) -> object:
        if not seen:
            seen.append(given)
            kafkastore.spark.load(topic, frame, bootstrap_servers=broker.bootstrap, load_id="two")
        return stage(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(bulk_load_jvm, "stage", late)
    with pytest.raises(LoadError, match=r"^load two was begun again by another call, and this one has ended$"):
        kafkastore.spark.load(topic, frame, bootstrap_servers=broker.bootstrap, load_id="two")
    assert len(read_topic(broker.bootstrap, topic)) == 1000
    wait_until(lambda: staged(broker) == [], LIMIT_S, "tasks that still ran to remove what they have staged")


def test_a_driver_that_was_thought_dead_cannot_decide(
    spark: SparkSession, kafkastore_broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first driver's tasks and its decision another driver loads the same."""
    broker = kafkastore_broker
    topic = create_topic(broker.bootstrap, "fenced", PARTITIONS, SMALL)
    frame = frame_of(spark, 1000)
    parts_of = bulk_load._parts
    seen: list[object] = []

    def late(rows: list[dict[str, Any]]) -> object:
        if not seen:
            seen.append(rows)
            result = kafkastore.spark.load(topic, frame, bootstrap_servers=broker.bootstrap, load_id="one")
            assert result.records == 1000
        return parts_of(rows)

    monkeypatch.setattr(bulk_load, "_parts", late)
    with pytest.raises(LoadError, match=r"load one was begun again by another call"):
        kafkastore.spark.load(topic, frame, bootstrap_servers=broker.bootstrap, load_id="one")
    assert len(read_topic(broker.bootstrap, topic)) == 1000
    assert staged(broker) == []


class Job:
    """`load_job` with rows that tell their numbers."""

    def __init__(self, broker: BrokerProcess, topic: str, folder: Path, **more: str) -> None:
        create_topic(broker.bootstrap, topic, PARTITIONS, SMALL)
        self.values = [f"row {number} ".encode().ljust(600, b".") for number in range(ROWS)]
        file = folder / "rows.parquet"
        pq.write_table(pa.table({"value": pa.array(self.values, pa.binary())}), file, row_group_size=1000)
        self._request: dict[str, object] = {
            "bootstrap": broker.bootstrap,
            "topic": topic,
            "input": str(file),
            "load_id": topic,
            **more,
        }
        self._log = folder / "log"

    def start(self) -> Driver:
        return Driver("spark.load_job", self._request, self._log)

    def finish(self) -> None:
        assert self.start().wait() == f"{ROWS}\n".encode()


def test_tasks_that_fail_bring_no_row_twice(kafkastore_broker: BrokerProcess, tmp_path: Path) -> None:
    """Each task's first attempt dies with all its rows staged; the rows of the second come in another order."""
    marks = tmp_path / "marks"
    marks.mkdir()
    job = Job(kafkastore_broker, "retried", tmp_path, marks=str(marks))
    job.finish()
    assert len(list(marks.iterdir())) == 3
    assert Counter(one.value() for one in read_topic(kafkastore_broker.bootstrap, "retried")) == Counter(job.values)
    assert staged(kafkastore_broker) == []


END_TXN, ADOPT_SEGMENTS = 26, 27000
EVERY_STEP = [
    Trap(END_TXN, 0, is_forwarded=False),  # the decision is not made
    Trap(END_TXN, 0, is_forwarded=True),  # it is made, and nobody has heard of it
    Trap(ADOPT_SEGMENTS, 0, is_forwarded=False),
    Trap(ADOPT_SEGMENTS, 3, is_forwarded=True),
    Trap(ADOPT_SEGMENTS, 5, is_forwarded=True),
]
"""A request at which the driver is killed. Three tasks have rows for three partitions, which are nine adoptions."""
STEPS = played([EVERY_STEP[3]], EVERY_STEP)
"""The part has a death between two adoptions, which leaves a decision and a part of what was decided; before the
decision the next call does what any first call does."""


def test_a_killed_driver_is_completed_by_the_same_call(broker_factory: BrokerFactory, tmp_path: Path) -> None:
    """Rows come in another order each time, and producers write between the kills."""
    port, topic = free_port(), "killed"
    broker = broker_factory({"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}, start=False)
    trap = RequestTrap(port, broker.port, b"kafkastore-load")
    broker.start()
    job = Job(broker, topic, tmp_path)
    counts = []
    for step in STEPS:
        driver = job.start()
        trap.set(step, driver.kill)
        try:
            assert trap.has_sprung.wait(LIMIT_S), f"no request for {step}"
        finally:
            driver.kill()
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce(topic, b"between")
        assert producer.flush(LIMIT_S) == 0
        counts.append(sum((one.value() or b"").startswith(b"row") for one in read_topic(broker.bootstrap, topic)))
    decided = [count for step, count in zip(STEPS, counts, strict=True) if step.api == END_TXN]
    assert not any(decided), "nothing is in a log before the first adoption"
    assert any(0 < count < ROWS for count in counts), f"no kill came between two adoptions: {counts}"
    for _ in range(2):  # the second call finds all there
        job.finish()
        found = Counter(one.value() for one in read_topic(broker.bootstrap, topic))
        assert found.pop(b"between") == len(STEPS)
        assert found == Counter(job.values)
    assert staged(broker) == []
    trap.close()
