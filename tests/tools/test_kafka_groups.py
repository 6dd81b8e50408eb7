"""kafka-consumer-groups, kafka-groups, kafka-get-offsets, kafka-delete-records and kafka-transactions print what
Kafka's print, on the same broker."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from peer.broker_process import BrokerProcess
from peer.java_tools import JavaTools
from tools.comparison import ours, same
from tools.group_scene import Scene, groups

TOOL = "kafka-consumer-groups"
LIMIT_S = 30


@pytest.fixture(scope="module")
def scene(broker: BrokerProcess) -> Iterator[Scene]:
    with groups(broker.bootstrap, "kg") as made:
        yield made


DESCRIBED = [
    "--describe --group kg-busy --group kg-empty",
    "--describe --group kg-empty --offsets --verbose",
    "--describe --group kg-busy --group kg-empty --members --verbose",
    "--describe --group kg-busy --members",
    "--describe --group kg-busy --group kg-empty --state --verbose",
    "--describe --group kg-empty --state",
    "--describe --group kg-none",
    "--describe --group kg-none --members --verbose",
    "--describe",
    "--describe --group a --members --offsets",
    "--list --group a",
    "--list --state nonsense",
    "--list --type share",
    "--delete --group a --topic b",
    "--delete-offsets --group a",
    "--help",
    "",
]
RESETS = [
    "--to-earliest --topic kg-first --topic kg-second:1",
    "--to-latest --all-topics",
    "--to-current --topic kg-first",
    "--to-offset 7 --topic kg-first:0,2 --export",
    "--to-offset 0 --topic kg-first:0",
    "--to-offset 1000 --topic kg-first:0",
    "--to-offset -1 --topic kg-first:0",
    "--shift-by -2 --all-topics",
    "--shift-by 2 --topic kg-first",
    "--by-duration PT1H4M30S --topic kg-first:0",
    "--by-duration P1DT --topic kg-first:0",
    "--by-duration -PT1H --topic kg-first:0",
    "--to-datetime 2001-02-03T04:05:06.789 --topic kg-first:1",
    "--to-datetime 2030-02-03T04:05:06.789+01:30 --topic kg-first:1",
    "--to-datetime 2030-02-03T04:05:06 --topic kg-first:1",
    "--to-datetime 2030-02-03 --topic kg-first:1",
    "--from-file {folder}/one.csv",
    "--from-file {folder}/several.csv",
    "--from-file {folder}/none.csv",
    "--to-latest --topic kg-none",
    "--to-latest --topic kg-first:7",
    "--to-latest --topic kg-first:x",
    "--to-latest --topic a:b:c",
    "--to-latest --to-earliest --topic kg-first",
]


@pytest.mark.parametrize("words", DESCRIBED)
def test_consumer_groups_are_described_as_by_kafka(java: JavaTools, scene: Scene, words: str) -> None:
    same(java, TOOL, "--bootstrap-server", scene.bootstrap, *words.split())


VALID = r"""
a.* [a-z]+ (a|b)? \d{2,3} (?i)a \Qa*\E \p{Greek} \x{1F600} [[:alpha:]] (?P<name>a) a{,2} ]
"""
INVALID = r"""
a( a) a** a{1001} a{3,2} [z-a] [a (?=a) (?P<a>b)(?P<a>c) \q \ * (?z) \p{Nothing} [[:nothing:]] (?P<>a)
"""


def test_regular_expressions_are_judged_as_by_kafka(java: JavaTools) -> None:
    for regexes, word in ((VALID, " is valid."), (INVALID, " is invalid: ")):
        for regex in regexes.split():
            assert word in same(java, TOOL, "--validate-regex", regex)


def test_groups_are_listed_as_by_kafka(java: JavaTools, scene: Scene) -> None:
    def plain(text: str) -> str:
        """The groups of this test: others come and go. The order is that of Java's hash map."""
        return "\n".join(re.sub(" +", " ", line) for line in sorted(text.splitlines()) if "kg-" in line)

    given = ("--bootstrap-server", scene.bootstrap, "--list")
    for words in ("", "--state", "--type", "--state stable --type classic,consumer", "--state Empty"):
        assert "kg-" in same(java, TOOL, *given, *words.split(), plain=plain)
    for words in ("", "--consumer", "--share", "--group-type classic --protocol consumer", "--group-type none"):
        same(java, "kafka-groups", *given, *words.split(), plain=plain)


@pytest.mark.parametrize("words", RESETS)
def test_offsets_are_planned_as_by_kafka(java: JavaTools, scene: Scene, tmp_path: Path, words: str) -> None:
    (tmp_path / "one.csv").write_text("kg-first,0,3\nkg-second,1,99\n")
    (tmp_path / "several.csv").write_text('"kg-empty",kg-first,1,2\nkg-other,kg-first,0,1\n')
    given = ("--bootstrap-server", scene.bootstrap, "--reset-offsets", "--group", scene.empty)
    same(java, TOOL, *given, *words.format(folder=tmp_path).split())


def test_a_reset_without_a_scope_or_a_way_is_refused(scene: Scene) -> None:
    given = ("--bootstrap-server", scene.bootstrap, "--reset-offsets", "--group", scene.empty)
    for words, why in (("--to-latest", "One of the reset scopes"), ("--topic kg-first", "requires one of")):
        refused = ours(TOOL, *given, *words.split())
        assert (refused.exit, refused.out) == (1, "")
        assert why in refused.err


def test_a_group_with_members_is_not_reset(java: JavaTools, scene: Scene) -> None:
    given = ("--bootstrap-server", scene.bootstrap, "--reset-offsets", "--execute", "--to-latest", "--all-topics")
    same(java, TOOL, *given, "--group", scene.busy)
    assert ours(TOOL, *given[:2], "--describe", "--group", scene.busy).out.split()[12] == "4"


def test_what_one_tool_sets_and_deletes_the_other_sees(java: JavaTools, scene: Scene) -> None:
    given = ("--bootstrap-server", scene.bootstrap)
    described = (*given, "--describe", "--group", "kg-made")
    to = ("--reset-offsets", "--group", "kg-made", "--topic", scene.first, "--to-offset", "6", "--execute")
    same(java, TOOL, *given, *to)
    assert ours(TOOL, *given, *(word.replace("6", "2") for word in to)).exit == 0
    assert [line.split()[3] for line in java.tool(TOOL, *described).out.splitlines()[2:]] == ["2"] * 3
    for topics in (f"{scene.first}:9", "kg-none", f"{scene.first}:1"):
        same(java, TOOL, *given, "--delete-offsets", "--group", "kg-made", "--topic", topics)
    assert len(same(java, TOOL, *described).splitlines()) == 4
    for group in (scene.busy, "kg-none"):
        same(java, TOOL, *given, "--delete", "--group", group)
        same(java, TOOL, *given, "--delete-offsets", "--group", group, "--topic", scene.first)
    assert "('kg-made') was successful" in ours(TOOL, *given, "--delete", "--group", "kg-made").out
    assert "kg-made" not in java.tool(TOOL, *given, "--list").out


OFFSETS = [
    "--topic kg-.*",
    "--topic kg-first --partitions 0,2 --time earliest",
    "--topic-partitions kg-first:1-,:0,kg-second:-1 --exclude-internal-topics --time max-timestamp",
    "--topic kg-first,kg-second --time 0",
    "--topic kg-first --time 4102444800000",
    "--topic kg-first --time -4",
    "--topic kg-first --time latest-tiered",
    "--topic kg-first --time earliest-pending-upload",
    "--topic kg-first --time soon",
    "--topic kg-none",
    "--topic kg-first --partitions 0,1,",
    "--topic-partitions kg-first:0,kg-second:1,",
    "--topic kg-first --topic-partitions kg-first",
    "--partitions x",
    "--topic-partitions kg-first:x",
    "--nonsense",
]


@pytest.mark.parametrize("words", OFFSETS)
def test_offsets_are_told_as_by_kafka(java: JavaTools, scene: Scene, words: str) -> None:
    same(java, "kafka-get-offsets", "--bootstrap-server", scene.bootstrap, *words.split())


def test_records_are_deleted_as_by_kafka(java: JavaTools, scene: Scene, tmp_path: Path) -> None:
    def plain(text: str) -> str:
        return "\n".join(sorted(line for line in text.splitlines() if "DeleteRecordsHandler" not in line))

    def file(name: str, content: object) -> tuple[str, ...]:
        (tmp_path / name).write_text(json.dumps(content))
        return "--bootstrap-server", scene.bootstrap, "--offset-json-file", str(tmp_path / name)

    rows = [{"topic": scene.second, "partition": 0, "offset": 2}, {"topic": scene.second, "partition": 1, "offset": 99}]
    said = same(java, "kafka-delete-records", *file("good.json", {"version": 1, "partitions": rows}), plain=plain)
    assert f"partition: {scene.second}-0\tlow_watermark: 2\n" in said
    for wrong in ({"partitions": [rows[0], rows[0]]}, {"version": 2}, {"partitions": [{}]}, {}, []):
        same(java, "kafka-delete-records", *file("wrong.json", wrong))
    same(java, "kafka-delete-records", *file("x", "")[:3], str(tmp_path / "none.json"))


TRANSACTIONS = [
    "list --transactional-id-pattern kg-.*",
    "list --transactional-id-pattern kg-.* --duration-filter 1000000",
    "describe --transactional-id kg-open",
    "describe --transactional-id kg-none",
    "describe-producers --topic kg-second --partition 0",
    "describe-producers --topic kg-second --partition 0 --broker-id 1",
    "abort --topic kg-second --partition 0",
    "abort --topic kg-second --partition 0 --start-offset 1",
    "abort --topic kg-second --partition 0 --producer-id 1",
    "find-hanging",
    "find-hanging --partition 1",
    "find-hanging --topic kg-second --max-transaction-timeout 0",
    "find-hanging --broker-id 1",
    "describe",
    "nonsense",
]


def test_transactions_are_told_as_by_kafka(java: JavaTools, scene: Scene) -> None:
    def plain(text: str) -> str:
        return re.sub(r"\d{13}\s+\d+\s+", "TIMES ", text)  # the shorter a number, the more blanks

    producer = Producer({"bootstrap.servers": scene.bootstrap, "transactional.id": "kg-open", "log_level": 0})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce(scene.second, "open", partition=0)
    assert producer.flush(LIMIT_S) == 0
    given = ("--bootstrap-server", scene.bootstrap)
    for words in TRANSACTIONS:
        same(java, "kafka-transactions", *given, *words.split(), plain=plain)
    for words in ("list", f"{' '.join(given)}"):
        same(java, "kafka-transactions", *words.split())
    same(java, "kafka-transactions", *given, "forceTerminateTransaction", "--transactionalId", "kg-open")
    assert "Empty" in ours("kafka-transactions", *given, "describe", "--transactional-id", "kg-open").out
