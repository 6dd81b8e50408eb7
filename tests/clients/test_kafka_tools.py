"""Kafka's own command line tools on a started broker and, for kafka-dump-log, on its directory."""

from __future__ import annotations

import re
from collections.abc import Callable

from clients.conftest import CODECS, samples
from clients.test_librdkafka import produce
from clients.transactional import Java, Script, send, step
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.java_tools import JavaTools, ToolResult
from peer.topics import create_topic

LIMIT_S = 30


def run(java: JavaTools, broker: BrokerProcess, name: str, *args: str, stdin: str = "") -> str:
    result = java.tool(name, "--bootstrap-server", broker.bootstrap, *args, stdin=stdin)
    assert result.exit == 0, result
    return result.out


def test_kafka_topics_creates_describes_alters_and_deletes(java: JavaTools, broker: BrokerProcess, name: str) -> None:
    run(
        java, broker, "kafka-topics", "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=99000"
    )
    described = run(java, broker, "kafka-topics", "--describe", "--topic", name)
    assert re.search(r"PartitionCount: 2\s+ReplicationFactor: 1\s+.*retention\.ms=99000", described)
    assert len(re.findall(r"Leader: 1\s+Replicas: 1\s+Isr: 1", described)) == 2
    run(java, broker, "kafka-topics", "--alter", "--topic", name, "--partitions", "3")
    assert "PartitionCount: 3" in run(java, broker, "kafka-topics", "--describe", "--topic", name)
    run(java, broker, "kafka-topics", "--delete", "--topic", name)
    wait_until(lambda: name not in run(java, broker, "kafka-topics", "--list").split(), LIMIT_S, "the topic gone")


def test_console_producer_and_consumer_pass_lines(
    java: JavaTools, broker: BrokerProcess, topic: str, name: str
) -> None:
    lines = "".join(f"k{i}\tvalue {i}\n" for i in range(50))
    parse = ["--reader-property", "parse.key=true"]
    run(java, broker, "kafka-console-producer", "--topic", topic, *parse, stdin=lines)
    limits = ["--from-beginning", "--max-messages", "50", "--timeout-ms", "20000"]
    read = run(
        java,
        broker,
        "kafka-console-consumer",
        "--topic",
        topic,
        "--group",
        name,
        *limits,
        "--formatter-property",
        "print.key=true",
    )
    assert read == lines
    described = run(java, broker, "kafka-consumer-groups", "--describe", "--group", name)
    row = next(line.split() for line in described.splitlines() if topic in line)
    assert row[:6] == [name, topic, "0", "50", "50", "0"]  # committed, end, lag
    args = ["--group", name, "--topic", topic, "--reset-offsets", "--to-offset", "7", "--execute"]
    run(java, broker, "kafka-consumer-groups", *args)
    assert name in run(java, broker, "kafka-consumer-groups", "--list").split()
    run(java, broker, "kafka-consumer-groups", "--delete", "--group", name)
    assert name not in run(java, broker, "kafka-consumer-groups", "--list").split()


def test_kafka_configs_alters_and_describes(java: JavaTools, broker: BrokerProcess, topic: str) -> None:
    entity = ["--entity-type", "topics", "--entity-name", topic]
    run(
        java,
        broker,
        "kafka-configs",
        *entity,
        "--alter",
        "--add-config",
        "segment.bytes=3000000,cleanup.policy=[compact,delete]",
    )
    described = run(java, broker, "kafka-configs", *entity, "--describe")
    assert "segment.bytes=3000000" in described
    assert "cleanup.policy=compact,delete" in described
    run(java, broker, "kafka-configs", *entity, "--alter", "--delete-config", "segment.bytes")
    assert "segment.bytes" not in run(java, broker, "kafka-configs", *entity, "--describe")


def test_offsets_are_got_and_records_deleted(java: JavaTools, broker: BrokerProcess, topic: str) -> None:
    produce(broker, topic, samples(40))

    def offsets(time: str) -> str:
        return run(java, broker, "kafka-get-offsets", "--topic", topic, "--time", time).strip()

    assert (offsets("earliest"), offsets("latest")) == (f"{topic}:0:0", f"{topic}:0:40")
    plan = broker.folder / "delete-records.json"
    plan.write_text(f'{{"partitions": [{{"topic": "{topic}", "partition": 0, "offset": 15}}], "version": 1}}')
    assert "low_watermark: 15" in run(java, broker, "kafka-delete-records", "--offset-json-file", str(plan))
    assert offsets("earliest") == f"{topic}:0:15"


def dump(java: JavaTools, *args: str) -> ToolResult:
    result = java.tool("kafka-dump-log", *args)
    assert result.exit == 0, result
    return result


def test_kafka_dump_log_accepts_the_directory(
    java: JavaTools, broker: BrokerProcess, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(config={"segment.bytes": "1048576", "index.interval.bytes": "2000"})
    sent = samples(6000, value_bytes=400)
    for codec in CODECS:
        produce(broker, topic, sent, compression_type=codec, enable_idempotence=True, batch_num_messages=50)
    folder = broker.log_dir / f"{topic}-0"
    logs = sorted(folder.glob("*.log"))
    assert len(logs) >= 3, "several segments"
    dumped = dump(java, "--files", ",".join(map(str, logs)), "--deep-iteration")
    offsets = [int(offset) for offset in re.findall(r"^\| offset: (\d+)", dumped.out, re.MULTILINE)]
    assert offsets == list(range(len(sent) * len(CODECS)))
    assert "isvalid: true" in dumped.out
    assert "isvalid: false" not in dumped.out
    sealed = logs[:-1]  # the newest segment's indexes may still be in memory, or preallocated
    for suffix in (".index", ".timeindex"):
        checked = dump(
            java, "--files", ",".join(str(log.with_suffix(suffix)) for log in sealed), "--index-sanity-check"
        )
        assert checked.out.count("passed sanity check") == len(sealed), checked
        deep = dump(java, "--files", ",".join(str(log.with_suffix(suffix)) for log in sealed))
        assert not re.search(r"[Mm]ismatch|not found|out of order", deep.out + deep.err), deep
    for snapshot in folder.glob("*.snapshot"):
        assert "producerId" in dump(java, "--files", str(snapshot)).out


def test_kafka_features_describes_transactions_at_level_2_and_absent_features_at_level_0(
    java: JavaTools, broker: BrokerProcess, against: str
) -> None:
    """KIP-584; Apache Kafka 4.4 finalizes most of them."""
    lines = run(java, broker, "kafka-features", "describe").splitlines()
    found = {line.split()[1]: line for line in lines if line.startswith("Feature: ")}
    levels = {"group.version": 0, "share.version": 0, "streams.version": 0, "transaction.version": 2}
    assert found.keys() >= levels.keys()
    assert re.search(r"SupportedMaxVersion: 2\s+FinalizedVersionLevel: 2", found["transaction.version"])
    if against != "kafka":
        assert found.keys() == {*levels, "metadata.version"}
        assert re.search(r"MaxVersion: 4\.3-IV0\s+FinalizedVersionLevel: 4\.3-IV0\s", found["metadata.version"]), found
        for feature, level in levels.items():
            versions = rf"SupportedMinVersion: 0\s+SupportedMaxVersion: {level}\s+FinalizedVersionLevel: {level}\s"
            assert re.search(versions, found[feature]), found


def test_kafka_features_turns_transactions_of_version_2_off_and_on_again(
    java: JavaTools, broker_factory: BrokerFactory
) -> None:
    """KIP-584, KIP-778; by KIP-890 the epoch of a producer rises with each transaction of version 2."""
    broker = broker_factory(kind="kafkastore")
    topic = create_topic(broker.bootstrap, "orders")
    commit = [step("begin"), send(topic, (0, "order")), step("commit")]

    def epoch_after_two_commits(name: str) -> int:
        assert Java(java).run(Script(broker.bootstrap, name, [step("init"), *commit, *commit])) == [""] * 7
        described = run(java, broker, "kafka-transactions", "describe", "--transactional-id", name)
        head, row = (line.split("\t") for line in described.splitlines()[:2])
        return int(dict(zip(head, row, strict=False))["ProducerEpoch"])

    def level() -> str | None:
        described = run(java, broker, "kafka-features", "describe")
        found = re.search(r"Feature: transaction.version.*FinalizedVersionLevel: (\d)\s", described)
        return found and found[1]

    assert epoch_after_two_commits("second") == 2
    run(java, broker, "kafka-features", "downgrade", "--feature", "transaction.version=1")
    assert level() == "1"
    assert epoch_after_two_commits("first") == 0
    run(java, broker, "kafka-features", "disable", "--feature", "transaction.version")
    assert level() == "0"
    assert epoch_after_two_commits("none") == 0
    broker.kill()
    broker.start()
    assert level() == "0", "it is stored"
    run(java, broker, "kafka-features", "upgrade", "--feature", "transaction.version=2")
    assert level() == "2"
    assert epoch_after_two_commits("second again") == 2


def test_kafka_configs_changes_the_level_of_a_logger_until_the_broker_stops(
    java: JavaTools, broker_factory: BrokerFactory
) -> None:
    """KIP-412"""
    broker = broker_factory(kind="kafkastore")
    entity = ("--entity-type", "broker-loggers", "--entity-name", "1")
    logger = "kafkastore.server.broker"
    assert f"{logger}=INFO " in run(java, broker, "kafka-configs", *entity, "--describe")
    run(java, broker, "kafka-configs", *entity, "--alter", "--add-config", f"{logger}=ERROR")
    assert f"{logger}=ERROR " in run(java, broker, "kafka-configs", *entity, "--describe")
    broker.stop()
    assert "Stopping (kafkastore.server.broker)" not in broker.output(), "the level holds"
    broker.start()
    assert f"{logger}=INFO " in run(java, broker, "kafka-configs", *entity, "--describe"), "and is stored nowhere"
