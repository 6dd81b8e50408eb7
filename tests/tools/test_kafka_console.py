"""``kafka-console-producer`` makes the records that Kafka's makes of the same lines; ``kafka-console-consumer`` prints
what Kafka's prints, on the same broker."""

from __future__ import annotations

import json
import re
import struct
import time

import pytest

from peer.broker_process import BrokerProcess
from peer.java_tools import JavaRecord, JavaTools
from peer.topics import create_topic
from tools.comparison import ours, same

LINES = [
    ("", "a\nb\r\n\nc"),
    ("--reader-property parse.key=true", "k\tv\nk2\t\n\tv3\n"),
    ("--reader-property parse.key=true --reader-property key.separator=::", "a::b::c\nno\n"),
    ("--reader-property parse.key=true --reader-property ignore.error=true", "a\tb\nno\n"),
    ("--reader-property parse.headers=true", "h:v,g:,g:w\tvalue\n"),
    ("--reader-property parse.headers=true --reader-property parse.key=true", "h:v\tk\tv\t2\nonly\tk\n"),
    ("--reader-property parse.headers=true --reader-property ignore.error=true", "h,g:1\tv\nnone\n"),
    ("--reader-property parse.key=true --reader-property null.marker=N", "N\tN\nk\tN\nN\tv\n"),
    ("--reader-property parse.headers=true --reader-property null.marker=N", "h:N\tN\nN\tv\nN:1\tv\n"),
    ("--reader-property parse.headers=true --reader-property headers.separator=;", "a:1;b:2\tv\n"),
    ("--property parse.key=true --sync --compression-codec", "1\t2\n3\t4\n"),
    ("--compression-codec zstd --request-required-acks 1 --timeout 5 --batch-size 100", "x\ny\n"),
    ("--reader-property parse.key=true --reader-property null.marker=,", "a\n"),
    ("--reader-property headers.separator=:", "a\n"),
    ("--reader-property parse.key=true --property parse.key=true", "a\n"),
    ("--line-reader", "a\n"),
    ("--batch-size x", "a\n"),
    ("--help", ""),
]
"""What is sent with ``--timeout 0`` is on its way at once."""


@pytest.mark.parametrize(("words", "lines"), LINES)
def test_lines_become_the_records_that_kafka_makes(
    words: str, lines: str, broker: BrokerProcess, java: JavaTools
) -> None:
    records = []
    number = LINES.index((words, lines))
    for who in ("mine", "theirs"):
        topic = f"kcp-{number}-{who}"
        java.call("createTopic", broker.bootstrap, topic=topic, partitions=1)
        given = ["kafka-console-producer", "--bootstrap-server", broker.bootstrap, "--topic", topic, *words.split()]
        given += [] if "--timeout" in given else ["--timeout", "0"]
        result = ours(*given, stdin=lines) if who == "mine" else java.tool(*given, stdin=lines)
        records.append((result.exit, result.out, _read(java, broker, topic, len(records[0][2]) if records else 0)))
    assert records[0] == records[1]


def _read(
    java: JavaTools, broker: BrokerProcess, topic: str, count: int
) -> list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]]:
    """At least so many records, if they come: Kafka's tool sends the last ones in a hook of the process's end."""
    until = time.monotonic() + 3
    while True:
        read = java.consume(broker.bootstrap, topic)
        if len(read) >= count or time.monotonic() > until:
            return [(one.key, one.value, one.headers) for one in read]


RECORDS = [
    JavaRecord(0, 1000, b"k1", b"v1", (("h", b"1"), ("g", None), ("h", b""))),
    JavaRecord(0, 2000, None, None),
    JavaRecord(0, 3000, b"", b"\x00 \xc3\xa9"),
    JavaRecord(0, 4000, struct.pack(">q", -5), struct.pack(">d", 1234567.5)),
    JavaRecord(0, 5000, struct.pack(">i", 7), struct.pack(">d", 1e-9)),
    JavaRecord(0, 6000, struct.pack(">h", -3), b"7a9ad8b0-6e1d-4b0b-8d3f-0f5a2a0f9a11"),
]
PACKAGE = "org.apache.kafka.common.serialization"
EVERYTHING = " ".join(
    f"--formatter-property print.{name}=true"
    for name in ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key")
)
PRINTED = [
    "",
    EVERYTHING,
    f"{EVERYTHING} --formatter-property print.value=false",
    f"{EVERYTHING} --formatter-property key.separator=| --formatter-property null.literal=NIL",
    f"{EVERYTHING} --formatter-property line.separator=; --formatter-property headers.separator=&",
    "--formatter-property print.value=false",
    "--property print.key=true --key-deserializer " + PACKAGE + ".StringDeserializer",
    f"--offset 3 --formatter-property print.key=true --formatter-property key.deserializer={PACKAGE}.LongDeserializer"
    f" --value-deserializer {PACKAGE}.DoubleDeserializer",
    f"--offset 4 --formatter-property print.key=true --key-deserializer {PACKAGE}.IntegerDeserializer"
    f" --value-deserializer {PACKAGE}.DoubleDeserializer",
    f"--offset 5 --formatter-property print.key=true --key-deserializer {PACKAGE}.ShortDeserializer"
    f" --value-deserializer {PACKAGE}.UUIDDeserializer",
    f"--value-deserializer {PACKAGE}.LongDeserializer",
    f"--value-deserializer {PACKAGE}.LongDeserializer --skip-message-on-error --max-messages 6",
    f"--formatter-property print.headers=true --formatter-property headers.deserializer={PACKAGE}.StringDeserializer",
    "--value-deserializer no.such.Class",
    "--formatter org.apache.kafka.tools.consumer.NoOpMessageFormatter",
    "--formatter org.apache.kafka.tools.consumer.LoggingMessageFormatter",
    "--formatter no.such.Formatter",
    "--isolation-level read_committed --max-messages 2",
    "--offset latest --timeout-ms 100",
    "--offset -1",
    "--offset 1 --from-beginning",
    "--group g",
    "--partition x",
    "--command-property group.id=g",
    "--command-property auto.offset.reset=latest --from-beginning",
    "--property a=b --formatter-property a=b",
    "--help",
]


@pytest.fixture(scope="module")
def topic(broker: BrokerProcess, java: JavaTools) -> str:
    create_topic(broker.bootstrap, "kcc", 1, {"retention.ms": "-1"})  # its records are of 1970
    java.produce(broker.bootstrap, "kcc", RECORDS)
    return "kcc"


@pytest.mark.parametrize("words", PRINTED)
def test_consumer_prints_what_kafka_prints(words: str, topic: str, broker: BrokerProcess, java: JavaTools) -> None:
    given = words.split()
    if "--offset" not in given and "--from-beginning" not in given:
        given += ["--offset", "earliest"]
    if "--max-messages" not in given and "--timeout-ms" not in given:
        given += ["--max-messages", "1" if re.search("--offset [345]", words) else "6"]
    if "--partition" not in given:
        given += ["--partition", "0"]
    same(java, "kafka-console-consumer", "--bootstrap-server", broker.bootstrap, "--topic", topic, *given)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--bootstrap-server {}",
        "--bootstrap-server {} --topic kcc --include kcc",
        "--bootstrap-server {} --include kcc --partition 0",
        "--bootstrap-server {} --topic kcc --offset 1",
        "--topic kcc",
        "--bootstrap-server {} --topic kcc --nosuch",
        "--bootstrap-server {} --topic kcc --group a --consumer-property group.id=b",
    ],
)
def test_consumer_refuses_what_kafka_refuses(words: str, broker: BrokerProcess, java: JavaTools) -> None:
    same(java, "kafka-console-consumer", *words.format(broker.bootstrap).split())


def test_consumer_in_a_group_goes_on_where_kafkas_ended(topic: str, broker: BrokerProcess, java: JavaTools) -> None:
    words = ["kafka-console-consumer", "--bootstrap-server", broker.bootstrap, "--topic", topic, "--group", "kcc-g"]
    plain = [*words, "--from-beginning", "--max-messages"]
    assert ours(*plain, "1").out == "v1\n"
    assert java.tool(*plain, "1").out == "null\n"
    last = ours(*words, "--timeout-ms", "1500", "--formatter-property", "print.offset=true")
    assert last.exit == 0
    assert re.findall("Offset:(\\d)", last.out) == ["2", "3", "4", "5"]


def test_records_of_coordinators_are_the_json_that_kafka_makes(
    topic: str, broker: BrokerProcess, java: JavaTools
) -> None:
    group = "kcc-json"
    words = ["--bootstrap-server", broker.bootstrap, "--topic", topic]
    assert ours("kafka-console-consumer", *words, "--group", group, "--from-beginning", "--max-messages", "2").exit == 0
    record = JavaRecord(None, None, b"k", b"v")
    java.produce(broker.bootstrap, topic, [record], transaction="commit", transactional_id=group)
    listed = json.loads(ours("topics", "list", "-b", broker.bootstrap, "--internal", "--json").out)
    counts = {one["name"]: one["partitions"] for one in listed}
    for name, formatter in (
        ("__consumer_offsets", "OffsetsMessageFormatter"),
        ("__consumer_offsets", "GroupMetadataMessageFormatter"),
        ("__transaction_state", "TransactionLogMessageFormatter"),
    ):
        place = ["--topic", name, "--partition", str(abs(_java_hash(group)) % counts[name]), "--offset", "earliest"]
        kind = f"org.apache.kafka.tools.consumer.{formatter}"
        given = [*words[:2], *place, "--timeout-ms", "400", "--formatter", kind]
        assert f'"{group}"' in _same_at_rest(java, *given)


def _same_at_rest(java: JavaTools, *given: str) -> str:
    """What both print, once coordinators write no more: the end of a transaction comes after its commit."""
    theirs = ""
    for _ in range(10):
        before, theirs = theirs, java.tool("kafka-console-consumer", *given).out
        if theirs == before:
            break
    return same(java, "kafka-console-consumer", *given)


def _java_hash(text: str) -> int:
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value
