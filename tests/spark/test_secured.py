"""Spark and scans on secured brokers: each way to log in, with no more rights than a path needs, at our broker and at
Apache Kafka.

The rights here are those of docs/spark-clusters.md, docs/scan.md and docs/bulk-load.md; that each of them is
needed is tested, too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it
from pyspark.sql.streaming.readwriter import DataStreamWriter

import kafkastore
import kafkastore.spark
from clients.conftest import unique_name
from kafkastore.cli import main as cli
from kafkastore.loading.load import LoadError
from kafkastore.spark import bulk_load_jvm
from peer.topics import create_topic, read_topic
from proof.scope import played
from spark.secured import (
    CLUSTER,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    LOGINS,
    PREFIXED,
    READ,
    SESSION_MS,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    Properties,
    Right,
    Secured,
    secured,
)
from spark.session import JAR

ROWS = 300
PREFIX = "etl"
EXACTLY_ONCE = {"deliveryGuarantee": "exactly-once", "transactionalIdPrefix": PREFIX}
DECISIONS = "__transaction_state"


@pytest.fixture(scope="module", params=["kafkastore", "kafka"])
def brokers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    yield from secured(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    yield from secured("kafkastore", tmp_path_factory.mktemp("ours"))


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return unique_name(request)


def fill(at: Secured, topic: str, first: int = 0, count: int = ROWS) -> str:
    producer = Producer({"bootstrap.servers": at.broker.bootstrap, "log_level": 0})
    for number in range(first, first + count):
        producer.produce(topic, b"%d" % number, b"%d" % number)
    assert producer.flush(30) == 0
    return topic


def options(at: Secured, login: Properties, **more: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": at.bootstrap_of(login),
        **{f"kafka.{key}": value for key, value in login.items()},
        **more,
    }


def read(spark: SparkSession, at: Secured, login: Properties, topic: str, **more: str) -> DataFrame:
    return spark.read.format("kafkastore").options(**options(at, login, subscribe=topic, **more)).load()


def rows(spark: SparkSession, count: int = ROWS) -> DataFrame:
    text = F.col("id").cast("string")
    return spark.range(0, count, 1, 2).select(text.alias("key"), text.alias("value"))


def write(frame: DataFrame, at: Secured, login: Properties, topic: str, **more: str) -> None:
    frame.write.format("kafkastore").options(**options(at, login, topic=topic, **more)).save()


def copying(
    spark: SparkSession, at: Secured, login: Properties, source: str, target: str, checkpoint: Path, **more: str
) -> DataStreamWriter:
    """A stream, not started, that reads a topic from its beginning and writes each row once."""
    given = options(at, login, subscribe=source, startingOffsets="earliest", **more)
    frame = spark.readStream.format("kafkastore").options(**given).load().select("key", "value")
    writer = frame.writeStream.format("kafkastore").options(**options(at, login, topic=target, **EXACTLY_ONCE))
    return writer.option("checkpointLocation", str(checkpoint))


def committed(at: Secured, topic: str) -> list[int]:
    return sorted(int(one.value() or b"") for one in read_topic(at.broker.bootstrap, topic))


def to_write_once(topic: str, prefix: str = PREFIX) -> list[Right]:
    """What the sink needs for exactly once."""
    return [
        Right(WRITE, TOPIC, topic),
        Right(WRITE, TRANSACTIONAL_ID, prefix, PREFIXED),
        Right(READ, GROUP, prefix, PREFIXED),
        Right(READ, TOPIC, DECISIONS),
    ]


# ---- each login, on each path


@pytest.mark.parametrize("login", LOGINS)
def test_each_login_reads_and_writes_with_no_more_rights_than_that(
    spark: SparkSession, brokers: Secured, login: str, name: str
) -> None:
    proof = getattr(brokers, login)()
    source, once, more = (create_topic(brokers.broker.bootstrap, f"{name}-{part}", 2) for part in range(3))
    fill(brokers, source)
    brokers.allow(Right(READ, TOPIC, source))
    frame = read(spark, brokers, proof, source, minPartitions="4")
    assert frame.select("value").distinct().count() == ROWS
    assert frame.rdd.getNumPartitions() >= 4, "no size is told to a user who may not describe the cluster"
    assert read(spark, brokers, proof, source, path=str(brokers.broker.log_dir)).count() == ROWS
    scan = kafkastore.scan(
        brokers.broker.log_dirs, source, bootstrap_servers=brokers.bootstrap_of(proof), command_config=proof
    )
    assert scan.count() == ROWS
    brokers.allow(Right(WRITE, TOPIC, more))
    write(rows(spark), brokers, proof, more)
    brokers.allow(*to_write_once(once))
    write(rows(spark), brokers, proof, once, **EXACTLY_ONCE)
    assert committed(brokers, more) == committed(brokers, once) == list(range(ROWS))


def test_a_stream_by_a_delegation_token_goes_on_at_its_checkpoint_and_writes_each_row_once(
    spark: SparkSession, brokers: Secured, name: str, tmp_path: Path
) -> None:
    """The executors never have a password."""
    proof = brokers.by_delegation_token()
    source, target = (create_topic(brokers.broker.bootstrap, f"{name}-{part}", 2) for part in range(2))
    brokers.allow(Right(READ, TOPIC, source), *to_write_once(target))
    for start in (0, ROWS):
        fill(brokers, source, start)
        stream = copying(spark, brokers, proof, source, target, tmp_path, maxOffsetsPerTrigger="200")
        stream.trigger(availableNow=True).start().awaitTermination()
        assert committed(brokers, target) == list(range(start + ROWS))


def test_a_write_that_fails_is_aborted(spark: SparkSession, brokers: Secured, name: str) -> None:
    proof = brokers.by_scram()
    topic = create_topic(brokers.broker.bootstrap, name, 2)
    brokers.allow(*to_write_once(topic))
    fails = F.when(F.col("key") == ROWS - 1, F.raise_error(F.lit("no such row"))).otherwise(F.col("value"))
    with pytest.raises(Exception, match="no such row"):
        write(rows(spark).withColumn("value", fails), brokers, proof, topic, **EXACTLY_ONCE)
    assert committed(brokers, topic) == []
    write(rows(spark), brokers, proof, topic, **EXACTLY_ONCE)
    assert committed(brokers, topic) == list(range(ROWS))


def test_sessions_that_end_are_replaced(spark: SparkSession, ours: Secured, name: str) -> None:
    """Those of a producer that an executor keeps, and of a task that reads slowly."""
    proof = ours.by_plain()
    topic = create_topic(ours.broker.bootstrap, name, 2)
    ours.allow(Right(READ, TOPIC, topic), *to_write_once(topic))
    write(rows(spark), ours, proof, topic, **EXACTLY_ONCE)
    found = read(spark, ours, proof, topic, minPartitions="2").select("value").toLocalIterator()
    first = next(found)
    time.sleep(1.1 * SESSION_MS / 1000)
    assert len({first, *found}) == ROWS
    write(rows(spark), ours, proof, topic, **EXACTLY_ONCE)
    assert len(committed(ours, topic)) == 2 * ROWS


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_scan_in_python_reads_files_and_brokers(
    spark: SparkSession, brokers: Secured, name: str, is_seen: bool, tmp_path: Path
) -> None:
    proof = brokers.by_scram()
    topic = fill(brokers, create_topic(brokers.broker.bootstrap, name, 2))
    brokers.allow(Right(READ, TOPIC, topic))
    path = str(brokers.broker.log_dir if is_seen else tmp_path)
    given = {"kafka.bootstrap.servers": brokers.bootstrap}
    plan = kafkastore.spark.segments(spark, path, topic, command_config=proof, **given)
    scanned = kafkastore.spark.scan_segments(["value"], command_config=proof)
    assert plan.mapInArrow(scanned, kafkastore.spark.schema(["value"])).distinct().count() == ROWS
    assert not any(secret in str(plan._jdf.queryExecution().toString()) for secret in brokers.secrets)


def test_the_option_command_config_stands_for_what_the_file_has(
    spark: SparkSession, brokers: Secured, name: str, tmp_path: Path
) -> None:
    config = properties_file(tmp_path, brokers.by_scram())
    topic = create_topic(brokers.broker.bootstrap, name, 2)
    brokers.allow(Right(READ, TOPIC, topic), Right(WRITE, TOPIC, topic))
    given = {"kafka.bootstrap.servers": brokers.bootstrap, "commandConfig": config}
    rows(spark).write.format("kafkastore").options(**given, topic=topic).save()
    frame = spark.read.format("kafkastore").options(**given, subscribe=topic, path=str(brokers.broker.log_dir)).load()
    assert frame.select("value").distinct().count() == ROWS
    absent = given | {"commandConfig": "/nothing", "subscribe": topic, "path": "/"}
    with pytest.raises(Exception, match=r"commandConfig.? .*nothing.* cannot be read"):
        spark.read.format("kafkastore").options(**absent).load().count()


# ---- rights


def test_decisions_are_kept_beside_a_topic_that_the_user_may_read(
    spark: SparkSession, brokers: Secured, name: str, tmp_path: Path
) -> None:
    """So nobody has to read the topic in which brokers keep all transactions; a restart finds the decision."""
    proof = brokers.by_scram()
    topic = create_topic(brokers.broker.bootstrap, name, 2)
    own = [right for right in to_write_once(topic) if right.name != DECISIONS]
    brokers.allow(*own, Right(READ, TOPIC, topic))
    lines, checkpoint = tmp_path / "lines", str(tmp_path / "checkpoint")
    lines.mkdir()
    given = options(brokers, proof, topic=topic, decisionTopic=topic, **EXACTLY_ONCE)
    for number in range(3):
        (lines / f"{number}.txt").write_text(f"{number}\n")
        writer = spark.readStream.text(str(lines)).writeStream.format("kafkastore").options(**given)
        writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    assert committed(brokers, topic) == [0, 1, 2]
    with pytest.raises(Exception, match="name as decisionTopic another topic that it may read"):
        write(rows(spark), brokers, proof, topic, **EXACTLY_ONCE)


PATHS = {
    "source": [Right(READ, TOPIC, "{topic}")],
    "scan": [Right(DESCRIBE, TOPIC, "{topic}")],
    "sink": [Right(WRITE, TOPIC, "{topic}")],
    "sink, exactly once": to_write_once("{topic}"),
}


@pytest.mark.parametrize("path", PATHS)
def test_no_right_of_a_path_is_one_too_many(spark: SparkSession, brokers: Secured, name: str, path: str) -> None:
    """Each is missing once; a sentence says so, at once."""
    proof = brokers.by_scram()
    topic = fill(brokers, create_topic(brokers.broker.bootstrap, name, 2))
    rights = [right._replace(name=right.name.format(topic=topic)) for right in PATHS[path]]

    def run() -> None:
        if path == "source":
            read(spark, brokers, proof, topic).select("value").distinct().count()
        elif path == "scan":
            kafkastore.scan(
                brokers.broker.log_dirs, topic, bootstrap_servers=brokers.bootstrap, command_config=proof
            ).count()
        else:
            write(rows(spark), brokers, proof, topic, **(EXACTLY_ONCE if "once" in path else {}))

    brokers.allow(*rights)
    run()
    for missing in rights:
        brokers.allow(*(right for right in rights if right is not missing))
        with pytest.raises(Exception, match=r"the broker's ACLs do not let this client"):
            run()


# ---- commands


def properties_file(folder: Path, login: Properties) -> str:
    path = folder / "client.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in login.items()))
    return str(path)


def test_commands_take_a_client_properties(
    brokers: Secured, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    proof = brokers.by_scram()
    topic = fill(brokers, create_topic(brokers.broker.bootstrap, name, 2))
    brokers.allow(Right(DESCRIBE, TOPIC, topic))
    config = properties_file(tmp_path, proof)
    log_dir, asked = str(brokers.broker.log_dir), ["--bootstrap-server", brokers.bootstrap_of(proof)]
    query = f'select count(*) as n from "{topic}"'
    assert cli.main(["sql", query, log_dir, *asked, "--command-config", config, "--format", "jsonl"]) == 0
    assert json.loads(capfd.readouterr().out) == {"n": ROWS}
    exported = ["export", log_dir, "--topic", topic, "--output", str(tmp_path / "lake"), *asked]
    assert cli.main([*exported, "--command-config", config]) == 0
    assert sum(pq.read_metadata(file).num_rows for file in (tmp_path / "lake").rglob("*.parquet")) == ROWS
    for command in (["sql", query, log_dir, *asked], exported):
        assert cli.main([*command, "--command-config", config + "x"]) == 1
        said = capfd.readouterr().err
        assert f"--command-config {config}x cannot be read: No such file or directory" in said
        assert len(said.splitlines()) == 1
        assert cli.main(command) == 1
        assert "it speaks TLS; set security.protocol to SSL or SASL_SSL" in capfd.readouterr().err


@pytest.mark.proof
def test_replay_of_the_command_line_reads_and_writes(brokers: Secured, name: str, tmp_path: Path) -> None:
    source, target = (create_topic(brokers.broker.bootstrap, f"{name}-{part}", 2) for part in range(2))
    fill(brokers, source)
    brokers.allow(Right(READ, TOPIC, source), Right(WRITE, TOPIC, target))
    given = [str(brokers.broker.log_dir), "--topic", source, "--to-topic", target, "--conf", f"spark.jars={JAR}"]
    asked = ["--bootstrap-server", brokers.bootstrap, "--command-config", properties_file(tmp_path, brokers.by_scram())]
    command = [sys.executable, "-m", "kafkastore", "spark", "replay", *given, *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert committed(brokers, target) == list(range(ROWS))


# ---- bulk loads: our broker alone adopts segments


def to_load(topic: str, load_id: str) -> list[Right]:
    return [
        Right(WRITE, TOPIC, topic),
        Right(READ, TOPIC, topic),
        Right(DESCRIBE_CONFIGS, TOPIC, topic),
        Right(DESCRIBE, CLUSTER, "kafka-cluster"),
        Right(WRITE, TRANSACTIONAL_ID, load_id),
        Right(READ, GROUP, load_id),
    ]


@pytest.mark.parametrize(
    ("login", "place"),
    played(
        [("by_scram", "jvm"), ("by_bearer", "python"), ("by_certificate", "jvm"), ("by_delegation_token", "python")],
        [(login, place) for login in LOGINS for place in ("jvm", "python")],
    ),
)
def test_each_login_loads(
    spark: SparkSession, ours: Secured, name: str, login: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "python":
        monkeypatch.setattr(bulk_load_jvm, "bulk_load_of", lambda _: None)
    proof = getattr(ours, login)()
    topic = create_topic(ours.broker.bootstrap, name, 2)
    ours.allow(*to_load(topic, name))
    given: dict[str, Any] = {"bootstrap_servers": ours.bootstrap_of(proof), "command_config": proof}
    result = kafkastore.spark.load(topic, rows(spark), load_id=name, tasks=2, **given)
    assert result.records == ROWS
    assert committed(ours, topic) == list(range(ROWS))


def test_no_right_of_a_load_is_one_too_many(spark: SparkSession, ours: Secured, name: str) -> None:
    topic = create_topic(ours.broker.bootstrap, name, 2)
    rights = to_load(topic, name)
    proof = ours.by_scram()
    given: dict[str, Any] = {"bootstrap_servers": ours.bootstrap, "command_config": proof, "timeout_s": 20}
    for missing in rights:
        ours.allow(*(right for right in rights if right is not missing))
        with pytest.raises(LoadError):
            kafkastore.spark.load(topic, rows(spark), load_id=name, tasks=2, **given)
    assert committed(ours, topic) == []
