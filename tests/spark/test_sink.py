"""`df.write` and `writeStream` to `format("kafkastore")`: which records come of rows, beside Spark's own Kafka sink,
and what is said of rows and options that are none. With our broker and with Apache Kafka.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

from clients.conftest import CODECS
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess
from peer.topics import create_topic, read_settled, read_topic
from spark.session import HAS_CONNECTOR

LIMIT_S = 60
PARTITIONS = 3
EXACTLY_ONCE = {"deliveryGuarantee": "exactly-once"}


@pytest.fixture(scope="module", params=["kafkastore", "kafka"])
def broker(request: pytest.FixtureRequest) -> BrokerProcess:
    chosen: BrokerProcess = request.getfixturevalue("apache_kafka" if request.param == "kafka" else "kafkastore_broker")
    return chosen


@pytest.fixture
def topic(broker: BrokerProcess, name: str) -> str:
    return create_topic(broker.bootstrap, name, PARTITIONS)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    from clients.conftest import unique_name

    return unique_name(request)


def rows(spark: SparkSession, count: int, tasks: int = 2) -> DataFrame:
    """Every shape of a record: null and empty keys and values, headers, some rows with a partition."""
    number = F.col("id")
    header = F.struct(F.lit("trace").alias("key"), F.encode(number.cast("string"), "UTF-8").alias("value"))
    none = F.struct(F.lit("none").alias("key"), F.lit(None).cast("binary").alias("value"))
    return spark.range(0, count, 1, tasks).select(
        F.when(number % 5 != 3, F.concat(F.lit("key-"), number % 7)).alias("key"),
        F.when(number % 11 != 7, F.concat(F.lit("value "), number)).cast("binary").alias("value"),
        F.when(number % 3 == 0, F.array(header, none)).alias("headers"),
        F.when(number % 4 == 1, (number % PARTITIONS).cast("int")).alias("partition"),
    )


def write(frame: DataFrame, broker: BrokerProcess, source: str = "kafkastore", **options: object) -> None:
    given = {"kafka.bootstrap.servers": broker.bootstrap}
    given |= {key.replace("_", "."): str(value) for key, value in options.items()}
    frame.write.format(source).options(**given).save()


Shape = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def shape(message: Message) -> Shape:
    headers: Any = tuple(message.headers() or ())
    return message.key(), message.value(), headers


def expected(count: int) -> Counter[Shape]:
    found: Counter[Shape] = Counter()
    for number in range(count):
        key = None if number % 5 == 3 else b"key-%d" % (number % 7)
        value = None if number % 11 == 7 else b"value %d" % number
        found[key, value, (("trace", b"%d" % number), ("none", None)) if number % 3 == 0 else ()] += 1
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_rows_become_records_under_every_codec(
    spark: SparkSession, broker: BrokerProcess, topic: str, codec: str
) -> None:
    count = 3000
    write(rows(spark, count), broker, topic=topic, kafka_compression_type=codec, kafka_batch_size=4096)
    found = read_topic(broker.bootstrap, topic)
    assert Counter(map(shape, found)) == expected(count)
    for message in found:
        number = int((message.value() or b"x 0").split()[1])
        assert number % 4 != 1 or message.value() is None or message.partition() == number % PARTITIONS


@pytest.mark.skipif(not HAS_CONNECTOR, reason="the connector is of another version of Spark")
def test_keys_go_to_the_partitions_of_the_connectors_sink(
    spark: SparkSession, broker: BrokerProcess, name: str
) -> None:
    keys = spark.range(0, 500, 1, 2).select(
        F.sha2(F.col("id").cast("string"), 256).alias("key"), F.lit("v").alias("value")
    )
    keys = keys.withColumn("key", F.expr("substring(key, 1, cast(conv(substring(key, 1, 2), 16, 10) % 20 as int))"))
    found = []
    for source in ("kafkastore", "kafka"):
        target = create_topic(broker.bootstrap, f"{name}-{source}", 7)
        write(keys, broker, source, topic=target)
        found.append(Counter((message.key(), message.partition()) for message in read_topic(broker.bootstrap, target)))
    assert found[0] == found[1]
    assert len({partition for _, partition in found[0]}) == 7


def test_rows_without_keys_go_to_every_partition(spark: SparkSession, broker: BrokerProcess, topic: str) -> None:
    frame = spark.range(0, 6000, 1, 2).select(F.lit("v" * 100).alias("value"))
    write(frame, broker, topic=topic, kafka_batch_size=10000)
    counts = Counter(message.partition() for message in read_topic(broker.bootstrap, topic))
    assert sum(counts.values()) == 6000
    assert len(counts) == PARTITIONS
    assert max(counts.values()) < 2 * min(counts.values()), counts


def test_each_row_goes_to_its_topic_unless_an_option_names_one(
    spark: SparkSession, broker: BrokerProcess, name: str
) -> None:
    targets = [create_topic(broker.bootstrap, f"{name}-{number}") for number in range(3)]
    topics = F.concat(F.lit(f"{name}-"), F.col("id") % 2)
    frame = spark.range(0, 100, 1, 2).select(topics.alias("topic"), F.col("id").cast("string").alias("value"))
    write(frame, broker)
    write(frame, broker, topic=targets[2])
    assert [len(read_topic(broker.bootstrap, target)) for target in targets] == [50, 50, 100]


@pytest.mark.parametrize("acks", ["0", "1"])
def test_fewer_acks_and_no_idempotence_write_all_the_same(
    spark: SparkSession, broker: BrokerProcess, topic: str, acks: str
) -> None:
    write(rows(spark, 500), broker, topic=topic, kafka_acks=acks, kafka_linger_ms=0)
    assert Counter(map(shape, read_topic(broker.bootstrap, topic))) == expected(500)


def test_batches_that_are_too_large_for_the_topic_are_cut(
    spark: SparkSession, broker: BrokerProcess, name: str
) -> None:
    target = create_topic(broker.bootstrap, name, PARTITIONS, {"max.message.bytes": "2000"})
    write(rows(spark, 2000), broker, topic=target, kafka_compression_type="none")
    assert Counter(map(shape, read_topic(broker.bootstrap, target))) == expected(2000)


VALUE = "select cast(id as string) as value from range(3)"


@pytest.mark.parametrize(
    ("query", "options", "sentence"),
    [
        ("select 'a' as word", {}, "Required attribute 'value' not found"),
        ("select 1 as value", {}, "value attribute unsupported type int; cast it to string or binary"),
        ("select 'a' as value, 1 as key", {}, "key attribute unsupported type int"),
        ("select 'a' as value, 1L as partition", {}, "partition attribute unsupported type bigint; cast it to int"),
        ("select 'a' as value, array('a') as headers", {}, "headers attribute unsupported type array<string>"),
        ("select 'a' as value", {"topic": None}, "topic option required when no 'topic' attribute is present"),
        ("select 'a' as value, 1 as topic", {"topic": None}, "topic attribute unsupported type int"),
        ("select 'a' as value, cast(null as string) as topic", {"topic": None}, "null topic present in the data. Use"),
        ("select 'a' as value, 9 as partition", {}, "partition: 9 is no partition of topic .*, which has 3; give one"),
        ("select 'a' as value, -1 as partition", {}, "partition: -1 is no partition"),
        (
            "select 'a' as value, array(named_struct('key', cast(null as string), 'value', X'00')) as headers",
            {},
            "headers: a header has a null key; give every header a key",
        ),
        (VALUE, {"kafka.bootstrap.servers": None}, "kafka.bootstrap.servers: none is given; give host:port"),
        (VALUE, {"kafka.acks": "two"}, "kafka.acks: 'two' is none; say all, 1 or 0"),
        (VALUE, {"kafka.security.protocol": "TLS"}, "kafka.security.protocol=TLS is not a protocol"),
        (
            VALUE,
            {"deliveryGuarantee": "twice"},
            "deliveryGuarantee: 'twice' is none; say at-least-once or exactly-once",
        ),
        (
            VALUE,
            {"deliveryGuarantee": "exactly-once", "kafka.acks": "1"},
            "exactly-once needs kafka.enable.idempotence",
        ),
        (VALUE, {"topic": "no such/topic"}, "a topic's name has letters, digits, dots, underscores and hyphens"),
        (
            "select repeat('a', 3000) as value",
            {"kafka.max.request.size": "2000"},
            "topic .*: a record of 30.. bytes is larger than kafka.max.request.size = 2000; raise it",
        ),
        (
            "select repeat('a', 1500000) as value",
            {"kafka.max.request.size": "9000000"},
            "raise max.message.bytes of topic",
        ),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_mistake_is_one_sentence(
    spark: SparkSession, broker: BrokerProcess, topic: str, query: str, options: dict[str, str | None], sentence: str
) -> None:
    given: dict[str, str | None] = {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic, **options}
    chosen = {key: value for key, value in given.items() if value is not None}
    with pytest.raises(Exception, match=sentence):
        spark.sql(query).write.format("kafkastore").options(**chosen).save()
    assert read_topic(broker.bootstrap, topic) == []


@pytest.mark.parametrize("mode", ["overwrite", "ignore"])
def test_only_appending_is_a_mode(spark: SparkSession, broker: BrokerProcess, topic: str, mode: str) -> None:
    frame = (
        spark.sql(VALUE)
        .write.format("kafkastore")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("topic", topic)
    )
    with pytest.raises(Exception, match=f"mode: {mode} is not allowed for Kafka; say append, or nothing"):
        frame.mode(mode).save()
    frame.mode("append").save()
    assert len(read_topic(broker.bootstrap, topic)) == 3


def test_brokers_that_are_not_there_are_named(spark: SparkSession, broker_factory: BrokerFactory, name: str) -> None:
    broker = broker_factory(kind="kafkastore")
    create_topic(broker.bootstrap, name)
    broker.kill()
    said = rf"topic {name} was not found within .*{broker.port}: Connection refused.*; check kafka.bootstrap.servers"
    with pytest.raises(Exception, match=said):
        write(spark.sql(VALUE), broker, topic=name, kafka_max_block_ms=500)


def test_a_broker_that_goes_away_in_between_is_waited_for_and_then_named(
    spark: SparkSession, broker_factory: BrokerFactory, name: str
) -> None:
    """Producers are kept for the next job, whose broker is gone then."""
    broker = broker_factory(kind="kafkastore")
    create_topic(broker.bootstrap, name)
    options = {"kafka.delivery.timeout.ms": "2000", "kafka.request.timeout.ms": "1000"}
    write(spark.sql(VALUE), broker, topic=name, **{key.replace(".", "_"): value for key, value in options.items()})
    broker.kill()
    with pytest.raises(
        Exception, match=rf"{name}-0: \d records were not taken within kafka.delivery.timeout.ms = 2000 ms"
    ):
        write(spark.sql(VALUE), broker, topic=name, **{key.replace(".", "_"): value for key, value in options.items()})
    broker.start()
    write(spark.sql(VALUE), broker, topic=name)
    assert len(read_topic(broker.bootstrap, name)) == 6


# ---- streams


def lines(folder: Path, number: int, count: int) -> None:
    """A file of a stream's input, which appears at once."""
    folder.mkdir(exist_ok=True)
    whole = folder.parent / f"part-{number}"
    whole.write_text("".join(f"{line}\n" for line in range(number * count, (number + 1) * count)))
    whole.rename(folder / f"{number}.txt")


def run(
    frame: DataFrame, broker: BrokerProcess, topic: str, checkpoint: Path, mode: str = "append", **options: str
) -> None:
    """Everything that is there now; the query has ended."""
    writer: Any = frame.writeStream.format("kafkastore").outputMode(mode).options(**options)
    writer = writer.option("kafka.bootstrap.servers", broker.bootstrap).option("topic", topic)
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(LIMIT_S)


def values(broker: BrokerProcess, topic: str) -> Counter[bytes | None]:
    return Counter(message.value() for message in read_settled(broker.bootstrap, topic))


def numbers(count: int) -> Counter[bytes | None]:
    return Counter(b"%d" % number for number in range(count))


@pytest.mark.parametrize("options", [{}, EXACTLY_ONCE], ids=["at-least-once", "exactly-once"])
def test_a_stream_writes_each_batch_once_over_restarts(
    spark: SparkSession, broker: BrokerProcess, topic: str, tmp_path: Path, options: dict[str, str]
) -> None:
    (tmp_path / "in").mkdir()
    frame = spark.readStream.option("maxFilesPerTrigger", 1).text(str(tmp_path / "in"))
    for part in range(0, 6, 2):
        lines(tmp_path / "in", part, 100)
        lines(tmp_path / "in", part + 1, 100)
        run(frame, broker, topic, tmp_path / "checkpoint", **options)
        assert values(broker, topic) == numbers((part + 2) * 100)


@pytest.mark.parametrize("mode", ["complete", "update"])
def test_what_is_updated_and_a_complete_result_are_appended(
    spark: SparkSession, broker: BrokerProcess, topic: str, tmp_path: Path, mode: str
) -> None:
    lines(tmp_path / "in", 0, 100)
    counts = spark.readStream.text(str(tmp_path / "in")).groupBy(F.length("value").alias("length")).count()
    frame = counts.select(F.concat_ws(":", "length", "count").alias("value"))
    run(frame, broker, topic, tmp_path / "checkpoint", mode)
    assert values(broker, topic) == Counter([b"1:10", b"2:90"])


# ---- transactions


def test_a_job_is_seen_whole_or_not_at_all(spark: SparkSession, broker: BrokerProcess, topic: str) -> None:
    write(rows(spark, 1000), broker, topic=topic, **EXACTLY_ONCE)
    assert Counter(map(shape, read_settled(broker.bootstrap, topic))) == expected(1000)
    value = F.when(F.col("id") == 3500, F.raise_error(F.lit("planned failure"))).otherwise(F.col("id").cast("string"))
    broken = spark.range(0, 4000, 1, 4).select(value.alias("value"))
    with pytest.raises(Exception, match="planned failure"):
        write(broken, broker, topic=topic, **EXACTLY_ONCE)
    assert Counter(map(shape, read_topic(broker.bootstrap, topic, isolation_level="read_committed"))) == expected(1000)
